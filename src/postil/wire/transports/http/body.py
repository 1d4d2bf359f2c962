"""Reading the body of an HTTP request: bounded in size, refused early, never held twice."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator, MutableMapping
from contextlib import contextmanager
from typing import Any, TypeAlias

from postil.wire.transports.http.headers import Headers

Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]

LINGER = 2.0
PEEK = 1.0
SMALL = 64 * 1024
"""Bytes of a body that is read at once; a larger one in turns."""
UNCOUNTED = 4 * 1024
"""Bytes of a body for which nobody asks whether there is room: most calls."""
LITTLE = 64 * 1024
"""Bytes of bodies of one sender that are taken while others hold what all may: an ordinary call, an ordinary event."""
MOST_LINGERED = 256 * 1024 * 1024


class TooLarge(Exception):
    """The body is larger than what is taken here; `begun` says whether some of it was read before that was known."""

    def __init__(self, *, begun: bool = True) -> None:
        super().__init__()
        self.begun = begun


class ClientLeft(Exception):
    """The client went away in the middle of its body."""


class TooMany(Exception):
    """So many bodies are on their way that this one has to wait."""


class Budget:
    """How many bytes of bodies may be on their way at once: of all senders, and of one.

    A few senders that hold all of it do not shut out the others: for who holds little there is a quarter more.
    """

    def __init__(self, total: int, of_one: int, little: int = LITTLE) -> None:
        self._total, self._of_one, self._little = total, of_one, little
        self._held: dict[str, int] = {}
        self._sum = 0

    @contextmanager
    def hold(self, sender: str, headers: Headers, most: int) -> Generator[None]:
        """Count what the sender announced, or `most` without an announcement. Raises TooMany."""
        announced = headers.get(b"content-length", b"")
        size = min(int(announced), most) if announced.isdigit() and len(announced) < 16 else most
        mine = self._held.get(sender, 0) + size
        total = self._total + (self._total // 4 if mine <= self._little else 0)
        if mine > self._of_one or self._sum + size > total:
            raise TooMany
        self._held[sender] = mine
        self._sum += size
        try:
            yield
        finally:
            self._sum -= size
            self._held[sender] -= size
            if not self._held[sender]:
                del self._held[sender]


async def read_body(receive: Receive, headers: Headers, most: int) -> bytes:
    """Returns the whole body. Raises TooLarge as soon as that is known: where the length was announced, unread."""
    announced = headers.get(b"content-length")
    if announced is not None and (len(announced) > 15 or not announced.isdigit() or int(announced) > most):
        raise TooLarge(begun=False)
    pieces: list[bytes] = []
    size = 0
    while (message := await receive())["type"] == "http.request":
        pieces.append(message.get("body", b""))
        size += len(pieces[-1])
        if size > most:
            raise TooLarge
        if not message.get("more_body"):
            return b"".join(pieces)
    raise ClientLeft


class Watched:
    """A `receive` that remembers whether the body has ended: after that only the end of the connection comes."""

    def __init__(self, receive: Receive) -> None:
        self._receive, self.has_ended = receive, False

    async def __call__(self) -> MutableMapping[str, Any]:
        message = await self._receive()
        self.has_ended = message["type"] != "http.request" or not message.get("more_body")
        return message


def has_more(headers: Headers) -> bool:
    """Returns whether the client is sending more than what is read along with the head."""
    length = headers.get(b"content-length", b"")
    return b"transfer-encoding" in headers or (length.isdigit() and int(length) > SMALL)


async def peek(receive: Receive, headers: Headers, budget: Budget) -> tuple[bytes, bool]:
    """Returns the beginning of a body that is refused unread, and whether it is all.

    Of a small one what comes within a moment, of others the first piece; nothing where many are looked into.
    """
    body = b""
    try:
        with budget.hold("", headers, LITTLE):
            async with asyncio.timeout(PEEK):
                while True:
                    message = await receive()
                    body += message.get("body", b"")
                    if message["type"] != "http.request" or not message.get("more_body"):
                        return body, True
                    if has_more(headers):
                        return body, False
    except (TimeoutError, TooMany):
        return body, False


async def linger(receive: Receive) -> None:
    """Read on for a moment and throw away: closing with unread bytes would reset the connection, and the client that is
    still sending would never see why it was refused."""
    size = 0
    try:
        async with asyncio.timeout(LINGER):
            while size < MOST_LINGERED:
                more = await _drop(receive)
                if not more:
                    return
                size += more
    except TimeoutError:
        return


async def _drop(receive: Receive) -> int:
    """Returns the size of the next piece, which nobody holds while the one after it is waited for; 0 for the last."""
    message = await receive()
    is_last = message["type"] != "http.request" or not message.get("more_body")
    return 0 if is_last else max(1, len(message.get("body", b"")))
