"""The frames that we write to a client: in order, without ever blocking the loop, and whether it has read them."""

from __future__ import annotations

import asyncio
import fcntl
import os
import select
import struct
import termios
from collections.abc import Callable

from postil.wire.transports.stdio_input import is_pipe

MOST_UNWRITTEN = 1 << 20


class Output:
    """One file descriptor that is written to."""

    def __init__(self, sink: int, has_room: Callable[[], None], broke: Callable[[], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._sink = sink
        self._has_room = has_room
        self._broke = broke
        self._unwritten: list[bytes] = []
        self._size = 0
        self.is_full = False
        """Whether so much is unread that nothing more should be asked for."""
        self._is_due = False
        self._waits = False
        self.is_broken = False
        """Whether nobody reads any more."""
        self._flags = fcntl.fcntl(sink, fcntl.F_GETFL)
        self._is_pipe = is_pipe(sink)
        if self._is_pipe:
            fcntl.fcntl(sink, fcntl.F_SETFL, self._flags | os.O_NONBLOCK)

    def restore(self) -> None:
        """Leave the descriptor as it was found."""
        if self._is_pipe:
            fcntl.fcntl(self._sink, fcntl.F_SETFL, self._flags)

    def write(self, frame: bytes) -> None:
        """Write a frame, after what was written before it."""
        if self.is_broken:
            return
        self._unwritten.append(frame)
        self._unwritten.append(b"\n")
        self._size = size = self._size + len(frame) + 1
        if size > MOST_UNWRITTEN:
            self.is_full = True
        if not self._is_due and not self._waits:
            self._is_due = True
            self._loop.call_soon(self._flush)

    def _flush(self) -> None:
        self._is_due = False
        data = memoryview(b"".join(self._unwritten))
        self._unwritten.clear()
        try:
            while data:
                written = os.write(self._sink, data)
                data = data[written:]
        except BlockingIOError:
            pass
        except OSError:
            self.is_broken = True
            self._broke()
            data = memoryview(b"")
        was_full = self.is_full
        self._size = len(data)
        self.is_full = self._size > MOST_UNWRITTEN
        if data:
            self._unwritten.append(bytes(data))
            if not self._waits:
                self._waits = True
                self._loop.add_writer(self._sink, self._flush)
        elif self._waits:
            self._waits = False
            self._loop.remove_writer(self._sink)
        if was_full and not self.is_full:
            self._has_room()

    async def drain(self, deadline: float) -> None:
        """Write what is left, as far as the client reads it until then."""
        while self._unwritten and not self.is_broken and self._loop.time() < deadline:
            self._flush()
            await asyncio.sleep(0.002)

    def look(self) -> None:
        """Notice a client that closed its end."""
        if self._is_pipe and self._is_closed():
            self.is_broken = True
            self._broke()

    def is_read(self) -> bool:
        """Returns whether the client has taken all so far: one that sends on without reading may die so."""
        return not self._unwritten and not (self._is_pipe and _bytes_in(self._sink))

    async def was_read(self, deadline: float) -> bool:
        """Returns whether the client took every byte out of the pipe; a killed client leaves some in it."""
        if self.is_broken or self._unwritten:
            return False
        while self._is_pipe and _bytes_in(self._sink):
            if self._is_closed() or self._loop.time() > deadline:
                return False
            await asyncio.sleep(0.005)
        return True

    def _is_closed(self) -> bool:
        poll = select.poll()
        poll.register(self._sink, 0)
        return any(event & (select.POLLERR | select.POLLNVAL) for _, event in poll.poll(0))


def _bytes_in(pipe: int) -> int:
    try:
        return struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, b"\0\0\0\0"))[0]
    except OSError:  # a socket whose other side cannot be asked
        return 0
