"""Running a program to its end, without the `subprocess` module: importing that costs as much as starting Python.

Only what git needs: arguments, environment, input, both outputs, a time limit. Streams and dialogues use subprocess.
"""

from __future__ import annotations

import os
import select
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import IO, NamedTuple

from postil.core import limits

_SIGPIPE = 13  # Python ignores it; a child must not
_SIGKILL = 9
_CHUNK = 65536
LOOK_AFTER = 1.0
"""Seconds of silence after which somebody looks what holds the program."""


class TooMuchOutput(Exception):
    """The program printed more than is held."""


def run(
    arguments: list[str],
    environment: Mapping[str, str],
    input: bytes,
    timeout: float,
    largest: int = limits.GIT_OUTPUT,
    look: Callable[[], None] | None = None,
    memory: int = limits.GIT_ALL_MEMORY,
) -> tuple[int, bytes, bytes]:
    """Exit status, output and errors. `look` is called when it has said nothing for LOOK_AFTER; what it raises ends it.

    It gets no more than `memory`.
    Raises FileNotFoundError without such a program, TimeoutError when it stays, TooMuchOutput when it prints more.
    """
    name = (*arguments, hash(input))
    if _Output.were_kept and (done := _recall(name)) is not None:
        return done.load()
    in_read, in_write = os.pipe()
    out_read, out_write = os.pipe()
    err_read, err_write = os.pipe()
    ours, theirs = [in_write, out_read, err_read], [in_read, out_write, err_write]
    try:
        try:
            process = os.posix_spawnp(
                arguments[0],
                arguments,
                environment,
                file_actions=[(os.POSIX_SPAWN_DUP2, descriptor, place) for place, descriptor in enumerate(theirs)],
                setsigdef=[_SIGPIPE],
            )
        finally:
            for descriptor in theirs:
                os.close(descriptor)
        bound_memory(process, memory)
        try:
            out, err = _exchange(ours, input, time.monotonic() + timeout, largest, look)
        except BaseException:
            os.kill(process, _SIGKILL)
            os.waitpid(process, 0)
            raise
    finally:
        for descriptor in ours:
            with suppress(OSError):
                os.close(descriptor)
    done = _Done(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), out, err)
    if done.size > limits.LARGE:
        _wait_for_room(name, done)
    return done.load()


def bound_memory(process: int, most: int) -> None:
    """Give a process that was just started, and what it starts, so much memory each; files that it maps do not count.

    Where the system has no such limit (macOS), or forbids to set it, there is none.
    """
    import resource  # who starts no program needs none

    prlimit = getattr(resource, "prlimit", None)
    if prlimit is not None:
        with suppress(OSError, ValueError):  # it has ended, or has a smaller limit of its own
            prlimit(process, resource.RLIMIT_DATA, (most, most))


class _Output:
    """What a program has printed: beyond a little it lies on the disk.

    It may print slowly. Room in memory is asked for when all of it is there, so nobody waits for the program.
    """

    were_kept = False
    """Whether any were ever kept for a call that begins again."""

    def __init__(self) -> None:
        self._held = bytearray()
        self._file: IO[bytes] | None = None
        self._stays = False
        self.size = 0

    def __del__(self) -> None:
        if self._file is not None:
            self._file.close()

    def add(self, chunk: bytes) -> None:
        self.size += len(chunk)
        self._held += chunk
        if self.size > limits.LARGE and not self._stays:
            self._put_away()

    def _put_away(self) -> None:
        """Write what is in memory to the disk. Where that is full, the rest stays in memory."""
        import tempfile  # most say little

        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - closed with this object
            while self._held:
                del self._held[: self._file.write(self._held)]
        except OSError:
            self._stays = True

    def load(self) -> bytes:
        if self._file is None:
            return bytes(self._held)
        self._file.seek(0)
        with self._file as file:
            said = file.read(self.size)
        return said + bytes(self._held) if self._held else said


class _Done(NamedTuple):
    status: int
    out: _Output
    err: _Output

    @property
    def size(self) -> int:
        return self.out.size + self.err.size

    def load(self) -> tuple[int, bytes, bytes]:
        return self.status, self.out.load(), self.err.load()


def _wait_for_room(name: object, done: _Done) -> None:
    """Say what is about to be held. A call that has to wait for it begins again, and finds it here."""
    from postil.core import call  # most say little

    call.keep(name, done, done.size)
    _Output.were_kept = True
    call.hold(done.size)
    call.recall(name)


def _recall(name: object) -> _Done | None:
    from postil.core import call

    found = call.recall(name)
    if not isinstance(found, _Done):
        return None
    call.hold(found.size)
    return found


def _exchange(
    ours: list[int], input: bytes, deadline: float, largest: int, look: Callable[[], None] | None
) -> tuple[_Output, _Output]:
    """Write and read until both outputs end, whichever the program wants first."""
    sink, out, err = ours
    left = memoryview(input)
    read = {out: _Output(), err: _Output()}
    waiting = set(read)
    poll = select.poll()
    for source in waiting:
        poll.register(source, select.POLLIN)
    if left:
        os.set_blocking(sink, False)
        poll.register(sink, select.POLLOUT)
    else:
        os.close(sink)
        ours.remove(sink)
    while waiting:
        left_over = max(0.0, deadline - time.monotonic())
        ready = poll.poll((min(left_over, LOOK_AFTER) if look else left_over) * 1000)
        if not ready:
            if look is None or left_over <= LOOK_AFTER:
                raise TimeoutError
            look()
            look = None
        for descriptor, _ in ready:
            if descriptor == sink:
                left = left[_written(sink, left) :]
                if not left:
                    poll.unregister(sink)
                    os.close(sink)
                    ours.remove(sink)
            elif chunk := os.read(descriptor, _CHUNK):
                largest -= len(chunk)
                if largest < 0:
                    raise TooMuchOutput
                read[descriptor].add(chunk)
            else:
                poll.unregister(descriptor)
                waiting.discard(descriptor)
    return read[out], read[err]


def _written(sink: int, left: memoryview) -> int:
    try:
        return os.write(sink, left[:_CHUNK])
    except BlockingIOError:
        return 0
    except BrokenPipeError:  # it does not want the rest
        return len(left)
