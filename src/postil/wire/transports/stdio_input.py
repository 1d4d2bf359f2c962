"""The bytes that a client writes to us: read whenever they come, split into lines of bounded length."""

from __future__ import annotations

import asyncio
import os
import stat
import threading
from collections.abc import Callable

from postil.wire.protocol import jsonrpc

CHUNK = 1 << 16


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


class Input:
    """One file descriptor that is read from; every chunk is handed over on the loop, the empty one last."""

    def __init__(self, source: int, fed: Callable[[bytes], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._source = source
        self._fed = fed
        self._is_selectable = is_pipe(source)
        self._is_reading = False
        self._has_ended = False
        self._room = threading.Event()
        self._reader = threading.Thread(target=self._read_blocking, name="postil-stdin", daemon=True)

    def resume(self) -> None:
        """Read on."""
        if self._has_ended:
            return
        if not self._is_reading:
            self._is_reading = True
            if self._is_selectable:
                self._loop.add_reader(self._source, self._readable)
            elif not self._reader.is_alive():
                self._reader.start()
        self._room.set()

    def pause(self) -> None:
        """Read nothing more for now."""
        if self._is_reading and self._is_selectable:
            self._is_reading = False
            self._loop.remove_reader(self._source)

    def _readable(self) -> None:
        try:
            data = os.read(self._source, CHUNK)
        except OSError:
            data = b""
        self._take(data)

    def _take(self, data: bytes) -> None:
        if not data:
            self.pause()
            self._has_ended = True
        self._fed(data)

    def _read_blocking(self) -> None:
        """Read from a file or a terminal, which no selector can wait for."""
        while True:
            self._room.wait()
            self._room.clear()
            try:
                data = os.read(self._source, CHUNK)
            except OSError:
                data = b""
            try:
                self._loop.call_soon_threadsafe(self._take, data)
            except RuntimeError:  # the loop has ended
                return
            if not data:
                return


def is_pipe(descriptor: int) -> bool:
    """Returns whether a selector can wait for it."""
    mode = os.fstat(descriptor).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)
