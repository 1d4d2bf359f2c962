"""The Moments port over Redis: one script a question, with Redis's own clock, so that replicas cannot disagree.

When Redis is away, limits go on in this process alone and nonces are refused: a replay must not pass.
"""

from __future__ import annotations

import secrets
from typing import Any, cast

from postil.core.ports import Taken
from postil.storage.moments import MemoryMoments
from postil.storage.redis_connection import PREFIX, connect_async

# KEYS: the window. ARGV: cost, limit, seconds, a name for these places. granted, taken, oldest in ms.
_TAKE = """
local now = redis.call('TIME')
local ms = now[1] * 1000 + math.floor(now[2] / 1000)
local window = ARGV[3] * 1000
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', ms - window)
local taken = redis.call('ZCARD', KEYS[1])
local granted = math.max(0, math.min(tonumber(ARGV[1]), tonumber(ARGV[2]) - taken))
for place = 1, granted do redis.call('ZADD', KEYS[1], ms, ARGV[4] .. place) end
if granted > 0 then redis.call('PEXPIRE', KEYS[1], window) end
local oldest = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
return {granted, taken + granted, tonumber(oldest[2] or ms)}
"""


class RedisMoments:
    """Rolling windows, names seen once and kept answers, shared by replicas."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._redis: Any = None
        self._take: Any = None
        self._alone = MemoryMoments()
        self.away = 0
        """How often Redis did not answer, for the metrics."""

    def _client(self) -> Any:
        if self._redis is None:  # made on the loop that uses it
            self._redis = connect_async(self._address)
            self._take = self._redis.register_script(_TAKE)
        return self._redis

    async def take(self, window: str, cost: int, limit: int, seconds: float) -> Taken:
        """Take up to `cost` places in a rolling window that has `limit` of them."""
        import redis

        self._client()
        try:
            args = [cost, limit, seconds, secrets.token_hex(8)]
            granted, taken, oldest = cast(
                "tuple[int, int, int]", await self._take(keys=[f"{PREFIX}window:{window}"], args=args)
            )
        except (redis.RedisError, OSError):
            self.away += 1
            return await self._alone.take(window, cost, limit, seconds)
        return Taken(granted, max(0, limit - taken), oldest / 1000 + seconds)

    async def first(self, name: str, seconds: float) -> bool:
        """Whether this name is new to every replica; False when nobody can tell."""
        import redis

        try:
            return bool(await self._client().set(f"{PREFIX}name:{name}", 1, nx=True, ex=max(1, int(seconds))))
        except (redis.RedisError, OSError):
            self.away += 1
            return False

    async def recall(self, name: str) -> bytes | None:
        """What was kept under this name, if it still is."""
        import redis

        try:
            return cast("bytes | None", await self._client().get(f"{PREFIX}kept:{name}"))
        except (redis.RedisError, OSError):
            self.away += 1
            return None

    async def keep(self, name: str, value: bytes, seconds: float) -> None:
        """Keep a value for at most that long."""
        import redis

        try:
            await self._client().set(f"{PREFIX}kept:{name}", value, px=max(1, int(seconds * 1000)))
        except (redis.RedisError, OSError):
            self.away += 1

    async def forget(self, prefix: str) -> None:
        """Drop everything kept under names that begin so."""
        import redis

        escaped = "".join(f"\\{sign}" if sign in "*?[]\\" else sign for sign in prefix)
        try:
            async for name in self._client().scan_iter(match=f"{PREFIX}kept:{escaped}*", count=500):
                await self._client().delete(name)
        except (redis.RedisError, OSError):
            self.away += 1

    async def close(self) -> None:
        """Let go of the connections."""
        if self._redis is not None:
            await self._redis.aclose()
