"""The terminal of the board: its keys without waiting for a line, its size, and the screen given back as it was."""

from __future__ import annotations

import os
import select
import signal
import termios
import tty
from collections.abc import Callable, Sequence
from contextlib import suppress
from types import FrameType, TracebackType
from typing import Any, Self

from postil.tracker.board.keys import read_keys

_ENTER = b"\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J"
_LEAVE = b"\x1b[?7h\x1b[?25h\x1b[?1049l"
_LONE_ESCAPE = 0.05
"""Seconds after which an escape that nothing follows is the key itself: terminals send a sequence at once."""


class Ended(Exception):
    """The terminal is gone, or somebody ended the program."""


class Terminal:
    """Standard input and output as a full screen. A context manager: whatever happens, the terminal is given back."""

    def __init__(self, source: int = 0, target: int = 1) -> None:
        self._source, self._target = source, target
        self._before: list[Any] = []
        self._handlers: dict[int, Any] = {}
        self._woken, self._wake = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._drawn: list[str] = []
        self._left = b""

    def __enter__(self) -> Self:
        self._before = termios.tcgetattr(self._source)
        for number in (signal.SIGWINCH, signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGCONT):
            self._handlers[number] = signal.signal(number, self._note)
        self._take()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._give_back()
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        os.close(self._woken)
        os.close(self._wake)

    def size(self) -> tuple[int, int]:
        """Returns the columns and lines of the terminal."""
        try:
            found = os.get_terminal_size(self._target)
        except OSError:
            raise Ended from None
        return found.columns, found.lines

    def draw(self, lines: Sequence[str]) -> None:
        """Show these lines; only those that changed are written."""
        pieces: list[str] = []
        for row, line in enumerate(lines):
            if row >= len(self._drawn) or self._drawn[row] != line:
                pieces.append(f"\x1b[{row + 1};1H\x1b[0m\x1b[2K{line}")
        self._drawn = list(lines)
        if pieces:
            self._write("".join(pieces).encode("utf-8", "replace"))

    def redraw(self) -> None:
        """Forget what is on the screen: everything is written the next time."""
        self._drawn = []
        self._write(b"\x1b[0m\x1b[2J")

    def wait(self, other: int, timeout: float | None, changed: Callable[[], object]) -> list[str]:
        """Returns the keys that were pressed. Waits for one, for `other` (then `changed` is called) or for a new size.

        Raises Ended when the terminal is gone or the program is told to end.
        """
        ready, _, _ = select.select([self._source, other, self._woken], [], [], timeout)
        if self._woken in ready:
            self._read_signals()
        if other in ready:
            changed()
        return self._read() if self._source in ready else []

    def suspend(self) -> None:
        """Let the shell have the terminal (ctrl-z), until it lets us go on."""
        self._give_back()
        os.kill(os.getpid(), signal.SIGSTOP)
        self._take()
        self.redraw()

    def _read(self) -> list[str]:
        try:
            data = os.read(self._source, 4096)
        except OSError:
            raise Ended from None
        if not data:
            raise Ended
        keys, self._left = read_keys(self._left + data)
        if keys[-1:] == ["escape"] and select.select([self._source], [], [], _LONE_ESCAPE)[0]:
            with suppress(OSError):  # it was the beginning of a sequence that came in two pieces
                keys, self._left = read_keys(data + os.read(self._source, 4096))
        return keys

    def _read_signals(self) -> None:
        told = set(os.read(self._woken, 4096))
        if told & {signal.SIGTERM, signal.SIGHUP}:
            raise Ended
        if signal.SIGINT in told:
            raise KeyboardInterrupt
        self.redraw()

    def _note(self, number: int, frame: FrameType | None) -> None:
        with suppress(OSError):  # full: it is readable already
            os.write(self._wake, bytes([number]))

    def _take(self) -> None:
        tty.setraw(self._source)
        self._write(_ENTER)

    def _give_back(self) -> None:
        with suppress(Ended):
            self._write(_LEAVE)
        with suppress(termios.error):
            termios.tcsetattr(self._source, termios.TCSADRAIN, self._before)

    def _write(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            try:
                rest = rest[os.write(self._target, rest) :]
            except BlockingIOError:
                select.select([], [self._target], [])
            except OSError:
                raise Ended from None
