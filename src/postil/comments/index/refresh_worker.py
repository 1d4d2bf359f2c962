"""Reading many files at once and placing their comments, in processes of their own.

After a pull hundreds of files may have changed, and the anchoring engine needs a processor for each. A worker is told
on standard input which files to read, answers on standard output file by file, and ends with whoever started it. It
writes no file.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import IO, TYPE_CHECKING

import msgspec
from msgspec import Struct

from postil.comments.anchoring.locate import Now, current_anchor
from postil.comments.anchoring.read import Reading, placed_in
from postil.comments.index.cache import Note, note
from postil.comments.model import Placed
from postil.comments.sidecar.document import Sidecar
from postil.comments.source_tree import Ground
from postil.comments.storage.file_versions import OldTexts
from postil.comments.storage.store import Store
from postil.core.failure import Failure
from postil.workspace.paths import RelativePath
from postil.workspace.worker_process import start_worker

if TYPE_CHECKING:
    from subprocess import Popen

ENOUGH = 80
"""From so many files on a second process pays for its start."""
MOST_WORKERS = 8
PIECE = 50
"""So many files are read before they are placed: their old versions are asked of git together."""
MOST_HEARD = 100


class Read(Struct, frozen=True):
    """What came of reading one file."""

    path: str
    content: str = ""
    notes: Sequence[Note] | None = ()
    """None when the file holds what it held."""
    orphans: Sequence[Placed] = ()
    """Those of the comments that the file itself has lost."""
    problem: str = ""


class Job(Struct, frozen=True):
    """The share of a worker: files, and what was in each when it was read before."""

    root: str
    cache_home: str
    paths: list[str]
    known: dict[str, str]


def read_many(reading: Reading, paths: Sequence[str], known: Mapping[str, str]) -> Iterator[Read]:
    """Files and their comments in their places, in any order; by several processes when there are enough files."""
    workers = min(MOST_WORKERS, os.cpu_count() or 1, len(paths) // (ENOUGH // 2))
    if workers < 2:
        yield from read_files(reading, paths, known)
        return
    ground = reading.ground
    cache_home = os.path.abspath(ground.cache_home) if ground.cache_home else ""  # a worker has another cwd
    left = dict.fromkeys(paths)
    shares = [list(paths[number::workers]) for number in range(workers)]
    jobs = [
        Job(ground.root, cache_home, share, {path: known[path] for path in share if path in known}) for share in shares
    ]
    for read in _asked(jobs):
        left.pop(read.path, None)
        yield read
    # A worker that could not do it (no memory, no process) costs time, not an answer.
    yield from read_files(reading, list(left), known)


def read_files(reading: Reading, paths: Sequence[str], known: Mapping[str, str]) -> Iterator[Read]:
    """The same in this process."""
    for at in range(0, len(paths), PIECE):
        sidecars: list[tuple[Sidecar, Now, str]] = []
        for path in paths[at : at + PIECE]:
            try:
                data = reading.store.bytes_of(RelativePath(path))
                now = Now(path, reading.source_or_none(RelativePath(path)))
                content = f"{hashlib.sha1(data or b'', usedforsecurity=False).hexdigest()} {now.blob}"
                if known.get(path) == content:
                    yield Read(path, content, None)
                else:
                    sidecars.append((reading.store.parsed(RelativePath(path), data), now, content))
            except Failure as fault:
                yield Read(path, problem=str(fault.data.get("problem") or fault.message))
        texts = old_texts(reading, [(sidecar, now) for sidecar, now, _ in sidecars])
        for sidecar, now, content in sidecars:
            placed = placed_in(sidecar, now, texts)
            lost = [each for each in placed if each.place.state == "orphaned"]
            yield Read(sidecar.path, content, [note(each) for each in placed], lost)


def old_texts(reading: Reading, sidecars: Sequence[tuple[Sidecar, Now]]) -> dict[str, str]:
    """The versions that the markers of some files were made on, as far as they can be had."""
    wanted = {
        anchor.blob
        for sidecar, now in sidecars
        for marker in sidecar.markers
        if (anchor := current_anchor(marker)) and anchor.blob != now.blob
    }
    return reading.texts.texts(wanted) if wanted else {}


def _asked(jobs: Sequence[Job]) -> Iterator[Read]:
    import threading  # these only where many files changed
    from queue import Empty, Queue

    heard: Queue[Read | None] = Queue(MOST_HEARD)  # a worker waits for whoever keeps what it read

    def ask(worker: Popen[bytes], job: Job) -> None:
        assert worker.stdin is not None
        assert worker.stdout is not None
        with worker.stdout as answers:
            with suppress(OSError), worker.stdin as pipe:
                pipe.write(msgspec.msgpack.encode(job))
            while (read := _heard(answers)) is not None:
                heard.put(read)
        heard.put(None)

    workers: list[Popen[bytes]] = []
    listening: list[threading.Thread] = []
    try:
        for job in jobs:
            with suppress(OSError):
                workers.append(start_worker("postil.comments.index.refresh_worker"))
                listening.append(threading.Thread(target=ask, args=(workers[-1], job), daemon=True))
                listening[-1].start()
        left = len(workers)
        while left:
            read = heard.get()
            if read is None:
                left -= 1
            else:
                yield read
    finally:
        for worker, listener in zip(workers, listening, strict=True):
            worker.kill()  # one that has done its work is gone already
            while listener.is_alive():
                with suppress(Empty):
                    heard.get(timeout=0.01)
            worker.wait()


def _heard(pipe: IO[bytes]) -> Read | None:
    """The next answer of a worker; None when it has ended."""
    head = pipe.read(8)
    data = pipe.read(int.from_bytes(head, "big")) if len(head) == 8 else b""
    try:
        return msgspec.msgpack.decode(data, type=Read)
    except msgspec.DecodeError:
        return None


def main() -> None:
    """Answer one share of the work."""
    import gc  # a process that ends with its work has no use for collecting

    gc.disable()
    job = msgspec.msgpack.decode(sys.stdin.buffer.read(), type=Job)
    ground = Ground(job.root, job.cache_home)
    reading = Reading(ground, Store(ground), OldTexts(ground))
    for read in read_files(reading, job.paths, job.known):
        data = msgspec.msgpack.encode(read)
        sys.stdout.buffer.write(len(data).to_bytes(8, "big"))
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    with suppress(BrokenPipeError):
        main()
