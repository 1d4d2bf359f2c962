"""What was sent on the streams of a session, kept a while: a client that lost one goes on behind the last event it saw.

An event's id names its stream and its place there. Where replicas share a store, the log is there too, under a hash of
the session's id: a client that comes back may reach another replica. Whoever asks has the session first, and a session
is honoured only for its own principal.
"""

from __future__ import annotations

import asyncio
import secrets
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from postil.core.others.unreadable import UNREADABLE

if TYPE_CHECKING:
    from postil.core.ports import EphemeralStore
    from postil.wire.protocol.jsonrpc import Id
    from postil.wire.transports.http.sse import ReplyStream

MOST_EVENTS = 256
MOST_BYTES = 1024 * 1024
"""Of one stream. The last event is always kept: it is the answer."""
MOST_STREAMS = 16
"""Of one session; the oldest make room."""
MOST_IN_ALL = 64 * 1024 * 1024
KEPT = 300.0
"""Seconds for which a stream that has ended can be asked for."""
LOOK_EVERY = 0.5
LONGEST_ID = 64


class _Kept(Struct, frozen=True, array_like=True):
    """A stream as replicas share it."""

    is_call: bool
    count: int
    over: bool
    frames: list[msgspec.Raw]


class StreamLog:
    """One stream: its last frames, each with its number."""

    def __init__(self, name: str, *, is_call: bool, changed: Callable[[StreamLog, int], None]) -> None:
        self.name = name
        self.is_call = is_call
        """Whether it answers one request; else it is the session's own stream."""
        self.count = 0
        """The number of the last frame."""
        self.over = False
        self.frames: deque[bytes] = deque()
        self.size = 0
        self._keeps = True
        self.writer: ReplyStream | None = None
        """What still writes into it."""
        self.request_ids: Sequence[Id] = ()
        """What it answers."""
        self._reader: ReplyStream | None = None
        """A client that came back and reads it."""
        self._place = 0
        """The last event that this client saw before."""
        self._changed = changed

    @property
    def is_read(self) -> bool:
        """Whether a client that came back reads it."""
        return self._reader is not None and not self._reader.gone

    def add(self, frame: bytes) -> bytes:
        """Keep a frame. Returns it as an event with its id."""
        self.count += 1
        before = self.size
        if self._keeps:
            self.frames.append(frame)
            self.size += len(frame)
        while len(self.frames) > MOST_EVENTS or (self.size > MOST_BYTES and len(self.frames) > 1):
            self.size -= len(self.frames.popleft())
        event = self._event(self.count, frame)
        if self._reader is not None and self.count > self._place:
            self._reader.relay(event)
        self._changed(self, self.size - before)
        return event

    def end(self, frame: bytes | None = None) -> bytes:
        """Keep the last frame, if there is one: nothing follows. Returns it as an event."""
        if self.over:
            return b""
        self.over = True
        event = self.add(frame) if frame is not None else b""
        if self._reader is not None:
            self._reader.end()
        self._changed(self, 0)
        return event

    def prime(self) -> bytes:
        """Returns an event that says nothing but where the stream is: a client that loses it can come back."""
        return b"id: %s.%d\nretry: 1000\ndata: \n\n" % (self.name.encode("ascii"), self.count)

    def after(self, place: int) -> list[bytes]:
        """Returns the events behind a place, as far as they are kept."""
        first = self.count - len(self.frames) + 1
        return [self._event(first + at, frame) for at, frame in enumerate(self.frames) if first + at > place]

    def forget(self) -> int:
        """Drop what is kept, and keep nothing more. Returns how many bytes that were."""
        self._keeps = False
        freed, self.size = self.size, 0
        self.frames.clear()
        return freed

    def read_by(self, reader: ReplyStream, place: int) -> None:
        """Let a client that came back read on behind a place; one that read before has gone."""
        if self._reader is not None:
            self._reader.end()
        if self.writer is not None and not self.over:
            self.writer.leave()  # the connection that it had is dead, whether that was noticed or not
        for event in self.after(place):
            reader.relay(event)
        if self.over:
            reader.end()
        self._reader, self._place = reader, place

    def save(self) -> bytes:
        """Returns it as replicas share it."""
        return msgspec.json.encode(
            _Kept(self.is_call, self.count, self.over, [msgspec.Raw(frame) for frame in self.frames])
        )

    def take_over(self, saved: bytes) -> None:
        """Become what another replica has written."""
        kept = msgspec.json.decode(saved, type=_Kept)
        self.is_call = kept.is_call
        first = kept.count - len(kept.frames) + 1
        for at, frame in enumerate(kept.frames):
            if first + at > self.count:
                self.count = first + at - 1
                self.add(bytes(frame))
        if kept.over:
            self.end()

    def _event(self, number: int, frame: bytes) -> bytes:
        return b"id: %s.%d\nevent: message\ndata: %s\n\n" % (self.name.encode("ascii"), number, frame)


