"""Answers kept for a while when the caller asks for it: bounded, never shared between tokens, asked for once at a time.

After its time an answer is offered to GitLab with its ETag, and lives on if GitLab says that nothing changed.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Literal, TypeAlias

import msgspec
from msgspec import Struct

from postil.gitlab.failures import GitLabFailure
from postil.gitlab.instance import Query, Reply

State: TypeAlias = Literal["HIT", "MISS", "REVALIDATED"]
LONGEST_TTL = 3600
LARGEST = 16 * 1024 * 1024


class Kept(Struct):
    """One answer, how long it holds, and which project it is about."""

    reply: Reply
    until: float
    project: str


class ResponseCache:
    """A bounded memory of answers, oldest use forgotten first."""

    def __init__(self, largest: int = LARGEST, clock: Callable[[], float] = time.monotonic) -> None:
        self._kept: OrderedDict[str, Kept] = OrderedDict()
        self._asking: dict[str, asyncio.Future[Reply]] = {}
        self._size, self._largest, self._clock = 0, largest, clock

    async def get(
        self, key: str, project: str, ttl: int, ask: Callable[[str], Awaitable[Reply]]
    ) -> tuple[Reply, State]:
        """The kept answer while it holds, else GitLab's, asked for once however many callers wait."""
        kept = self._kept.get(key)
        if kept is not None and kept.until > self._clock():
            self._kept.move_to_end(key)
            return kept.reply, "HIT"
        waiting = self._asking.get(key)
        if waiting is not None:
            return await asyncio.shield(waiting), "HIT"
        future: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._asking[key] = future
        try:
            reply, state = await self._asked(kept, ask)
        except BaseException as error:
            if isinstance(error, GitLabFailure) and error.status in (401, 403, 404):
                self._forget(key)
            if isinstance(error, Exception):
                future.set_exception(error)
                future.exception()  # seen: nobody else may be waiting
            else:
                future.cancel()
            raise
        else:
            self._keep(key, Kept(reply, self._clock() + min(max(ttl, 0), LONGEST_TTL), project))
            future.set_result(reply)
            return reply, state
        finally:
            del self._asking[key]

    async def _asked(self, kept: Kept | None, ask: Callable[[str], Awaitable[Reply]]) -> tuple[Reply, State]:
        etag = kept.reply.headers.get("etag", "") if kept else ""
        reply = await ask(etag)
        if kept is not None and reply.status == 304:
            return kept.reply, "REVALIDATED"
        return reply, "MISS"

    def purge(self, project: str) -> None:
        """Forget every answer about a project, and every answer about many: something in it changed."""
        for key in [key for key, kept in self._kept.items() if _may_be_same(kept.project, project)]:
            self._forget(key)

    def _keep(self, key: str, kept: Kept) -> None:
        self._forget(key)
        if len(kept.reply.body) > self._largest // 4:
            return
        self._kept[key] = kept
        self._size += len(kept.reply.body)
        while self._size > self._largest:
            self._forget(next(iter(self._kept)))

    def _forget(self, key: str) -> None:
        kept = self._kept.pop(key, None)
        if kept is not None:
            self._size -= len(kept.reply.body)


def _may_be_same(one: str, other: str) -> bool:
    """Whether two names may mean one project. A number and a path may: only GitLab knows which belong together."""
    return not one or one.isdigit() != other.isdigit() or one.lower() == other.lower()


def cache_key(instance: str, token: str, path: str, query: Query | None) -> str:
    """One name for one question by one token to one instance. A hash: the token cannot be read back from it."""
    asked = msgspec.json.encode((instance, token, path, sorted((query or {}).items())))
    return hashlib.sha256(asked).hexdigest()
