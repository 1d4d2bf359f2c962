"""The sessions of the handshake eras over HTTP: bound to the caller that opened them, bounded, ended when idle.

An id is no credential: it is honoured only for the principal that it was given to.

Where replicas share a store, what a session agreed on is written there under a hash of its id: another replica goes on
with it, a session ended on one is ended on all within a second, and a stream hears of what was subscribed to elsewhere.
Requests in flight stay where they are, so a cancellation that reaches another replica changes nothing.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Sequence

import msgspec
from msgspec import Struct

from postil.core.call import Caller
from postil.core.others.unreadable import UNREADABLE
from postil.core.ports import EphemeralStore
from postil.wire.protocol.eras.era import NEWEST
from postil.wire.protocol.jsonrpc import Id
from postil.wire.protocol.session import Agreed
from postil.wire.runtime.runner import Connection, Runner
from postil.wire.runtime.watches import Watches
from postil.wire.server import Server
from postil.wire.transports.http.event_log import Budget, SessionLogs, StreamLog
from postil.wire.transports.http.opened import Opened
from postil.wire.transports.http.sse import ReplyStream

MOST_SESSIONS = 10_000
MOST_OF_ONE = 1_000
"""Sessions of one principal; the one that was used longest ago makes room."""
IDLE = 30 * 60.0
SWEEP_EVERY = 30.0
LOOK_EVERY = 0.5
"""Seconds between looks at what became of a session on other replicas."""
LARGEST_SHARED = 256 * 1024
LONGEST_ID = 128
AWAY = 5.0
"""Seconds for which a call that only waits goes on without its client, who is told to come back after one."""
MOST_PUSHED = 256
"""Messages kept for a client that has no stream open."""


class HttpSession:
    """One client's session: the engine's, and its one stream for messages that belong to no request."""

    def __init__(
        self,
        server: Server,
        watches: Watches,
        caller: Caller,
        now: float,
        session_id: str = "",
        kept: Budget | None = None,
    ) -> None:
        self.id = session_id or secrets.token_urlsafe(24)  # 192 bits
        self.logs = SessionLogs(self.id, kept or Budget(), server.hooks.shared, caller.principal)
        self.shared: Agreed | None = None
        """What other replicas were told of it, or told."""
        self.shared_at = now
        self.looked_at = now
        self.principal = caller.principal
        self.last_used = now
        self.requests = 0
        """Requests being answered just now."""
        self.stream: ReplyStream | None = None
        self._missed: list[bytes] = []
        self._push_elsewhere: Callable[[bytes], None] | None = None
        self.runner = Runner(server, watches, Connection(caller, self.id, push=self._push))

    def speak_on(self, stream: ReplyStream, push: Callable[[bytes], None]) -> None:
        """Let one stream carry everything, as in the first version's transport."""
        self.stream, self._push_elsewhere = stream, push

    @property
    def is_of_two_addresses(self) -> bool:
        """Whether it belongs to the first version's transport, and is not to be reached by its id alone."""
        return self._push_elsewhere is not None

    def _push(self, frame: bytes) -> None:
        if self._push_elsewhere is not None:
            self._push_elsewhere(frame)
        elif self.stream is not None:
            self.stream.send(frame)
        elif frame not in self._missed:
            del self._missed[: -MOST_PUSHED + 1]
            self._missed.append(frame)

    @property
    def primes(self) -> bool:
        """Whether its streams begin with an event that only has an id: newer clients expect it, older trip over it."""
        return self.runner.session.era is NEWEST

    def listen(self, log: StreamLog | None = None) -> ReplyStream:
        """Open the stream; it begins with what was missed. An older one ends: its client is gone, or wants another.

        `log` is what was sent on the stream that the client lost, if it goes on with that one.
        """
        older = self.stream
        self.stream = ReplyStream(streams=True)
        self.stream.log = log or self.logs.open(is_call=False)
        if older is not None:
            for frame in older.messages:
                self.stream.send(frame)
            older.messages.clear()
            older.log = None if older.log is log else older.log  # it goes on
            older.end()
        for frame in self._missed:
            self.stream.send(frame)
        self._missed.clear()
        return self.stream

    def leave(self, reply: ReplyStream, request_ids: Sequence[Id]) -> None:
        """Hear that a client has left before its answer. Who knows where the stream was may come back for it."""
        calls = self.runner.find_calls(request_ids)
        if reply.log is None:
            self.runner.leave(calls)
        elif calls:

            def give_up() -> None:
                if not reply.is_heard:
                    self.runner.leave(calls)

            self.runner.loop.call_later(AWAY, give_up)

    @property
    def is_idle(self) -> bool:
        """Whether nothing of it is open just now."""
        return self.stream is None and not self.requests and not self.runner.running


