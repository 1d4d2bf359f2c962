"""Answers on their way: a large one goes in pieces, each when its client has read those before, and all are bounded.

What is written to a connection at once lies in memory until the client reads it, after the call has ended and its place
was given back: a client that reads nothing would hold as many answers as it may ask for.
"""

from __future__ import annotations

from collections.abc import Generator, MutableMapping
from contextlib import contextmanager
from typing import Any

from postil.core import codes, limits
from postil.wire.protocol import jsonrpc
from postil.wire.transports.http.asked import Send, respond
from postil.wire.transports.http.body import ClientLeft

PIECE = 64 * 1024
"""What is written at once; smaller answers are not counted."""
FULL = "Too much of what you asked for is unread: read the answers that are on their way, then ask again"
Message = MutableMapping[str, Any]


class Unread:
    """The bytes of large answers that clients have still to read: of all callers, and of one."""

    def __init__(self, total: int = limits.ANSWERS, of_one: int = limits.ANSWERS_OF_ONE) -> None:
        self._total, self._of_one = total, of_one
        self._held: dict[str, int] = {}
        self._sum = 0

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
            with self._hold(caller, len(body)) as granted:
                if granted:
                    await _send_in_pieces(send, start, body, message.get("more_body", False))
                    return
            if start is None:
                raise ClientLeft  # in the middle of a stream: its session, if any, keeps the answer
            refused = {"status": 503, "message": FULL, "retry_after": 1}
            frame = jsonrpc.encode_error(jsonrpc.find_id_at_start(body[:4096]), codes.SERVER_ERROR, FULL, refused)
            await respond(send, 503, frame, [(b"retry-after", b"1")])

        return in_pieces

    @contextmanager
    def _hold(self, caller: str, size: int) -> Generator[bool]:
        """Count an answer until it is read. Who has nothing unread may have one of any size."""
        mine = self._held.get(caller, 0)
        if mine + size > max(self._of_one, size if not mine else 0) or (self._sum and self._sum + size > self._total):
            yield False
            return
        self._held[caller] = mine + size
        self._sum += size
        try:
            yield True
        finally:
            self._sum -= size
            self._held[caller] -= size
            if not self._held[caller]:
                del self._held[caller]


async def _send_in_pieces(send: Send, start: Message | None, body: bytes, more: bool) -> None:
    if start is not None:
        await send(start)
    for at in range(0, len(body), PIECE):
        await send({"type": "http.response.body", "body": body[at : at + PIECE], "more_body": True})
    # Written when there is room again, which is when nearly all of it was read.
    await send({"type": "http.response.body", "body": b"", "more_body": more})
