"""Server-sent events: one reply that begins as plain JSON and becomes a stream only when it has to.

Holds what waits to be sent to one client. Does no I/O: `endpoint.py` sends what it finds here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from postil.wire.runtime.wire_call import Right
    from postil.wire.transports.http.event_log import StreamLog

_NONE: Mapping[str, str] = {}
HEADERS = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),  # nginx would hold the stream back
]
PING = b": ping\n\n"
PING_EVERY = 15.0
MOST_WAITING = 1024
"""Messages that may wait for a client that reads slowly; what it does not read in time is not worth more memory."""


def encode_event(frame: bytes) -> bytes:
    """Returns one message as an event. Frames hold no line breaks: JSON escapes them."""
    return b"event: message\ndata: " + frame + b"\n\n"


class ReplyStream:
    """What one request, or one open stream, has to tell its client."""

    __slots__ = (
        "_wake",
        "answered",
        "code",
        "gone",
        "log",
        "messages",
        "over",
        "relays",
        "right",
        "streams",
        "told",
        "trace",
        "waiting",
    )

    def __init__(self, *, streams: bool, relays: bool = False) -> None:
        self.streams = streams
        """Whether the client takes a stream; one that does not hears the answer alone."""
        self.relays = relays
        """Whether its messages are events already: of a stream that is read again."""
        self.log: StreamLog | None = None
        """Where what was sent is kept, so that a client that lost the stream can go on."""
        self.answered: bytes | None = None
        self.code = 0
        self.messages: list[bytes] = []
        self.waiting: set[bytes] = set()
        self.told: dict[str, str] = {}
        self.trace: Mapping[str, str] = _NONE
        """The trace that the request's headers name."""
        self.right: Right | None = None
        """What lets its caller in."""
        self.over = False
        """No answer will come: the call was given up, or the stream ended."""
        self.gone = False
        """The client left."""
        self._wake: asyncio.Future[None] | None = None

    @property
    def is_heard(self) -> bool:
        """Whether its client is there: who lost a stream may have come back for the rest of it."""
        return not self.gone or (self.log is not None and self.log.is_read)

    def answer(self, frame: bytes, code: int) -> None:
        """Take the answer from the runner."""
        self.answered, self.code = frame, code
        if self.gone and self.log is not None:
            self.log.end(frame)
        self.wake()

    def send(self, frame: bytes) -> None:
        """Take a message that comes before the answer."""
        if self.gone and self.log is not None:
            self.log.add(frame)
            return
        # The same message twice in a row of unread ones says nothing new: updates are cues.
        if self.streams and frame not in self.waiting and len(self.messages) < MOST_WAITING:
            self.messages.append(frame)
            self.waiting.add(frame)
        self.wake()

    def tell(self, name: str, value: str) -> None:
        """Take what a call says beside its answer: a header, where the answer is no stream."""
        self.told[name] = value

    def take(self) -> bytes:
        """Returns the waiting messages as events, and forgets them."""
        encode = _as_it_is if self.relays else self.log.add if self.log is not None else encode_event
        events = b"".join(map(encode, self.messages))
        self.messages.clear()
        self.waiting.clear()
        return events

    def take_last(self) -> bytes:
        """Returns the answer as the last event, or nothing where there is none."""
        if self.log is not None:
            return self.log.end(self.answered)
        return encode_event(self.answered) if self.answered is not None else b""

    def relay(self, event: bytes) -> None:
        """Take an event of a stream that is read again."""
        self.messages.append(event)
        self.wake()

    def end(self) -> None:
        """Note that no answer will come."""
        self.over = True
        if self.gone and self.log is not None:
            self.log.end()
        self.wake()

    def leave(self) -> None:
        """Note that the client left. What it has not heard is kept, where it may come back for it."""
        if not self.gone and self.log is not None:
            self.take()
            if self.answered is not None or self.over:
                self.take_last()
        self.gone = True
        self.wake()

    def wake(self) -> None:
        """End the wait: something happened, or it is time for a sign of life."""
        if self._wake is not None and not self._wake.done():
            self._wake.set_result(None)

    async def wait(self) -> None:
        """Wait until something happens."""
        self._wake = asyncio.get_running_loop().create_future()
        await self._wake


def _as_it_is(event: bytes) -> bytes:
    return event
