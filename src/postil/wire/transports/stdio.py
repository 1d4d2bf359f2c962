"""MCP over stdin and stdout: one frame a line, nothing else ever on stdout.

Reads as fast as the client allows and no faster than it reads: a full set of calls in flight or a stalled reader stops
the reading. Ends on end of input (after answering what was read), on a signal, when stdout closes or the parent dies.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import select
import signal
import stat
import struct
import sys
import termios
import threading
from collections import deque
from typing import NoReturn

from postil.core.call import Caller
from postil.wire.protocol import jsonrpc
from postil.wire.runtime.runner import Connection, Runner
from postil.wire.runtime.watches import Watches
from postil.wire.server import Server
from postil.wire.transports.timeouts import Timeouts

DRAIN = 2.0
CHUNK = 1 << 18
MOST_UNWRITTEN = 1 << 20
HEARTBEAT = 1.0
"""Seconds between looks at whether the client still exists."""


def serve(server: Server, timeouts: Timeouts | None = None) -> NoReturn:
    """Serve one client on this process's stdin and stdout until it ends, then end the process with its status.

    Ends it at once: everything acknowledged is on disk, a thread that never ends must not keep the process alive, and
    the interpreter's own tear-down would cost every start 9 ms.
    """
    source, sink = _divert()
    status = asyncio.run(_serve(server, source, sink, timeouts))
    sys.stderr.flush()
    os._exit(status)


def _divert() -> tuple[int, int]:
    """Take stdin and stdout for frames; a stray print or a child process then reaches stderr instead."""
    source, sink = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    return source, sink


async def _serve(server: Server, source: int, sink: int, timeouts: Timeouts | None) -> int:
    connection = StdioConnection(server, source, sink, timeouts)
    try:
        return await connection.run()
    finally:
        connection.restore()


class Lines:
    """Splits bytes into lines of bounded length; what is too long is refused with its head and never held."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._size = 0
        self._head: bytes | None = None

    def feed(self, data: bytes) -> list[bytes | jsonrpc.Invalid]:
        """Returns the lines that this chunk completes; for those that are too long, their refusals."""
        lines: list[bytes | jsonrpc.Invalid] = []
        *complete, rest = data.split(b"\n")
        for piece in complete:
            self._add(piece)
            lines.append(self._take())
        self._add(rest)
        return [line for line in lines if line != b""]

    def finish(self) -> list[bytes | jsonrpc.Invalid]:
        """Returns what is left at the end of input: a last line without its newline."""
        last = self._take()
        return [] if last == b"" else [last]

    def _add(self, piece: bytes) -> None:
        if self._head is not None or not piece:
            return
        self._pieces.append(piece)
        self._size += len(piece)
        if self._size > jsonrpc.LARGEST_FRAME + 1:  # one more for a carriage return
            self._head = b"".join(self._pieces)[:4096]
            self._pieces.clear()

    def _take(self) -> bytes | jsonrpc.Invalid:
        head, line = self._head, b"".join(self._pieces)
        self._pieces, self._size, self._head = [], 0, None
        return jsonrpc.refuse_too_large(head) if head is not None else line.strip(b"\r\n \t")


