"""Server-sent events: one reply that begins as plain JSON and becomes a stream only when it has to.

Holds what waits to be sent to one client. Does no I/O: `endpoint.py` sends what it finds here.
"""

from __future__ import annotations

import asyncio

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

    __slots__ = ("_wake", "answered", "code", "gone", "messages", "over", "streams", "told", "waiting")

    def __init__(self, *, streams: bool) -> None:
        self.streams = streams
        """Whether the client takes a stream; one that does not hears the answer alone."""
        self.answered: bytes | None = None
        self.code = 0
        self.messages: list[bytes] = []
        self.waiting: set[bytes] = set()
        self.told: dict[str, str] = {}
        self.over = False
        """No answer will come: the call was given up, or the stream ended."""
        self.gone = False
        """The client left."""
        self._wake: asyncio.Future[None] | None = None

    def answer(self, frame: bytes, code: int) -> None:
        """Take the answer from the runner."""
        self.answered, self.code = frame, code
        self.wake()

    def send(self, frame: bytes) -> None:
        """Take a message that comes before the answer."""
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
        events = b"".join(map(encode_event, self.messages))
        self.messages.clear()
        self.waiting.clear()
        return events

    def end(self) -> None:
        """Note that no answer will come."""
        self.over = True
        self.wake()

    def leave(self) -> None:
        """Note that the client left."""
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
