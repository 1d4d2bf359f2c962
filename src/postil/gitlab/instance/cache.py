"""Answers kept for a while when the caller asks for it: bounded, never shared between callers, asked for only once.

After its time an answer is offered to GitLab with its ETag, and lives on if GitLab says that nothing changed.

Kept in the ephemeral store, so by this process or, where the state is Redis, by all replicas. A change is said by
stamps: an answer carries the stamps of its project as they were before GitLab was asked, and counts only while they are
the same. So a change that one replica made or heard of is seen by all, and an answer that was on its way meanwhile is
not believed.
What other processes could read is sealed with the caller's own token: GitLab's raw answers hold secrets of projects.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Literal, TypeAlias

import msgspec
from msgspec import Struct

from postil.core.failure import Extra
from postil.core.others.unreadable import UNREADABLE
from postil.core.ports import EphemeralStore
from postil.gitlab.failures import GitLabFailure
from postil.gitlab.instance.client import Query, Reply
from postil.storage.ephemeral import MemoryEphemeralStore

State: TypeAlias = Literal["HIT", "MISS", "REVALIDATED"]
Ask: TypeAlias = Callable[[str], Awaitable[Reply]]
LONGEST_TTL = 3600
REVALIDATED_FOR = 3600
"""Seconds after its time in which an answer can still be offered with its ETag."""
STAMPED_FOR = LONGEST_TTL + REVALIDATED_FOR + 600
"""Seconds that a stamp lives: longer than any answer it speaks of, or that one would count again."""
LARGEST = 4 * 1024 * 1024
ALL, NUMBERS, PATHS = "*", "numbers", "paths"


class Question(Struct, frozen=True):
    """One question by one caller to one instance, about one project or (empty) about many."""

    key: str
    project: str
    whose: str
    seal: bytes


class _Kept(Struct, array_like=True):
    reply: Reply
    until: float
    stamps: list[bytes | None]


class ResponseCache:
    """Answers, by question."""

    def __init__(
        self, ephemeral: EphemeralStore | None = None, *, shared: bool = False, clock: Callable[[], float] = time.time
    ) -> None:
        self._ephemeral = ephemeral or MemoryEphemeralStore(clock)
        self._shared, self._clock = shared, clock
        self._asking: dict[str, asyncio.Task[tuple[Reply, State]]] = {}
        self._projects: dict[str, str] = {}
        self._unsaid: set[tuple[str, ...]] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self.states: dict[State, int] = {"HIT": 0, "MISS": 0, "REVALIDATED": 0}

    async def get(self, question: Question, ttl: int, ask: Ask) -> tuple[Reply, State]:
        """Return the kept answer while it holds, else GitLab's, asked for once however many callers wait."""
        asking = self._asking.get(question.key)
        joined = asking is not None
        if asking is None:
            # A task of its own: a caller who gives up must not take the answer from those who wait with it.
            asking = asyncio.get_running_loop().create_task(self._find_answer(question, ttl, ask))
            self._asking[question.key], self._projects[question.key] = asking, question.project
            asking.add_done_callback(lambda done: self._end_asking(question.key, done))
        reply, state = await asyncio.shield(asking)
        state = "HIT" if joined else state
        self.states[state] += 1
        return reply, state

    async def _find_answer(self, question: Question, ttl: int, ask: Ask) -> tuple[Reply, State]:
        for names in list(self._unsaid):
            await self.purge(*names)
        found = await self._ephemeral.recall(_name_answer(question), *_list_stamps(question))
        if found is None:  # nobody can tell what was kept, nor what has changed since
            return await ask(""), "MISS"
        stamps = list(found[1:])
        kept = self._decode(found[0], question)
        if kept is not None and kept.stamps != stamps:
            kept = None
        if kept is not None and kept.until > self._clock():
            return kept.reply, "HIT"
        try:
            reply = await ask(kept.reply.headers.get("etag", "") if kept is not None else "")
        except GitLabFailure as failure:
            if failure.status == 401:  # the token is no more: nothing that it saw is shown again
                await self._ephemeral.keep({_name_stamp(question.whose): os.urandom(8)}, STAMPED_FOR)
            elif failure.status in (403, 404):
                await self._ephemeral.forget(_name_answer(question))
            raise
        state: State = "MISS"
        if kept is not None and reply.status == 304:
            reply, state = kept.reply, "REVALIDATED"
        if len(reply.body) <= LARGEST:
            ttl = min(max(ttl, 0), LONGEST_TTL)
            value = self._encode(_Kept(reply, self._clock() + ttl, stamps), question)
            await self._ephemeral.keep({_name_answer(question): value}, ttl + REVALIDATED_FOR)
        return reply, state

    async def purge(self, *names: str) -> None:
        """Make every answer about a project that changed old, and every answer about many projects.

        Of one name alone it is not known which number belongs to which path, so answers about every project that may
        be the same become old. No name means that any project may have changed.
        """
        names = tuple(name.lower() for name in names if name)
        for key, project in list(self._projects.items()):
            if _may_be_same(project, names):  # what was asked before the change is not for those who ask after it
                self._asking.pop(key, None)
        stamps = {ALL, *names}
        if len({name.isdigit() for name in names}) < 2:
            stamps |= {NUMBERS} if names and names[0].isdigit() else {PATHS} if names else {NUMBERS, PATHS}
        made = os.urandom(8)
        if await self._ephemeral.keep({_name_stamp(stamp): made for stamp in stamps}, STAMPED_FOR):
            self._unsaid.discard(names)
        else:
            self._unsaid.add(names)  # said before anything kept is believed again

    def purge_soon(self, *names: str) -> None:
        """Purge from where nobody can wait."""
        task = asyncio.get_running_loop().create_task(self.purge(*names))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _end_asking(self, key: str, done: asyncio.Task[tuple[Reply, State]]) -> None:
        if self._asking.get(key) is done:
            del self._asking[key]
        if key not in self._asking:
            self._projects.pop(key, None)
        if not done.cancelled():
            done.exception()  # seen: everybody may have given up

    def _encode(self, kept: _Kept, question: Question) -> bytes:
        value = msgspec.msgpack.encode(kept)
        if not self._shared:
            return value
        with Extra("gateway", "A cache that replicas share"):
            from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # only where replicas share

        nonce = os.urandom(12)
        return nonce + AESGCM(question.seal).encrypt(nonce, value, question.key.encode())

    def _decode(self, value: bytes | None, question: Question) -> _Kept | None:
        if value is None:
            return None
        if self._shared:
            with Extra("gateway", "A cache that replicas share"):
                from cryptography.exceptions import InvalidTag
                from cryptography.hazmat.primitives.ciphers.aead import AESGCM

            try:
                value = AESGCM(question.seal).decrypt(value[:12], value[12:], question.key.encode())
            except (InvalidTag, ValueError):
                return None
        try:
            return msgspec.msgpack.decode(value, type=_Kept)
        except UNREADABLE:  # another version's
            return None


