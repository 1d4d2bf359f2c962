"""MCP over stdin and stdout: one frame a line, nothing else ever on stdout.

Whatever is open, a cancellation, a ping and the end of input are read: requests beyond the limit wait, or are refused.
Only a client that does not read its answers stops the reading. Ends on end of input (after answering what was read), on
a signal, when stdout closes or the parent dies.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from typing import TYPE_CHECKING, NoReturn

from postil.core import codes
from postil.core.call import Caller
from postil.wire.protocol import jsonrpc
from postil.wire.protocol.session import IN_FLIGHT
from postil.wire.runtime.runner import Connection, Runner
from postil.wire.runtime.watches import Watches
from postil.wire.server import Server
from postil.wire.transports.stdio_input import Input, Lines
from postil.wire.transports.stdio_output import Output
from postil.wire.transports.waiting import Frame, Waiting

if TYPE_CHECKING:
    from postil.wire.transports.timeouts import Timeouts

DRAIN = 2.0
FINISH = 60.0
"""Seconds that calls get which were read before the end of input. A host that closes it and wants us gone sends a
signal two to five seconds later, and that ends everything at once; what a file or a pipe asked is answered."""
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
        connection.output.restore()


class StdioConnection:
    """One client on two file descriptors."""

    def __init__(self, server: Server, source: int, sink: int, timeouts: Timeouts | None = None) -> None:
        self.loop = asyncio.get_running_loop()
        self.timeouts = timeouts
        self.input = Input(source, self._fed)
        self.output = Output(sink, self._wake, lambda: self._stop(0))
        self.watches = Watches(server)
        caller = Caller(client=f"stdio-{os.getpid()}-{os.urandom(4).hex()}", surface="stdio")
        like = Connection(caller, caller.client, push=self.send, on_room=self._tell_room, is_read=self.output.is_read)
        self.runner = Runner(server, self.watches, like)
        self._lines = Lines()
        self._waiting = Waiting(self._refuse, lambda: not self.output.is_full)
        self._input_ended = False
        self._heard = False
        self._last_heard = self.loop.time()
        self._over: asyncio.Future[int] = self.loop.create_future()
        self._stopped: asyncio.Future[int] = self.loop.create_future()
        """Set when calls that are still being finished are not wanted any more."""

    async def run(self) -> int:
        """Serve until the end. Returns the exit status."""
        for number in (signal.SIGINT, signal.SIGTERM):
            self.loop.add_signal_handler(number, self._stop, 128 + number)
        parent = os.getppid()
        heartbeat = self.loop.create_task(self._watch_client(parent))
        waiting = self.loop.create_task(self._watch_timeouts(self.timeouts)) if self.timeouts else None
        self.input.resume()
        try:
            status = await self._over
            if waiting is not None:
                waiting.cancel()
            self.input.pause()
            if self._input_ended and status == 0 and not self.output.is_broken:
                await self.runner.finish(DRAIN, FINISH, self._stopped)
                status = self._stopped.result() if self._stopped.done() else 0
        finally:
            heartbeat.cancel()
        await self._wind_up(orderly=status == 0 and not self._stopped.done())
        return status

    # -- what the client sends ----------------------------------------------------------------------------------------

    def _fed(self, data: bytes) -> None:
        self._input_ended = not data
        self._last_heard = self.loop.time()
        for line in self._lines.feed(data) if data else self._lines.finish():
            if self.runner.session.ended:
                break
            if isinstance(line, bytes):
                self._heard = True
                if self.timeouts is not None:
                    self.timeouts.tell_heard(line)
                self._take(jsonrpc.parse(line), len(line))
            else:
                self.answer(jsonrpc.encode_error(line.id, line.code, line.message), line.code)
        self._pump()

    def _take(self, frame: Frame, size: int) -> None:
        """Hand a frame over, unless there is no room for it."""
        if isinstance(frame, jsonrpc.Notification) and frame.method == "notifications/cancelled":
            self._waiting.give_up(frame.params.get("requestId"))
            self._waiting.tell_room()  # the call that is given up ends a moment later
        if self._must_wait(frame):
            self._waiting.add(frame, size)
        else:
            self.runner.take(frame, self, self.runner.connection.caller)

    def _must_wait(self, frame: Frame) -> bool:
        session, is_full = self.runner.session, self.output.is_full
        if not (is_full or self._waiting.frames or len(session.in_flight) >= IN_FLIGHT):
            return False
        if session.makes_work(frame):
            return True
        return is_full and not isinstance(frame, (jsonrpc.Notification, jsonrpc.Response))

    def _pump(self) -> None:
        """Hand over the requests that wait while there is room, then decide whether to read on."""
        session = self.runner.session
        frames, open_calls, caller = self._waiting.frames, session.in_flight, self.runner.connection.caller
        while frames and len(open_calls) < IN_FLIGHT and not self.output.is_full and not session.ended:
            self.runner.take(self._waiting.take(), self, caller)
        if session.ended or (self._input_ended and not frames):
            self._end(0)
        elif frames and self._waiting.is_full:
            self.input.pause()  # until some have ended, or nothing ends and those that wait are refused
        else:
            self.input.resume()

    def _refuse(self, frame: Frame) -> None:
        """Answer a request for which there was no room."""
        for item in frame if isinstance(frame, list) else [frame]:
            if isinstance(item, jsonrpc.Request):
                busy = "Too many calls in flight: wait for an answer, or cancel some"
                self.answer(jsonrpc.encode_error(item.id, codes.SERVER_ERROR, busy), codes.SERVER_ERROR)
        if self._input_ended or not self._waiting.frames:
            self._wake()

    def _tell_room(self) -> None:
        self._waiting.tell_room()
        self._wake()

    def _wake(self) -> None:
        if not self._over.done():
            self.loop.call_soon(self._pump)

    @property
    def is_heard(self) -> bool:
        """Whether its output is still read."""
        return not self.output.is_broken

    # -- what it is sent ----------------------------------------------------------------------------------------------

    def send(self, frame: bytes) -> None:
        """Write a frame that is no answer."""
        self.answer(frame, 0)

    def answer(self, frame: bytes, code: int) -> None:
        """Write an answer, after what was written before it."""
        if self.timeouts is not None and not self.output.is_broken:
            self.timeouts.tell_sent(frame, code)
        self.output.write(frame)

    def end(self) -> None:
        """A request that was given up: nothing is written."""

    def tell(self, name: str, value: str) -> None:
        """Stdio has no place beside an answer: nothing is written."""

    # -- the end ----------------------------------------------------------------------------------------------------

    def _end(self, status: int) -> None:
        if not self._over.done():
            self._over.set_result(status)

    def _stop(self, status: int) -> None:
        """End at once, also while calls are finished."""
        if not self._over.done():
            self._end(status)
        elif not self._stopped.done():
            self._stopped.set_result(status)

    async def _watch_client(self, parent: int) -> None:
        while True:
            await asyncio.sleep(HEARTBEAT)
            self.output.look()
            if os.getppid() != parent:
                self._stop(0)

    async def _watch_timeouts(self, timeouts: Timeouts) -> None:
        """End when the client keeps silent for longer than was asked to wait."""
        timeouts.tell("info", "serving on stdin and stdout")
        while timeouts.handshake or timeouts.idle:
            busy = bool(self.runner.running or self._waiting)
            why = timeouts.reason_to_end(self.loop.time() - self._last_heard, heard=self._heard, busy=busy)
            if why:
                timeouts.tell("error" if not self._heard else "info", why)
                self._end(0 if self._heard else 1)
                return
            wait = (timeouts.idle if self._heard else timeouts.handshake) or timeouts.handshake or timeouts.idle
            due = self._last_heard + wait - self.loop.time()
            await asyncio.sleep(min(max(due, 0.01), HEARTBEAT))

    async def _wind_up(self, *, orderly: bool) -> None:
        await self.runner.close(DRAIN if orderly and not self.output.is_broken and not self._input_ended else 0.2)
        deadline = self.loop.time() + (DRAIN if orderly else 0.2)
        await self.output.drain(deadline)
        if self.runner.unconfirmed:
            await self.runner.report_delivery(reached=orderly and await self.output.was_read(deadline))
        self.watches.close()
