"""The EphemeralStore port over Redis: one script a question, with Redis's own clock, so that replicas cannot disagree.

When Redis is away, limits go on in this process alone and nonces are refused: a replay must not pass. What was kept
is then unknown, so callers have to ask its source.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, cast

from postil.core.ports import Entered, Entry, Taken
from postil.storage.ephemeral import MemoryEphemeralStore
from postil.storage.outage import find_outage
from postil.storage.redis_store.redis_connection import PREFIX, connect_async
from postil.storage.redis_store.redis_scripts import ENTER, KEEP, LEAVE, RENEW

LEASE = 30.0
"""Seconds that a call counts as running without a sign of life: as long as a killed replica's calls are counted."""
MOST_BYTES = 256 * 1024 * 1024
_ALONE = "alone:"


class RedisEphemeralStore:
    """Windows, running calls, names seen once and kept answers, shared by replicas."""

    def __init__(self, address: str, lease: float = LEASE, most_bytes: int = MOST_BYTES) -> None:
        self._address, self._lease, self._most_bytes = address, lease, most_bytes
        self._redis: Any = None
        self._scripts: dict[str, Any] = {}
        self._alone = MemoryEphemeralStore()
        self._outage = find_outage(address)
        self._running: dict[str, tuple[str, list[str]]] = {}
        self._ended: dict[str, list[str]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._telling: asyncio.Task[None] | None = None
        self._renewing: asyncio.Task[None] | None = None
        self.away = 0
        """How often Redis did not answer, for the metrics."""

    def _client(self) -> Any:
        if self._redis is None:  # made on the loop that uses it
            self._redis = connect_async(self._address)
            self._scripts = {text: self._redis.register_script(text) for text in (ENTER, LEAVE, RENEW, KEEP)}
        return self._redis

    async def _run(self, script: str, keys: Sequence[str], arguments: Sequence[Any]) -> Any:
        """Returns what a script answers, or None when Redis is away."""
        return await self._ask(lambda client: self._scripts[script](keys=keys, args=arguments))

    async def _ask(self, ask: Callable[[Any], Awaitable[Any]]) -> Any:
        """Returns what Redis answers, or None when it is away."""
        import redis

        if not self._outage.lasts:
            try:
                answer = await ask(self._client())
                self._outage.end()
                return answer
            except (redis.RedisError, OSError) as error:
                self._outage.note(error)
        self.away += 1
        return None

    # -- limits -----------------------------------------------------------------------------------------------------

    async def enter(self, entry: Entry) -> Entered:
        """Take places in a rolling window and among the running calls, in one round trip."""
        name = secrets.token_hex(8)
        lease = int(self._lease * 1000)
        ended = self._ended.pop(entry.who, [])  # those that ended here count no more, told yet or not
        arguments = [entry.cost, entry.limit, entry.seconds, name, entry.at_once, lease, *ended]
        answer = await self._run(ENTER, [_window_key(entry.who), _running_key(entry.who)], arguments)
        if answer is None:
            alone = await self._alone.enter(entry)
            ticket = _ALONE + alone.ticket if alone.ticket else ""
            return Entered(alone.granted, alone.remaining, alone.reset, alone.busy, ticket)
        granted, taken, oldest, busy = cast("tuple[int, int, int, int]", answer)
        remaining, reset = max(0, entry.limit - taken), oldest / 1000 + entry.seconds
        if not entry.at_once or not granted:
            return Entered(granted, remaining, reset, bool(busy))
        self._running[name] = (entry.who, [f"{name}{place}" for place in range(1, granted + 1)])
        if self._renewing is None:
            self._renewing = self._start(self._renew())
        return Entered(granted, remaining, reset, ticket=name)

    def leave(self, who: str, ticket: str) -> None:
        """Count the calls of this ticket as ended. Redis is told with the next question, or at the loop's next turn."""
        if ticket.startswith(_ALONE):
            self._alone.leave(who, ticket.removeprefix(_ALONE))
            return
        _, members = self._running.pop(ticket, ("", []))
        self._ended.setdefault(who, []).extend(members)
        if self._telling is None:
            self._telling = self._start(self._report_ended())

    async def _report_ended(self) -> None:
        try:
            while self._ended:
                ended, self._ended = self._ended, {}
                for who, members in ended.items():
                    if members:
                        await self._run(LEAVE, [_running_key(who)], members)  # or they count until their lease ends
        finally:
            self._telling = None

    async def _renew(self) -> None:
        """Renew the leases of calls that last, until none runs."""
        try:
            while self._running:
                before = set(self._running)
                await asyncio.sleep(self._lease / 3)
                lasting: dict[str, list[str]] = {}
                for ticket in before & set(self._running):
                    who, members = self._running[ticket]
                    lasting.setdefault(who, []).extend(members)
                for who, members in lasting.items():
                    await self._run(RENEW, [_running_key(who)], [int(self._lease * 1000), *members])
        finally:
            self._renewing = None

    def _start(self, work: Any) -> asyncio.Task[None]:
        task: asyncio.Task[None] = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)  # the loop itself holds tasks weakly
        task.add_done_callback(self._tasks.discard)
        return task

    async def take(self, window: str, cost: int, limit: int, seconds: float) -> Taken:
        """Take up to `cost` places in a rolling window that has `limit` of them."""
        entered = await self.enter(Entry(window, cost, limit, seconds, at_once=0))
        return Taken(entered.granted, entered.remaining, entered.reset)

    async def first(self, name: str, seconds: float, whose: str = "") -> bool:
        """Returns whether this name is new to every replica; False while Redis is away. None is forgotten earlier."""
        key, ends = f"{PREFIX}name:{whose}:{name}", max(1, int(seconds))
        return bool(await self._ask(lambda client: client.set(key, 1, nx=True, ex=ends)))

    # -- what is kept -----------------------------------------------------------------------------------------------

    async def recall(self, *names: str) -> Sequence[bytes | None] | None:
        """Returns what is kept under each of these names at one time, or None while Redis is away."""
        keys = [_kept_key(name) for name in names]
        return cast("list[bytes | None] | None", await self._ask(lambda client: client.mget(keys)))

    async def keep(self, values: Mapping[str, bytes], seconds: float) -> bool:
        """Keep values for at most that long; the oldest make room. Returns False while Redis is away."""
        keys = [f"{PREFIX}keeping", f"{PREFIX}keeping:sizes", f"{PREFIX}keeping:size", *map(_kept_key, values)]
        arguments = [max(1, int(seconds * 1000)), self._most_bytes, *values.values()]
        return await self._run(KEEP, keys, arguments) is not None

    async def forget(self, name: str) -> None:
        """Drop what is kept under this name."""
        await self._ask(lambda client: client.delete(_kept_key(name)))

    def counts(self) -> dict[str, float]:
        """Returns counters for the metrics."""
        return {"postil_redis_unanswered_total": self.away}

    async def close(self) -> None:
        """Close the connections."""
        for task in self._tasks:
            task.cancel()
        if self._redis is not None:
            await self._redis.aclose()


def _window_key(name: str) -> str:
    return f"{PREFIX}window:{name}"


def _running_key(who: str) -> str:
    return f"{PREFIX}flight:{who}"


def _kept_key(name: str) -> str:
    return f"{PREFIX}kept:{name}"
