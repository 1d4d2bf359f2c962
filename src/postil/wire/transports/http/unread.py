"""Answers on their way: a large one goes in pieces, each when its client has read those before, and all are bounded.

What is written to a connection at once lies in memory until the client reads it, after the call has ended and its place
was given back: a client that reads nothing would hold as many answers as it may ask for. Where there is no room for
another answer, those that nobody reads are given up: so who reads is answered, however many do not.
"""

from __future__ import annotations

import asyncio
from collections.abc import Generator, MutableMapping
from contextlib import contextmanager
from typing import Any

from postil.core import codes, limits
from postil.wire.protocol import jsonrpc
from postil.wire.transports.http.asked import Send, respond
from postil.wire.transports.http.body import ClientLeft

PIECE = 64 * 1024
"""What is written at once; smaller answers are not counted."""
STALLED = 2.0
"""Seconds without a piece that was read, after which an answer may be given up for another one."""
FULL = "Too much of what you asked for is unread: read the answers that are on their way, then ask again"
Message = MutableMapping[str, Any]


class _OnItsWay:
    """One large answer of a caller: how much is still to be read, and when some of it was."""

    __slots__ = ("caller", "limit", "read_at", "size")

    def __init__(self, caller: str, size: int, limit: asyncio.Timeout) -> None:
        self.caller, self.size, self.limit = caller, size, limit
        self.read_at = asyncio.get_running_loop().time()


class Unread:
    """The bytes of large answers that clients have still to read: of all callers, and of one."""

    def __init__(self, total: int = limits.ANSWERS, of_one: int = limits.ANSWERS_OF_ONE) -> None:
        self._total, self._of_one = total, of_one
        self._held: dict[str, int] = {}
        self._sum = 0
        self._answers: set[_OnItsWay] = set()

    def wrap(self, send: Send, caller: str) -> Send:
        """Returns a `send` for one request of a caller. What would go beyond the bounds is refused by 503."""
        waiting: Message | None = None

        async def in_pieces(message: Message) -> None:
            nonlocal waiting
            if message["type"] == "http.response.start":
                waiting = message  # until the size of what follows is known
                return
            start, waiting = waiting, None
            body: bytes = message.get("body", b"")
            if len(body) <= PIECE:
                if start is not None:
                    await send(start)
                await send(message)
                return
            try:
                async with asyncio.timeout(None) as limit:
                    with self._hold(caller, len(body), limit) as answer:
                        if answer is not None:
                            await _send_in_pieces(send, start, body, message.get("more_body", False), answer)
                            return
            except TimeoutError:  # given up: its client reads nothing, and others want to
                start = None
            if start is None:
                raise ClientLeft  # in the middle of a stream: its session, if any, keeps the answer
            refused = {"status": 503, "message": FULL, "retry_after": 1}
            frame = jsonrpc.encode_error(jsonrpc.find_id_at_start(body[:4096]), codes.SERVER_ERROR, FULL, refused)
            await respond(send, 503, frame, [(b"retry-after", b"1")])

        return in_pieces

    @contextmanager
    def _hold(self, caller: str, size: int, limit: asyncio.Timeout) -> Generator[_OnItsWay | None]:
        """Count an answer until it is read. Who has nothing unread may have one of any size."""
        mine = self._held.get(caller, 0)
        if mine + size > max(self._of_one, size if not mine else 0) or not self._make_room(size):
            yield None
            return
        self._held[caller] = self._held.get(caller, 0) + size
        self._sum += size
        answer = _OnItsWay(caller, size, limit)
        self._answers.add(answer)
        try:
            yield answer
        finally:
            self._forget(answer)

    def _make_room(self, size: int) -> bool:
        """Returns whether there is room for an answer, after those were given up that nobody reads."""
        if not self._sum or self._sum + size <= self._total:
            return True
        now = asyncio.get_running_loop().time()
        stalled = [answer for answer in self._answers if now - answer.read_at >= STALLED]
        stalled.sort(key=lambda answer: (self._held[answer.caller], now - answer.read_at))
        while stalled and self._sum and self._sum + size > self._total:
            answer = stalled.pop()  # of who holds the most
            self._forget(answer)
            answer.limit.reschedule(now)
        return not self._sum or self._sum + size <= self._total

    def _forget(self, answer: _OnItsWay) -> None:
        if answer not in self._answers:
            return
        self._answers.discard(answer)
        self._sum -= answer.size
        self._held[answer.caller] -= answer.size
        if not self._held[answer.caller]:
            del self._held[answer.caller]


async def _send_in_pieces(send: Send, start: Message | None, body: bytes, more: bool, answer: _OnItsWay) -> None:
    if start is not None:
        await send(start)
    loop = asyncio.get_running_loop()
    for at in range(0, len(body), PIECE):
        await send({"type": "http.response.body", "body": body[at : at + PIECE], "more_body": True})
        answer.read_at = loop.time()
    # Written when there is room again, which is when nearly all of it was read.
    await send({"type": "http.response.body", "body": b"", "more_body": more})
