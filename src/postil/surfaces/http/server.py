"""Running an ASGI application on uvicorn, with what uvicorn leaves out: patience that ends, and a graceful end.

A connection that does not finish its headers, or its body, in time is closed; heads are bounded; on a signal the
application ends its streams first and the process is gone within five seconds.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import socket
from collections.abc import Generator
from typing import Any, Protocol, cast

import httptools
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from postil.core import limits
from postil.wire.transports.http.asked import Receive, Scope, Send
from postil.wire.transports.http.headers import MOST_HEADERS

HEADER_PATIENCE = 10.0
BODY_PATIENCE = 60.0
READ_PATIENCE = 120.0
"""Seconds in which a client reads some of what waits for it."""
READ_AT_LEAST = 16 * 1024
"""Bytes of it: less is no reading."""
LARGEST_HEAD = limits.HEAD
ALWAYS_TAKEN = 4 * 1024
"""Bytes of a head that is waited for, and of a body that is taken, even where many others are."""
AROUND, AROUND_EACH = 1024 * 1024, 8
"""Bytes that may stand around the pieces of one body, and for each byte of it: a piece of one byte takes six."""
BUSY = "Too many requests are on their way: send it again"
MOST_QUEUED = 8
"""Requests that may wait on one connection behind the one that is served. Nearly no client sends a second."""
DRAIN = 3.0
LAST_WORDS = 4.0


class TooManyQueued(Exception):
    """A client sent more requests than may wait."""


class Application(Protocol):
    """What is served: ASGI, and an end."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None: ...

    async def close(self, patience: float) -> None:
        """End streams with their results, give calls in flight some seconds."""
        ...


class Arriving:
    """How many bytes of requests there are, on all connections of a server, at which nobody has looked yet."""

    def __init__(self) -> None:
        self.heads = self.bodies = 0


class ArrivingOfOne:
    """How many of them came over one connection."""

    def __init__(self, of: Arriving) -> None:
        self._of, self._head, self._body = of, 0, 0
        self.requests: list[RequestResponseCycle] = []
        """Those whose bodies may wait: some stand behind the one that is served."""
        self.around = 0
        """Bytes in which the last request came, less what may stand around those of its body."""

    @property
    def counts(self) -> bool:
        """Whether there are any."""
        return bool(self._head or self._body)

    def set_head(self, size: int) -> bool:
        """Count a head that has not ended. Returns whether it may stay."""
        self._of.heads += size - self._head
        self._head = size
        return size <= ALWAYS_TAKEN or self._of.heads <= limits.HEADS

    def count_bodies(self) -> bool:
        """Count what waits of all bodies. Returns whether it may stay."""
        return self._set_body(sum([len(each.body) for each in self.requests if not each.response_complete]))

    def _set_body(self, size: int) -> bool:
        self._of.bodies += size - self._body
        self._body = size
        return size <= ALWAYS_TAKEN or self._of.bodies <= limits.UNSEEN

    def give_back(self) -> None:
        """Count nothing of this connection."""
        self.set_head(0)
        self._set_body(0)