def make_question(instance: str, principal: str, token: str, path: str, query: Query | None, project: str) -> Question:
    """Return the question. Its key is a hash: neither caller nor token can be read back from it."""
    words = msgspec.json.encode((instance, principal, token, path, sorted((query or {}).items())))
    seal = hashlib.sha256(b"postil kept answers\n" + token.encode()).digest()
    whose = hashlib.sha256(b"postil token\n" + token.encode()).hexdigest()[:32]
    return Question(hashlib.sha256(words).hexdigest(), project.lower(), whose, seal)


def _list_stamps(question: Question) -> Sequence[str]:
    """Return what has to be unchanged for an answer to count."""
    project = question.project
    if not project:
        return _name_stamp(ALL), _name_stamp(question.whose)
    return _name_stamp(project), _name_stamp(PATHS if project.isdigit() else NUMBERS), _name_stamp(question.whose)


def _may_be_same(project: str, changed: tuple[str, ...]) -> bool:
    """Whether a change may be one of this project. A number and a path may: only GitLab knows which belong together."""
    if not project or not changed or project in changed:
        return True
    return all(project.isdigit() != name.isdigit() for name in changed)


def _name_answer(question: Question) -> str:
    return f"gitlab:{question.key}"


def _name_stamp(of: str) -> str:
    return f"gitlab-changed:{of}"
