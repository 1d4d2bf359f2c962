"""Handing a request on to the replica that serves its workspace, and its answer back, as it comes.

The request was let in here: its credential, its signature and its limits are checked. So that the other replica knows,
it carries a seal (`seals.py`) that only those who share POSTIL_SECRET can make; the other one looks at the credential
again, and takes the rest as done. Who listens at a replica's address need not be one any more: of an answer only what
an endpoint says is handed on, and one that contradicts itself is none.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from contextlib import suppress
from urllib.parse import urlsplit

from postil.core import limits
from postil.surfaces.http.seals import SEAL
from postil.wire.transports.http.asked import Asked
from postil.wire.transports.http.headers import SESSION

MOVED = b"x-postil-moved"
"""Said by a replica that does not serve the workspace any more: it did nothing."""
CONNECT = 3.0
LOOK_EVERY = 0.5
"""Seconds after which a replica that does not answer is looked at: whether it still serves the workspace."""
_NOT_SENT = frozenset({
    b"connection", b"keep-alive", b"transfer-encoding", b"te", b"upgrade", b"trailer", b"expect", b"host",
    b"content-length", b"origin", SEAL,
})  # fmt: skip
_SAID = frozenset({
    b"content-type", b"content-length", b"cache-control", b"x-accel-buffering", b"allow", b"retry-after",
    b"www-authenticate", b"accept-encoding", SESSION,
})  # fmt: skip
"""Headers of an endpoint's answer. The replica that hands it on adds its own."""
_VALUE = re.compile(rb"[\t\x20-\x7e\x80-\xff]*")


class PeerGone(Exception):
    """The other replica gave no answer."""

    def __init__(self, *, sent: bool, started: bool = False) -> None:
        super().__init__()
        self.sent = sent
        """Whether it may have had the request."""
        self.started = started
        """Whether a part of its answer was handed on already."""


async def forward(
    address: str, seal: bytes, method: str, path: str, asked: Asked, serves_still: Callable[[], Awaitable[bool]]
) -> None:
    """Send the sealed request to the replica at this address and hand its answer on. Raises PeerGone."""
    where = urlsplit(address)
    try:
        async with asyncio.timeout(CONNECT):
            port = where.port or (443 if where.scheme == "https" else 80)
            tls = True if where.scheme == "https" else None
            reader, writer = await asyncio.open_connection(where.hostname, port, ssl=tls, limit=limits.HEAD)
    except (OSError, TimeoutError):
        raise PeerGone(sent=False) from None
    left = asyncio.ensure_future(_wait_for_end(asked))
    started = False
    try:
        lines = [f"{method} {path} HTTP/1.1\r\nhost: {where.netloc}\r\nconnection: close\r\n".encode()]
        lines += [b"%s: %s\r\n" % pair for pair in asked.headers.items() if pair[0] not in _NOT_SENT]
        lines.append(b"%s: %s\r\ncontent-length: %d\r\n\r\n" % (SEAL, seal, len(asked.body)))
        writer.write(b"".join(lines) + asked.body)
        head = asyncio.ensure_future(_read_head(reader))
        while not head.done():
            await asyncio.wait([head, left], timeout=LOOK_EVERY, return_when=asyncio.FIRST_COMPLETED)
            if left.done():
                head.cancel()
                return  # the client has gone: closing the connection tells the other replica
            if not head.done() and not await serves_still():
                head.cancel()
                raise PeerGone(sent=True)
        status, headers = head.result()
        if any(name == MOVED for name, _ in headers):
            raise PeerGone(sent=False)
        size = _find_size(headers, status)
        kept = [pair for pair in headers if pair[0] in _SAID]
        await asked.send({"type": "http.response.start", "status": status, "headers": [*kept, *asked.carried]})
        started = True
        await _hand_on(reader, size, asked, left)
    except (OSError, EOFError, ValueError, asyncio.LimitOverrunError):
        raise PeerGone(sent=True, started=started) from None
    finally:
        left.cancel()
        writer.close()
        with suppress(OSError):
            await asyncio.shield(asyncio.ensure_future(_closed(writer)))


async def _closed(writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        await writer.wait_closed()


async def _wait_for_end(asked: Asked) -> None:
    while (await asked.receive())["type"] != "http.disconnect":
        pass


async def _read_head(reader: asyncio.StreamReader) -> tuple[int, list[tuple[bytes, bytes]]]:
    first, *lines = (await reader.readuntil(b"\r\n\r\n")).split(b"\r\n")
    pairs = (line.partition(b":") for line in lines if line)
    status = _read_size(first.partition(b" ")[2][:3], 10)
    if not 200 <= status < 600 or 300 <= status < 400:  # no replica leads elsewhere, and nothing else ends a request
        raise ValueError
    headers = [(name.strip().lower(), value.strip()) for name, _, value in pairs]
    if not all(_VALUE.fullmatch(value) for _, value in headers):
        raise ValueError
    return status, headers


def _find_size(headers: list[tuple[bytes, bytes]], status: int) -> int | None:
    """Returns how long the body is; None where it says so itself. Raises ValueError where there are two answers."""
    lengths = [value for name, value in headers if name == b"content-length"]
    codings = [value.lower() for name, value in headers if name == b"transfer-encoding"]
    if len(lengths) + len(codings) > 1 or codings not in ([], [b"chunked"]):
        raise ValueError
    if codings:
        return None
    size = _read_size(lengths[0], 10) if lengths else 0
    return size if status != 204 else 0


def _read_size(digits: bytes, base: int) -> int:
    """Returns a number that is nothing but digits. Raises ValueError: of -1 bytes a reader would read without end."""
    if not digits.isalnum():
        raise ValueError
    return int(digits, base)


async def _hand_on(reader: asyncio.StreamReader, size: int | None, asked: Asked, left: asyncio.Future[None]) -> None:
    """Hand the body on, piece by piece, until its end or until the client has gone."""
    if size is None:
        while not left.done() and (size := _read_size((await reader.readuntil(b"\n")).partition(b";")[0].strip(), 16)):
            await _copy(reader, size, asked, left)
            await reader.readexactly(2)
    else:
        await _copy(reader, size, asked, left)
    await asked.send({"type": "http.response.body", "body": b"", "more_body": False})


async def _copy(reader: asyncio.StreamReader, size: int, asked: Asked, left: asyncio.Future[None]) -> None:
    while size and not left.done():
        piece = await reader.read(min(size, 65536))
        if not piece:
            raise EOFError
        size -= len(piece)
        await asked.send({"type": "http.response.body", "body": piece, "more_body": True})