class PatientProtocol(HttpToolsProtocol):
    """One connection whose head has a deadline and a size. The server's tick looks at the deadlines."""

    arriving = Arriving()
    """Each server has its own."""
    _has_trailers: bool = False
    _hears: bool = True
    """Whether what comes is read: not after more requests than are queued."""

    waiting_since: float | None = None
    head_received: bool = False
    _head_size: int = 0
    """Bytes in which the head came: never less than its size."""
    _chunk: int = 0
    _unread: int = 0
    """Bytes that waited for the client when it was last seen to read."""
    _read_at: float = 0.0
    _begun: RequestResponseCycle | None = None
    """The request whose body is being read."""
    _wishes: bool = False
    """Whether the head that has just come wishes for another protocol."""

    def connection_made(self, transport: asyncio.Transport) -> None:
        self.waiting_since = self.loop.time()
        self._arrived = ArrivingOfOne(self.arriving)
        super().connection_made(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self._arrived.give_back()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if not self._hears:
            return
        self._chunk = len(data)
        self._head_size += len(data)
        self._arrived.around += len(data)
        self._unset_keepalive_if_required()
        try:
            self._parse(data)
        except httptools.HttpParserError:
            if self._hears:
                self.send_400_response("Invalid HTTP request received.")
        # Of a body only the pieces count nothing here: what stands between them (the parser holds it) and behind it
        # is bounded like a head.
        is_coming = self.waiting_since is not None and not self.transport.is_closing()
        if is_coming and self._head_size > LARGEST_HEAD:
            self._refuse(431, "The headers are too large")
        elif is_coming and self._arrived.around > AROUND:
            self._refuse(413, "The pieces of the body are too small for what stands around them")
        elif is_coming and not self.head_received:
            if len(self.headers or ()) > MOST_HEADERS:
                self._refuse(431, "The headers are too many")
            elif not self._arrived.set_head(self._head_size):
                self._refuse(503, BUSY)

    def _parse(self, data: bytes) -> None:
        """Hand on what came; a head that wishes for another protocol is handed on again, without its wish.

        Nothing obliges a server to follow it, but the parser takes what follows such a head for the other protocol's.
        Java's HttpClient, and with it the Java SDK of MCP, wishes for HTTP/2 in requests to http:// addresses.
        """
        left = memoryview(data)
        while left and not self.transport.is_closing():
            try:
                self.parser.feed_data(left)
            except httptools.HttpParserUpgrade as wish:
                left = left[int(wish.args[0]) :]
                if not self.transport.is_closing():
                    head = self._head_without_wish()
                    self.parser = httptools.HttpRequestParser(self)  # the old one may have been told to close
                    self.parser.set_dangerous_leniencies(lenient_data_after_close=True)  # as uvicorn makes it
                    self.parser.feed_data(head)
            else:
                return

    def _head_without_wish(self) -> bytes:
        first = b"%s %s HTTP/%s" % (
            self.parser.get_method(), self.url, self.parser.get_http_version().encode("ascii")
        )  # fmt: skip
        lines = [b"%s: %s" % each for each in self.headers if each[0] != b"upgrade"]
        return b"\r\n".join([first, *lines, b"", b""])

    def on_message_begin(self) -> None:
        if len(self.pipeline) >= MOST_QUEUED:
            # The parser stops here; those that came before are answered, and then the connection is closed.
            self._hears, self.waiting_since, self.cycle.keep_alive = False, None, False
            raise TooManyQueued
        self._wishes = self._has_trailers = False
        self.waiting_since = self.loop.time()
        self.head_received = False
        self._head_size = self._arrived.around = self._chunk
        self._begun = None
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        if self.head_received:
            self._has_trailers = True  # none is taken, so none is kept
        elif len(self.headers) <= MOST_HEADERS:  # as uvicorn's, which every header would have to call
            name = name.lower()
            if name == b"expect" and value.lower() == b"100-continue":
                self.expect_100_continue = True
            self.headers.append((name, value))

    def on_headers_complete(self) -> None:
        self.head_received = True
        if self._arrived.counts:
            self._arrived.set_head(0)
        size, self._head_size = self._head_size, 0
        if self.transport.is_closing():
            return
        # The absolute form names a host that would win over the Host header, and ASGI does not show it.
        if not self.url.startswith(b"/") or self.parser.get_method() == b"CONNECT":
            self._refuse(400, "Only paths are answered here")
        elif len(self.headers) > MOST_HEADERS or (
            size > LARGEST_HEAD // 2 and sum(len(n) + len(v) for n, v in self.headers) > LARGEST_HEAD
        ):
            self._refuse(431, "The headers are too large")
        elif self.parser.should_upgrade():
            self._wishes = True
        else:
            if self.cycle and self.cycle.response_complete:  # they are answered in turn: the others are, too
                self._arrived.requests.clear()
            super().on_headers_complete()
            self._begun = self.cycle
            self._arrived.requests.append(self._begun)

    def on_body(self, body: bytes) -> None:
        self._head_size = 0
        self._arrived.around -= AROUND_EACH * len(body)
        if self.transport.is_closing():
            return
        super().on_body(body)
        if len(self.cycle.body) > ALWAYS_TAKEN and not self._arrived.count_bodies():
            self.cycle.body.clear()
            self._refuse(503, BUSY)

    def look_again(self) -> None:
        """Count what waits of bodies now: who serves the requests has taken some of it."""
        if self._arrived.counts:
            self._arrived.count_bodies()

    def on_message_complete(self) -> None:
        if self._wishes:
            return
        self.waiting_since = None
        if self._has_trailers and not self.transport.is_closing():
            self._refuse(400, "Trailers are not taken")
        elif not self.transport.is_closing():
            super().on_message_complete()

    def _refuse(self, status: int, message: str) -> None:
        """Say why, and close. Who has an answer to this request, or still reads one, would take it for another's."""
        if not self.head_received and self.headers:
            self.headers.clear()  # nobody looks at them, and the connection may close slowly
        self._arrived.give_back()
        cycle = self.cycle  # none before the first request
        if cycle and cycle.response_started and (cycle is self._begun or not cycle.response_complete):
            self.transport.close()
            return
        body = message.encode("ascii")
        head = f"HTTP/1.1 {status} Refused\r\ncontent-type: text/plain\r\ncontent-length: {len(body)}\r\n"
        self.transport.write(head.encode("ascii") + b"connection: close\r\n\r\n" + body)
        self.transport.close()

    def is_overdue(self, now: float) -> bool:
        """Returns whether this client has kept us waiting for too long."""
        patience = BODY_PATIENCE if self.head_received else HEADER_PATIENCE
        return self.waiting_since is not None and now - self.waiting_since > patience

    def is_unread(self, now: float) -> bool:
        """Returns whether this client has not read what was written to it for too long. Asked every second."""
        size = self.transport.get_write_buffer_size()
        if not size or size > self._unread or size <= self._unread - READ_AT_LEAST:
            self._unread, self._read_at = size, now
        return size > 0 and now - self._read_at > READ_PATIENCE


class HttpServer(uvicorn.Server):
    """uvicorn with deadlines, its own way to end, and no word in the log that is not ours."""

    def __init__(self, app: Application, **options: Any) -> None:
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
        logging.getLogger("uvicorn.asgi").setLevel(logging.CRITICAL)
        config = uvicorn.Config(
            app,
            http=type("Connections", (PatientProtocol,), {"arriving": Arriving()}),
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            backlog=2048,
            timeout_keep_alive=60,
            timeout_graceful_shutdown=int(LAST_WORDS),
            **options,
        )
        super().__init__(config)
        self._app = app
        self.ended_by = 0
        self.ready = asyncio.Event()
        """Set when connections are taken."""
        self._woken = asyncio.Event()

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        loop = asyncio.get_running_loop()
        caught: list[int] = []
        for number in (signal.SIGINT, signal.SIGTERM):
            try:
                loop.add_signal_handler(number, self.end, number)
                caught.append(number)
            except (ValueError, RuntimeError):  # not the main thread: the tests' server
                break
        try:
            yield
        finally:
            for number in caught:
                loop.remove_signal_handler(number)

    def end(self, signal_number: int = 0) -> None:
        """Begin the end; a second signal does not wait."""
        if self.should_exit and signal_number:
            self.force_exit = True
        self.ended_by = self.ended_by or signal_number
        self.should_exit = True
        self._woken.set()

    async def main_loop(self) -> None:
        self.ready.set()
        # As uvicorn's, but an order to end is heard at once, and half-open connections are looked at.
        tick = 0
        while not await self.on_tick(tick * 10):
            self._close_overdue()
            tick += 1
            try:
                async with asyncio.timeout(1.0):
                    await self._woken.wait()
            except TimeoutError:
                continue

    def _close_overdue(self) -> None:
        now = asyncio.get_running_loop().time()
        for connection in cast("list[PatientProtocol]", list(self.server_state.connections)):
            connection.look_again()
            if connection.is_overdue(now) or connection.is_unread(now):
                connection.transport.abort()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for listener in self.servers:
            listener.close()
        await self._app.close(DRAIN if not self.force_exit else 0.0)
        await super().shutdown(sockets)


def raise_file_limit() -> None:
    """Take as many file descriptors as the system allows: a connection is one."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        except (ValueError, OSError):
            return
