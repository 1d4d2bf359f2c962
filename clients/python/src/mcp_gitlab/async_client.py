"""The asynchronous client: the same methods, awaited, over asyncio's own streams. No thread is started.

Speaks as much of HTTP/1.1 as a server of JSON-RPC needs: an answer by its length, in chunks, or until the end.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from mcp_gitlab.client import LONGEST_IDLE
from mcp_gitlab.errors import McpGitlabError
from mcp_gitlab.operations import Operations
from mcp_gitlab.outgoing import Outgoing
from mcp_gitlab.results import Result
from mcp_gitlab.wire import LARGEST_ANSWER, Answer, Call, Pending, PendingBatch, Sent, open_envelope

if TYPE_CHECKING:
    import ssl

LARGEST_HEAD = 64 * 1024


class _BadAnswer(Exception):
    """What came is no HTTP answer that we read."""


class _Closed(Exception):
    """The connection ended before an answer began."""


class _Connection(NamedTuple):
    """One open connection."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter


class _Head(NamedTuple):
    """Status and headers of an answer, with lower-case names."""

    status: int
    headers: dict[str, str]


class AsyncMcpGitlabClient(Operations[Awaitable[Result]]):
    """An asynchronous client: the same methods, awaited. One client belongs to one event loop."""

    def __init__(
        self,
        endpoint: str,
        token: str,
        *,
        timeout: float = 60.0,
        headers: Mapping[str, str] | None = None,
        secret: str | bytes | None = None,
        timestamp: bool = True,
        tls: ssl.SSLContext | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._outgoing = Outgoing(endpoint, token, headers, secret, timestamp=timestamp, tls=tls)
        self._timeout, self._sleep = timeout, sleep
        self._numbers = itertools.count(1)
        self._idle: list[tuple[_Connection, float]] = []

    def __repr__(self) -> str:
        return f"AsyncMcpGitlabClient(host={self._outgoing.address.host!r})"

    def call(
        self, method: str, params: dict[str, Any], *, headers: Mapping[str, str] | None = None
    ) -> Awaitable[Result]:
        """Call any method of the server and give its result."""
        return self._call(method, params, headers)

    async def _call(self, method: str, params: dict[str, Any], headers: Mapping[str, str] | None) -> Result:
        return open_envelope(await self.request(method=method, params=params, headers=headers))

    async def request(
        self,
        request: dict[str, Any] | None = None,
        *,
        method: str = "",
        params: Any = None,
        headers: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        """Send one request and give the whole envelope; takes `{"method": …, "params": …}` too."""
        asked = request or {"method": method, "params": params}
        pending = Pending(Call(str(asked["method"]), dict(asked.get("params") or {})), next(self._numbers))
        await self._settle(pending, headers)
        return pending.envelope

    async def batch(
        self, calls: Iterable[Call | tuple[str, Mapping[str, Any]]], *, headers: Mapping[str, str] | None = None
    ) -> list[Result | McpGitlabError]:
        """Send several calls at once and give their answers in order; an error stands in the place of its call."""
        pending = PendingBatch(calls, 1)
        if len(pending):
            await self._settle(pending, headers)
        return pending.answers()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        kept = [connection.writer for connection, _ in self._idle]
        self.close()
        await asyncio.gather(*(writer.wait_closed() for writer in kept), return_exceptions=True)

    def close(self) -> None:
        """Close the kept connections."""
        while self._idle:
            self._idle.pop()[0].writer.close()

    async def _settle(self, pending: Pending | PendingBatch, headers: Mapping[str, str] | None) -> None:
        while (wait := pending.take(await self._post(pending.send(), headers))) is not None:
            await self._sleep(wait)

    async def _post(self, sent: Sent, extra: Mapping[str, str] | None) -> Answer:
        head = self._encode_head(sent.body, extra)
        connection, is_kept = await self._connect()
        try:
            async with asyncio.timeout(self._timeout):
                connection.writer.write(head + sent.body)
                await connection.writer.drain()
                answer, is_open = await _read_answer(connection.reader)
        except (OSError, EOFError, asyncio.LimitOverrunError, _BadAnswer, _Closed) as error:
            connection.writer.close()
            # A kept connection may have been closed by the server meanwhile. Only a read is asked anew: what became
            # of a write is not known.
            if is_kept and sent.only_reads and isinstance(error, ConnectionError | _Closed):
                return await self._post(sent, extra)
            why = TimeoutError("timed out") if isinstance(error, TimeoutError) else error
            raise self._outgoing.describe_silence(why, is_known=sent.only_reads) from error
        except BaseException:  # a call that was given up: its answer must not be read as another's
            connection.writer.close()
            raise
        if is_open:
            self._idle.append((connection, time.monotonic()))
        else:
            connection.writer.close()
        return answer

    def _encode_head(self, body: bytes, extra: Mapping[str, str] | None) -> bytes:
        address = self._outgoing.address
        lines = [f"POST {address.path} HTTP/1.1", f"Host: {address.named}", f"Content-Length: {len(body)}"]
        lines += [f"{name}: {value}" for name, value in self._outgoing.make_headers(body, extra).items()]
        return "\r\n".join([*lines, "", ""]).encode("latin-1")

    async def _connect(self) -> tuple[_Connection, bool]:
        """Return a connection that nobody uses, and whether it was kept from an earlier call."""
        while self._idle:
            kept, since = self._idle.pop()
            if time.monotonic() - since <= LONGEST_IDLE and not kept.reader.at_eof():
                return kept, True
            kept.writer.close()
        address = self._outgoing.address
        try:
            async with asyncio.timeout(self._timeout):
                return _Connection(
                    *await asyncio.open_connection(
                        address.host, address.port, ssl=self._outgoing.tls, limit=LARGEST_HEAD
                    )
                ), False
        except OSError as error:
            raise self._outgoing.describe_silence(error, is_known=True) from error


async def _read_answer(reader: asyncio.StreamReader) -> tuple[Answer, bool]:
    """Return the answer, and whether the connection can be used again."""
    head = await _read_head(reader)
    while 100 <= head.status < 200:  # something before the answer
        head = await _read_head(reader)
    body, has_end = await _read_body(reader, head)
    is_open = has_end and head.headers.get("connection", "").lower() != "close"
    return Answer(head.status, body, head.headers.get("retry-after")), is_open


async def _read_head(reader: asyncio.StreamReader) -> _Head:
    try:
        raw = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError as error:
        if not error.partial:
            raise _Closed("it closed the connection") from None
        raise
    except asyncio.LimitOverrunError:
        raise _BadAnswer(f"the head of its answer has more than {LARGEST_HEAD // 1024} KiB") from None
    first, *lines = raw.decode("latin-1").rstrip("\r\n").split("\r\n")
    words = first.split(" ", 2)
    if not words[0].startswith("HTTP/1.") or len(words) < 2 or not (words[1].isdecimal() and len(words[1]) == 3):
        raise _BadAnswer("its answer is no HTTP/1.1")
    named = (line.partition(":") for line in lines)
    return _Head(int(words[1]), {name.lower(): value.strip() for name, _, value in named})


async def _read_body(reader: asyncio.StreamReader, head: _Head) -> tuple[bytes, bool]:
    """Return the body, and whether its end was marked."""
    if head.status in (204, 304):
        return b"", True
    if "transfer-encoding" in head.headers:
        if head.headers["transfer-encoding"].lower() != "chunked":
            raise _BadAnswer("its answer has a transfer encoding that was not asked for")
        return await _read_chunks(reader), True
    length = head.headers.get("content-length")
    if length is None:
        body = b""
        while piece := await reader.read(1 << 16):
            body += piece
            _check_size(len(body))
        return body, False
    if not length.isdecimal() or len(length) > 12:
        raise _BadAnswer("its answer has no length that can be read")
    _check_size(int(length))
    return await reader.readexactly(int(length)), True


async def _read_chunks(reader: asyncio.StreamReader) -> bytes:
    pieces: list[bytes] = []
    size = 0
    while True:
        line = (await reader.readuntil(b"\r\n")).partition(b";")[0].strip()
        try:
            length = int(line, 16)
        except ValueError:
            raise _BadAnswer("a chunk of its answer has no length that can be read") from None
        size += length
        _check_size(size)
        if length:
            pieces.append(await reader.readexactly(length))
            await reader.readexactly(2)
            continue
        while await reader.readuntil(b"\r\n") != b"\r\n":  # trailers mean nothing here
            pass
        return b"".join(pieces)


def _check_size(size: int) -> None:
    if not 0 <= size <= LARGEST_ANSWER:
        raise _BadAnswer(f"its answer has more than {LARGEST_ANSWER // 2**20} MiB")