class StdioConnection:
    """One client on two file descriptors."""

    def __init__(self, server: Server, source: int, sink: int, timeouts: Timeouts | None = None) -> None:
        self.timeouts = timeouts
        self._heard = False
        self.loop = asyncio.get_running_loop()
        self.source, self.sink = source, sink
        self.watches = Watches(server)
        caller = Caller(client=f"stdio-{os.getpid()}-{os.urandom(4).hex()}", surface="stdio")
        like = Connection(caller, caller.client, push=self.send, on_room=self._wake, is_read=self._is_read)
        self.runner = Runner(server, self.watches, like)
        self._lines = Lines()
        self._backlog: deque[bytes | jsonrpc.Invalid] = deque()
        self._unwritten: list[bytes] = []
        self._unwritten_size = 0
        self._flush_due = False
        self._writer_waits = False
        self._broken = False
        self._input_ended = False
        self._reading = False
        self._room = threading.Event()
        self._reader = threading.Thread(target=self._read_blocking, name="postil-stdin", daemon=True)
        self._over: asyncio.Future[int] = self.loop.create_future()
        self._last_heard = self.loop.time()
        self._selectable = _is_pipe(source)
        self._sink_flags = fcntl.fcntl(sink, fcntl.F_GETFL)
        self._sink_is_pipe = _is_pipe(sink)
        if self._sink_is_pipe:
            fcntl.fcntl(sink, fcntl.F_SETFL, self._sink_flags | os.O_NONBLOCK)

    async def run(self) -> int:
        """Serve until the end. Returns the exit status."""
        for number in (signal.SIGINT, signal.SIGTERM):
            self.loop.add_signal_handler(number, self._end, 128 + number)
        parent = os.getppid()
        heartbeat = self.loop.create_task(self._watch_client(parent))
        waiting = self.loop.create_task(self._watch_timeouts(self.timeouts)) if self.timeouts else None
        self._resume()
        try:
            status = await self._over
        finally:
            heartbeat.cancel()
            if waiting is not None:
                waiting.cancel()
            self._pause()
        await self._wind_up(orderly=status == 0)
        return status

    def restore(self) -> None:
        """Leave the descriptors as they were found."""
        if self._sink_is_pipe:
            fcntl.fcntl(self.sink, fcntl.F_SETFL, self._sink_flags)

    # -- reading --------------------------------------------------------------------------------------------------

    def _resume(self) -> None:
        if self._input_ended:
            return
        if not self._reading:
            self._reading = True
            if self._selectable:
                self.loop.add_reader(self.source, self._readable)
            elif not self._reader.is_alive():
                self._reader.start()
        self._room.set()

    def _pause(self) -> None:
        if self._reading and self._selectable:
            self._reading = False
            self.loop.remove_reader(self.source)

    def _readable(self) -> None:
        try:
            data = os.read(self.source, CHUNK)
        except OSError:
            data = b""
        self._fed(data)

    def _read_blocking(self) -> None:
        """Read from a file or a terminal, which no selector can wait for."""
        while True:
            self._room.wait()
            self._room.clear()
            try:
                data = os.read(self.source, CHUNK)
            except OSError:
                data = b""
            try:
                self.loop.call_soon_threadsafe(self._fed, data)
            except RuntimeError:  # the loop has ended
                return
            if not data:
                return

    def _fed(self, data: bytes) -> None:
        if data:
            self._backlog.extend(self._lines.feed(data))
        else:
            self._pause()
            self._input_ended = True
            self._backlog.extend(self._lines.finish())
        self._pump()

    def _pump(self) -> None:
        """Hand over frames while there is room, then decide whether to read on."""
        session = self.runner.session
        while self._backlog and not self._is_full() and not session.ended:
            line = self._backlog.popleft()
            if isinstance(line, bytes):
                self._heard, self._last_heard = True, self.loop.time()
                if self.timeouts is not None:
                    self.timeouts.tell_heard(line)
                self.runner.receive(line, self)
            else:
                self.answer(jsonrpc.encode_error(line.id, line.code, line.message), line.code)
        if session.ended or (self._input_ended and not self._backlog):
            self._end(0)
        elif self._backlog or self._is_full():
            self._pause()  # a call that ends, or a client that reads, wakes the pump again
        else:
            self._resume()

    def _is_full(self) -> bool:
        return self.runner.session.is_full or self._unwritten_size > MOST_UNWRITTEN

    def _wake(self) -> None:
        if not self._over.done():
            self.loop.call_soon(self._pump)

    # -- writing --------------------------------------------------------------------------------------------------

    def send(self, frame: bytes) -> None:
        """Write a frame that is no answer."""
        self.answer(frame, 0)

    def answer(self, frame: bytes, code: int) -> None:
        """Write an answer, after what was written before it."""
        if self._broken:
            return
        if self.timeouts is not None:
            self.timeouts.tell_sent(frame, code)
        self._unwritten.append(frame)
        self._unwritten.append(b"\n")
        self._unwritten_size += len(frame) + 1
        if not self._flush_due and not self._writer_waits:
            self._flush_due = True
            self.loop.call_soon(self._flush)

    def end(self) -> None:
        """A request that was given up: nothing is written."""

    def tell(self, name: str, value: str) -> None:
        """Stdio has no place beside an answer: nothing is written."""

    def _flush(self) -> None:
        self._flush_due = False
        data = memoryview(b"".join(self._unwritten))
        self._unwritten.clear()
        try:
            while data:
                written = os.write(self.sink, data)
                data = data[written:]
        except BlockingIOError:
            pass
        except OSError:
            self._broken = True
            self._end(0)
            data = memoryview(b"")
        was_full = self._unwritten_size > MOST_UNWRITTEN
        self._unwritten_size = len(data)
        if data:
            self._unwritten.append(bytes(data))
            if not self._writer_waits:
                self._writer_waits = True
                self.loop.add_writer(self.sink, self._flush)
        elif self._writer_waits:
            self._writer_waits = False
            self.loop.remove_writer(self.sink)
        if was_full and not self._is_full():
            self._wake()

    # -- the end ----------------------------------------------------------------------------------------------------

    def _end(self, status: int) -> None:
        if not self._over.done():
            self._over.set_result(status)

    async def _watch_client(self, parent: int) -> None:
        poll = select.poll()
        poll.register(self.sink, 0)
        while True:
            await asyncio.sleep(HEARTBEAT)
            if self._sink_is_pipe and any(event & (select.POLLERR | select.POLLNVAL) for _, event in poll.poll(0)):
                self._broken = True
                self._end(0)
            if os.getppid() != parent:
                self._end(0)

    async def _watch_timeouts(self, timeouts: Timeouts) -> None:
        """End when the client keeps silent for longer than was asked to wait."""
        timeouts.tell("info", "serving on stdin and stdout")
        while timeouts.handshake or timeouts.idle:
            busy = bool(self.runner.running or self._backlog)
            why = timeouts.reason_to_end(self.loop.time() - self._last_heard, heard=self._heard, busy=busy)
            if why:
                timeouts.tell("error" if not self._heard else "info", why)
                self._end(0 if self._heard else 1)
                return
            wait = (timeouts.idle if self._heard else timeouts.handshake) or timeouts.handshake or timeouts.idle
            due = self._last_heard + wait - self.loop.time()
            await asyncio.sleep(min(max(due, 0.01), HEARTBEAT))

    async def _wind_up(self, *, orderly: bool) -> None:
        await self.runner.close(DRAIN if orderly and not self._broken else 0.2)
        deadline = self.loop.time() + (DRAIN if orderly else 0.2)
        while self._unwritten and not self._broken and self.loop.time() < deadline:
            self._flush()
            await asyncio.sleep(0.002)
        if self.runner.unconfirmed:
            await self.runner.report_delivery(reached=orderly and await self._was_read(deadline))
        self.watches.close()

    def _is_read(self) -> bool:
        """Whether the client has taken all that was written so far: one that sends on without reading may die so."""
        return not self._unwritten and not (self._sink_is_pipe and _bytes_in(self.sink))

    async def _was_read(self, deadline: float) -> bool:
        """Whether the client took every byte out of the pipe; a killed client leaves some in it."""
        if self._broken or self._unwritten:
            return False
        if not self._sink_is_pipe:
            return True
        poll = select.poll()
        poll.register(self.sink, 0)
        while _bytes_in(self.sink):
            if poll.poll(0) or self.loop.time() > deadline:
                return False
            await asyncio.sleep(0.005)
        return True


def _is_pipe(descriptor: int) -> bool:
    mode = os.fstat(descriptor).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


def _bytes_in(pipe: int) -> int:
    try:
        return struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, b"\0\0\0\0"))[0]
    except OSError:  # a socket whose other side cannot be asked
        return 0
