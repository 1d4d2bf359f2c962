"""The sessions of the handshake eras over HTTP: bound to the caller that opened them, bounded, ended when idle.

An id is no credential: whoever uses one must be the principal it was given to.
"""

from __future__ import annotations

import asyncio
import secrets

from postil.core.call import Caller
from postil.wire.engine import Session
from postil.wire.server import Server
from postil.wire.sse import Reply
from postil.wire.watches import Watches

MOST_SESSIONS = 10_000
IDLE = 30 * 60.0
SWEEP_EVERY = 30.0
MOST_PUSHED = 256
"""Messages kept for a client that has no stream open."""


class HttpSession:
    """One client's session: the engine's, and its one stream for messages that belong to no request."""

    def __init__(self, server: Server, watches: Watches, caller: Caller, now: float) -> None:
        self.id = secrets.token_urlsafe(24)  # 192 bits
        self.principal = caller.principal
        self.last_used = now
        self.requests = 0
        """Requests being answered just now."""
        self.stream: Reply | None = None
        self._missed: list[bytes] = []
        self.engine = Session(server, watches, caller=caller, push=self._push)

    def _push(self, frame: bytes, is_answer: bool, code: int) -> None:
        if self.stream is not None:
            self.stream.out(frame, False, 0)
        elif frame not in self._missed:
            del self._missed[: -MOST_PUSHED + 1]
            self._missed.append(frame)

    def listen(self) -> Reply:
        """Open the stream; it begins with what was missed."""
        self.stream = Reply(streams=True)
        for frame in self._missed:
            self.stream.out(frame, False, 0)
        self._missed.clear()
        return self.stream

    @property
    def is_idle(self) -> bool:
        """Whether nothing of it is open just now."""
        return self.stream is None and not self.requests and not self.engine.in_flight


class Sessions:
    """The living sessions of one server."""

    def __init__(self, server: Server, watches: Watches, *, most: int = MOST_SESSIONS, idle: float = IDLE) -> None:
        self._server, self._watches = server, watches
        self._most, self._idle = most, idle
        self._by_id: dict[str, HttpSession] = {}
        self._sweep: asyncio.TimerHandle | None = None
        self._ending: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return len(self._by_id)

    def open(self, caller: Caller) -> HttpSession | None:
        """A new session that nobody can find until it is kept; None when there are too many that are in use."""
        if len(self._by_id) >= self._most and not self._end_longest_idle():
            return None
        return HttpSession(self._server, self._watches, caller, self._now())

    def keep(self, session: HttpSession) -> None:
        """From now on the session can be found by its id."""
        self._by_id[session.id] = session
        if self._sweep is None:
            self._sweep = asyncio.get_running_loop().call_later(min(self._idle, SWEEP_EVERY), self._end_idle)

    def find(self, session_id: str, caller: Caller) -> HttpSession | None:
        """The session, if it lives and is this caller's."""
        session = self._by_id.get(session_id)
        if session is None or session.principal != caller.principal:
            return None
        # Most recently used last: the first ones are those to end when there are too many.
        del self._by_id[session_id]
        self._by_id[session_id] = session
        session.last_used = self._now()
        return session

    def end(self, session: HttpSession, patience: float = 0.0) -> None:
        """Forget a session: its id is unknown from now on, what it does is given up."""
        if self._by_id.pop(session.id, None) is not None:
            task = asyncio.get_running_loop().create_task(_close(session, patience))
            self._ending.add(task)
            task.add_done_callback(self._ending.discard)

    async def close(self, patience: float) -> None:
        """End all of them."""
        if self._sweep is not None:
            self._sweep.cancel()
        for session in list(self._by_id.values()):
            self.end(session, patience)
        if self._ending:
            await asyncio.wait(list(self._ending))

    def _end_longest_idle(self) -> bool:
        for session in self._by_id.values():
            if session.is_idle:
                self.end(session)
                return True
        return False

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


async def _close(session: HttpSession, patience: float) -> None:
    await session.engine.close(patience=patience)
    await session.engine.settle(reached=True)
    if session.stream is not None:
        session.stream.end()
