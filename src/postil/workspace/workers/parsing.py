"""What is read from texts that are dear to parse, by workers, which the kernel ends when they take too much.

Grammars are native code: nothing in this process could stop them. A text that is small and parsed within a few
milliseconds, as nearly every file is, never comes here. A worker answers one question after another, since starting
one takes longer than most texts; it ends with this process, after IDLE, or when a text made it large.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import select
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from postil.anchor.syntax.languages import Question
from postil.workspace.worker_process import start_worker

if TYPE_CHECKING:
    from subprocess import Popen

LONGEST = 1.0
"""Seconds of CPU for a question."""
LARGEST = 112 << 20
"""Bytes of memory of a worker; about 40 MiB of them are Python's own and the grammar's."""
LARGE = 72 << 20
"""Bytes after which a worker ends with its answer: the next one shall have all of them."""
PATIENCE = 10.0
"""Seconds to wait for a worker on a busy machine."""
IDLE = 30.0
"""Seconds after which a worker that nobody asks ends."""
MOST_IDLE = 2
MOST_KEPT, LARGEST_KEPT = 256, 4 << 20
"""Answers that are kept, and their bytes; a text that no worker gets through is an answer, too."""
_kept: dict[bytes, bytes | None] = {}
_idle: list[Popen[bytes]] = []


def ask(question: Question) -> bytes | None:
    """Returns what a worker says of a text; None where it takes too much. Blocks; what was asked before is kept."""
    asked = msgspec.msgpack.encode(question)
    key = hashlib.sha256(asked).digest()
    if key in _kept:
        return _kept[key]
    said = _ask_anew(asked)
    if len(_kept) >= MOST_KEPT or sum(len(each or b"") for each in [*_kept.values()]) > LARGEST_KEPT:
        _kept.clear()
    _kept[key] = said
    return said


def _ask_anew(asked: bytes) -> bytes | None:
    with suppress(IndexError):
        while True:
            worker = _idle.pop()
            said = _ask_worker(worker, asked)
            if said is not None or worker.returncode != 0:
                return said
            # It had ended by itself meanwhile.
    try:
        worker = start_worker("postil.workspace.workers.parsing")
    except OSError:
        return None
    atexit.unregister(_end_idle)
    atexit.register(_end_idle)
    return _ask_worker(worker, asked)


def _ask_worker(worker: Popen[bytes], asked: bytes) -> bytes | None:
    assert worker.stdin is not None
    assert worker.stdout is not None
    until = time.monotonic() + PATIENCE
    try:
        _write(worker.stdin.fileno(), len(asked).to_bytes(8, "big") + asked, until)
        size = int.from_bytes(_read(worker.stdout.fileno(), 8, until), "big")
        said = _read(worker.stdout.fileno(), size, until)
    except (BrokenPipeError, EOFError):
        _end(worker, PATIENCE)
        return None
    except OSError:
        _end(worker)
        return None
    if len(_idle) < MOST_IDLE:
        _idle.append(worker)
    else:
        _end(worker)
    return said


def _write(pipe: int, data: bytes, until: float) -> None:
    os.set_blocking(pipe, False)
    left = memoryview(data)
    while left:
        _wait(pipe, select.POLLOUT, until)
        with suppress(BlockingIOError):
            left = left[os.write(pipe, left[: 1 << 16]) :]


def _read(pipe: int, size: int, until: float) -> bytes:
    data = bytearray()
    while len(data) < size:
        _wait(pipe, select.POLLIN, until)
        piece = os.read(pipe, min(size - len(data), 1 << 16))
        if not piece:
            raise EOFError
        data += piece
    return bytes(data)


def _wait(pipe: int, event: int, until: float) -> None:
    waiting = select.poll()
    waiting.register(pipe, event)
    if not waiting.poll(max(0.0, until - time.monotonic()) * 1000):
        raise TimeoutError


def _end(worker: Popen[bytes], patience: float = 0.0) -> None:
    """End a worker; one that is about to end by itself gets some seconds, so that it is known how it ended."""
    from subprocess import TimeoutExpired

    with suppress(OSError), worker:
        with suppress(TimeoutExpired):
            worker.wait(patience)
        worker.kill()


def _end_idle() -> None:
    while _idle:
        _end(_idle.pop())


def main() -> None:
    """Answer questions until there are no more."""
    from postil.anchor.syntax.languages import count_memory, parse_everything_here

    parse_everything_here()
    _limit_memory()
    while select.select([0], [], [], IDLE)[0]:
        size = int.from_bytes(sys.stdin.buffer.read(8), "big")
        if not size:
            return
        question = msgspec.msgpack.decode(sys.stdin.buffer.read(size), type=Question)
        _allow_time(LONGEST)
        said = answer(question)
        sys.stdout.buffer.write(len(said).to_bytes(8, "big") + said)
        sys.stdout.buffer.flush()
        del question, said
        if count_memory() > LARGE:
            return


def answer(question: Question) -> bytes:
    """Returns what is read from a text, by this process."""
    from postil.anchor.syntax.colors import color_rows
    from postil.anchor.syntax.complexity import complexities
    from postil.anchor.syntax.symbols import symbols, syntax_problems

    text, language = question.text.decode("utf-8", "surrogatepass"), question.language
    match question.what:
        case "symbols":
            found = symbols(text, language)
        case "problems":
            found = syntax_problems(text, language)
        case "complexities":
            found = complexities(text, language)
        case "colors":
            found = color_rows(text, language, question.rows)
    return msgspec.msgpack.encode(found)


def _limit_memory() -> None:
    import resource

    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 2)  # a grammar that gets no memory complains and aborts
    resource.setrlimit(resource.RLIMIT_DATA, (LARGEST, LARGEST))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _allow_time(seconds: float) -> None:
    """Let this process use so much CPU from now on; then it ends."""
    import resource

    used = resource.getrusage(resource.RUSAGE_SELF)
    soft = round(used.ru_utime + used.ru_stime + seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (soft, resource.RLIM_INFINITY))


if __name__ == "__main__":
    main()