class Budget:
    """The bytes of all logs of a process: of whoever holds the most, the oldest stream is forgotten first."""

    def __init__(self, most: int = MOST_IN_ALL) -> None:
        self._most, self._held = most, 0
        self._shares: dict[str, _Share] = {}

    def count(self, log: StreamLog, change: int, owner: str = "") -> None:
        """Count what a log of a principal has gained or lost."""
        share = self._shares.get(owner) or self._shares.setdefault(owner, _Share())
        share.logs.setdefault(log.name, log)
        share.held += change
        self._held += change
        while self._held > self._most:
            owner, share = max(self._shares.items(), key=lambda each: each[1].held)
            if len(self._shares) == len(share.logs) == 1:
                return
            self.drop(next(iter(share.logs.values())), owner)

    def drop(self, log: StreamLog, owner: str = "") -> None:
        """Forget the frames of a principal's log."""
        share = self._shares.get(owner)
        if share is not None and share.logs.pop(log.name, None) is not None:
            freed = log.forget()
            share.held -= freed
            self._held -= freed
            if not share.logs:
                del self._shares[owner]


class _Share:
    """What the logs of one principal hold."""

    def __init__(self) -> None:
        self.held = 0
        self.logs: dict[str, StreamLog] = {}


class SessionLogs:
    """The streams of one session."""

    def __init__(self, session_id: str, budget: Budget, store: EphemeralStore | None, principal: str = "") -> None:
        self._session_id, self._budget, self._store, self._principal = session_id, budget, store, principal
        self._by_name: dict[str, StreamLog] = {}
        self._saving: dict[str, asyncio.Task[None]] = {}
        self._unsaved: set[str] = set()

    def open(self, *, is_call: bool) -> StreamLog:
        """Returns the log of a new stream."""
        log = StreamLog(secrets.token_urlsafe(9), is_call=is_call, changed=self._changed)
        while len(self._by_name) >= MOST_STREAMS:
            self._drop(next(iter(self._by_name)))
        self._by_name[log.name] = log
        return log

    async def find(self, event_id: str) -> tuple[StreamLog, int] | None:
        """Returns the stream and the place that an id names; None where it is unknown, or no longer kept."""
        name, _, number = event_id.partition(".")
        if len(event_id) > LONGEST_ID or not number.isascii() or not number.isdigit():
            return None
        log = self._by_name.get(name)
        if log is not None:
            return (log, int(number)) if int(number) <= log.count else None
        if self._store is not None and (saved := await self._recall(name)) is not None:
            log = StreamLog(name, is_call=False, changed=lambda _log, _change: None)
            try:
                log.take_over(saved)
            except UNREADABLE:  # another version's
                return None
            return log, int(number)  # what the client has seen may not be there yet
        return None

    async def publish(self, log: StreamLog) -> None:
        """Let other replicas know of a stream, before its client knows any id of it."""
        if self._store is not None and self.is_here(log):
            await self._store.keep({self._key(log.name): log.save()}, KEPT)

    def is_here(self, log: StreamLog) -> bool:
        """Returns whether this replica writes the stream."""
        return self._by_name.get(log.name) is log

    async def follow(self, log: StreamLog) -> None:
        """Read on what another replica writes, until it has ended or is forgotten."""
        while not log.over:
            await asyncio.sleep(LOOK_EVERY)
            saved = await self._recall(log.name)
            if saved is None:
                log.end()
            else:
                with suppress(*UNREADABLE):  # its writer writes it anew
                    log.take_over(saved)

    def close(self) -> None:
        """Forget all of them here; what was shared ends by time."""
        for name in list(self._by_name):
            self._drop(name)

    def _changed(self, log: StreamLog, change: int) -> None:
        if self.is_here(log):
            self._budget.count(log, change, self._principal)
            if log.over and not change:
                asyncio.get_running_loop().call_later(KEPT, self._drop, log.name)
            if self._store is not None:
                self._unsaved.add(log.name)
                if log.name not in self._saving:
                    self._saving[log.name] = asyncio.get_running_loop().create_task(self._save(self._store, log))

    async def _save(self, store: EphemeralStore, log: StreamLog) -> None:
        try:
            while log.name in self._unsaved:
                self._unsaved.discard(log.name)
                await store.keep({self._key(log.name): log.save()}, KEPT)
        finally:
            del self._saving[log.name]

    async def _recall(self, name: str) -> bytes | None:
        assert self._store is not None
        found = await self._store.recall(self._key(name))
        return found[0] if found else None

    def _drop(self, name: str) -> None:
        log = self._by_name.pop(name, None)
        if log is not None:
            self._budget.drop(log, self._principal)

    def _key(self, name: str) -> str:
        import hashlib  # only where sessions are shared

        return "events:" + hashlib.sha256(f"{self._session_id}\n{name}".encode("utf-8", "replace")).hexdigest()[:40]