class Sessions:
    """The living sessions of one server."""

    def __init__(
        self,
        server: Server,
        watches: Watches,
        *,
        opened: Opened | None = None,
        most: int = MOST_SESSIONS,
        idle: float = IDLE,
    ) -> None:
        self._server, self._watches = server, watches
        self._most, self._idle = most, idle
        self._opened = opened or Opened()
        self._by_id: dict[str, HttpSession] = {}
        self._sweep: asyncio.TimerHandle | None = None
        self._following: asyncio.Task[None] | None = None
        self._ending: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return len(self._by_id)

    def open(self, caller: Caller, session_id: str = "") -> HttpSession | None:
        """Returns a new session, which cannot be found until it is kept; None when too many are in use."""
        count = sum(map(len, self._opened.sessions))
        if count >= self._most and not self._end_longest_idle():
            return None
        if count >= MOST_OF_ONE:
            own = sum(each.count_of(caller.principal) for each in self._opened.sessions)
            if own >= MOST_OF_ONE and not self._end_longest_idle(caller.principal):
                return None
        return HttpSession(self._server, self._watches, caller, self._now(), session_id, self._opened.kept)

    def count_of(self, principal: str) -> int:
        """Returns how many sessions of one caller live here."""
        return sum(session.principal == principal for session in self._by_id.values())

    @property
    def are_shared(self) -> bool:
        """Whether other replicas may go on with them."""
        return self._server.hooks.shared is not None

    async def keep(self, session: HttpSession) -> None:
        """Let the session be found by its id from now on."""
        self.add(session)
        await self.share(session)

    def add(self, session: HttpSession) -> None:
        """Count it among those that live here."""
        self._by_id[session.id] = session
        if self not in self._opened.sessions:
            self._opened.sessions.append(self)
        if self._sweep is None:
            self._sweep = asyncio.get_running_loop().call_later(min(self._idle, SWEEP_EVERY), self._end_idle)

    async def find(self, session_id: str, caller: Caller) -> HttpSession | None:
        """Returns the session, if it lives here or on another replica and is this caller's."""
        session = self._by_id.get(session_id)
        if self._server.hooks.shared is not None:
            if session is None:
                session = await self._adopt(self._server.hooks.shared, session_id, caller)
            elif session.principal == caller.principal and self._now() - session.looked_at > LOOK_EVERY:
                await self._look(self._server.hooks.shared, [session])
                session = self._by_id.get(session_id)
        if session is None or session.principal != caller.principal or session.is_of_two_addresses:
            return None
        # Most recently used last: the first ones are those to end when there are too many.
        del self._by_id[session_id]
        self._by_id[session_id] = session
        session.last_used = self._now()
        return session

    def by_id(self, session_id: str) -> HttpSession | None:
        """Returns a session that lives here, whosever it is."""
        return self._by_id.get(session_id)

    def end(self, session: HttpSession, grace: float = 0.0) -> None:
        """Forget a session: its id is unknown from now on, what it does is given up."""
        if self._by_id.pop(session.id, None) is not None:
            task = asyncio.get_running_loop().create_task(_close(session, grace))
            self._ending.add(task)
            task.add_done_callback(self._ending.discard)

    async def end_everywhere(self, session: HttpSession) -> None:
        """End a session on all replicas, as its client asked."""
        if self._server.hooks.shared is not None:
            await self._server.hooks.shared.forget(_name(session.id))
        self.end(session)

    # -- shared by replicas -----------------------------------------------------------------------------------------

    async def share(self, session: HttpSession) -> None:
        """Tell the other replicas what was agreed, when it is news or nearly forgotten."""
        store = self._server.hooks.shared
        if store is None or session.id not in self._by_id:
            return
        agreed = session.runner.save()
        if agreed == session.shared and self._now() - session.shared_at < self._idle / 4:
            return
        record = msgspec.json.encode(_Record(session.principal, agreed))
        if len(record) <= LARGEST_SHARED and await store.keep({_name(session.id): record}, self._idle + LOOK_EVERY):
            session.shared, session.shared_at = agreed, self._now()

    async def _adopt(self, store: EphemeralStore, session_id: str, caller: Caller) -> HttpSession | None:
        found = await store.recall(_name(session_id)) if len(session_id) <= LONGEST_ID else None
        record = _read(found[0]) if found else None
        if record is None or record.principal != caller.principal:
            return None
        if session_id not in self._by_id:  # another request of the same session may have been first
            session = self.open(caller, session_id)
            if session is None:
                return None
            session.shared = record.agreed
            self.add(session)
            await session.runner.resume(record.agreed)
        return self._by_id.get(session_id)

    async def _look(self, store: EphemeralStore, sessions: Sequence[HttpSession]) -> None:
        """See what became of these sessions on other replicas. Where that cannot be known, they go on."""
        for session in sessions:
            session.looked_at = self._now()
        found = await store.recall(*(_name(session.id) for session in sessions))
        for session, value in zip(sessions, found or (), strict=False):
            record = _read(value)
            if record is None and session.shared is not None:
                self.end(session)
            elif record is not None and record.agreed != session.shared:
                session.shared = record.agreed
                await session.runner.resume(record.agreed)

    def follow(self, session: HttpSession) -> None:
        """Let an open stream hear of what is asked for on other replicas."""
        if self.are_shared and self._following is None:
            self._following = asyncio.get_running_loop().create_task(self._follow())

    async def _follow(self) -> None:
        try:
            while streaming := [session for session in self._by_id.values() if session.stream is not None]:
                if self._server.hooks.shared is not None:
                    await self._look(self._server.hooks.shared, streaming)
                    for session in streaming:
                        await self.share(session)  # an open stream keeps it from being forgotten
                await asyncio.sleep(LOOK_EVERY)
        finally:
            self._following = None

    # -- the end ----------------------------------------------------------------------------------------------------

    async def close(self, grace: float) -> None:
        """End all of them here; other replicas may go on with them."""
        if self._following is not None:
            self._following.cancel()
        if self._sweep is not None:
            self._sweep.cancel()
        for session in list(self._by_id.values()):
            self.end(session, grace)
        self.retire()
        if self._ending:
            await asyncio.wait(list(self._ending))

    def retire(self) -> None:
        """Be counted no more."""
        if self in self._opened.sessions:
            self._opened.sessions.remove(self)

    def _end_longest_idle(self, principal: str | None = None) -> bool:
        """End the session that was used longest ago, of all endpoints; of one caller, if one is named."""
        found = [
            (session.last_used, at, each, session)
            for at, each in enumerate(self._opened.sessions)
            if (session := each.find_idle(principal)) is not None
        ]
        if found:
            _, _, where, session = min(found, key=lambda one: one[:2])
            where.end(session)
        return bool(found)

    def find_idle(self, principal: str | None) -> HttpSession | None:
        """Returns the session that was used longest ago and of which nothing is open; of one caller, if named."""
        every = self._by_id.values()
        return next((one for one in every if one.is_idle and principal in (None, one.principal)), None)

    def _end_idle(self) -> None:
        self._sweep = None
        before = self._now() - self._idle
        for session in list(self._by_id.values()):
            if session.is_idle and session.last_used < before:
                self.end(session)
        if self._by_id:
            self._sweep = asyncio.get_running_loop().call_later(min(self._idle, SWEEP_EVERY), self._end_idle)

    @staticmethod
    def _now() -> float:
        return asyncio.get_running_loop().time()


class _Record(Struct, frozen=True, array_like=True):
    """A session as replicas share it."""

    principal: str
    agreed: Agreed


def _name(session_id: str) -> str:
    import hashlib  # only where sessions are shared

    return "session:" + hashlib.sha256(session_id.encode("utf-8", "surrogateescape")).hexdigest()[:40]


def _read(value: bytes | None) -> _Record | None:
    try:
        return msgspec.json.decode(value, type=_Record) if value is not None else None
    except UNREADABLE:  # another version's
        return None


async def _close(session: HttpSession, grace: float) -> None:
    await session.runner.close(grace)
    await session.runner.report_delivery(reached=True)
    if session.stream is not None:
        session.stream.end()
    session.logs.close()
