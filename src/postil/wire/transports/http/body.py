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


async def peek(receive: Receive, *, is_small: bool) -> tuple[bytes, bool]:
    """Returns the beginning of a body that is refused unread, and whether it is all.

    Of a small one what comes within a moment, of others the first piece.
    """
    body = b""
    try:
        async with asyncio.timeout(PEEK):
            while True:
                message = await receive()
                body += message.get("body", b"")
                if message["type"] != "http.request" or not message.get("more_body"):
                    return body, True
                if not is_small:
                    return body, False
    except TimeoutError:
        return body, False


async def linger(receive: Receive) -> None:
    """Read on for a moment and throw away: closing with unread bytes would reset the connection, and the client that is
    still sending would never see why it was refused."""
    size = 0
    try:
        async with asyncio.timeout(LINGER):
            while size < MOST_LINGERED:
                message = await receive()
                size += len(message.get("body", b""))
                if message["type"] != "http.request" or not message.get("more_body"):
                    return
    except TimeoutError:
        return
