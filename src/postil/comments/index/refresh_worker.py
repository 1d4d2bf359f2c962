"""Reading many files at once and locating their comments, in processes of their own.

After a pull hundreds of files may have changed, and the anchoring engine needs a processor for each. A worker reads on
standard input which files it has to read, answers on standard output file by file, and ends with its parent. It writes
no file.
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

from postil.comments.anchoring.locate import PresentSource, locate_comments
from postil.comments.anchoring.reader import CommentReader
from postil.comments.index.cache import Note, make_note
from postil.comments.model import Located
from postil.comments.sidecar.document import Sidecar
from postil.comments.source_tree import SourceTree
from postil.comments.storage.file_versions import FileVersions
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
"""So many files are read before their comments are located: git is asked for their old versions together."""
MOST_QUEUED = 20
"""Files that were read and are not kept yet."""
_MARK = {False: "", True: " cautious"}  # what is kept of a file was decided with it or without


class Read(Struct, frozen=True):
    """One file that was read."""

    path: str
    content: str = ""
    notes: Sequence[Note] | None = ()
    """None when sidecar and source hold what they held before."""
    orphans: Sequence[Located] = ()
    """The comments whose code is not in the file any more, or perhaps not."""
    problem: str = ""


class Job(Struct, frozen=True):
    """The share of a worker: files, and what was in each when it was read before."""

    root: str
    cache_home: str
    paths: list[str]
    known: dict[str, str]
    cautious: bool = False


def read_many(reader: CommentReader, paths: Sequence[str], known: Mapping[str, str]) -> Iterator[Read]:
    """Yields files and their comments in their places, in any order; several processes read when there are enough."""
    workers = min(MOST_WORKERS, os.cpu_count() or 1, len(paths) // (ENOUGH // 2))
    if workers < 2:
        yield from read_files(reader, paths, known)
        return
    tree = reader.tree
    cache_home = os.path.abspath(tree.cache_home) if tree.cache_home else ""  # a worker has another cwd
    left = dict.fromkeys(paths)
    shares = [list(paths[number::workers]) for number in range(workers)]
    jobs = [
        Job(tree.root, cache_home, share, {path: known[path] for path in share if path in known}, tree.cautious)
        for share in shares
    ]
    for read in _run_workers(jobs):
        left.pop(read.path, None)
        yield read
    # A worker that could not do it (no memory, no process) costs time, not an answer.
    yield from read_files(reader, list(left), known)


def read_files(reader: CommentReader, paths: Sequence[str], known: Mapping[str, str]) -> Iterator[Read]:
    """Yields the same, read by this process."""
    for at in range(0, len(paths), PIECE):
        sidecars: list[tuple[Sidecar, PresentSource, str]] = []
        for path in paths[at : at + PIECE]:
            try:
                data = reader.store.read_bytes(RelativePath(path))
                source = reader.tree.source_or_none(RelativePath(path))
                now = PresentSource(path, source, cautious=reader.tree.cautious)
                content = (
                    f"{hashlib.sha1(data or b'', usedforsecurity=False).hexdigest()} {now.blob}{_MARK[now.cautious]}"
                )
                if known.get(path) == content:
                    yield Read(path, content, None)
                else:
                    sidecars.append((reader.store.parse(RelativePath(path), data), now, content))
            except Failure as fault:
                yield Read(path, problem=str(fault.data.get("problem") or fault.message))
        texts = reader.old_texts([(sidecar, now) for sidecar, now, _ in sidecars])
        for sidecar, now, content in sidecars:
            located = locate_comments(sidecar, now, texts)
            lost = [each for each in located if each.place.state in ("orphaned", "review")]
            yield Read(sidecar.path, content, [make_note(each) for each in located], lost)


def _run_workers(jobs: Sequence[Job]) -> Iterator[Read]:
    import threading  # these only where many files changed
    from queue import Empty, Queue

    heard: Queue[Read | None] = Queue(MOST_QUEUED)  # a worker waits until its answers are kept

    def ask(worker: Popen[bytes], job: Job) -> None:
        assert worker.stdin is not None
        assert worker.stdout is not None
        with worker.stdout as answers:
            with suppress(OSError), worker.stdin as pipe:
                pipe.write(msgspec.msgpack.encode(job))
            while (read := _read_answer(answers)) is not None:
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


def _read_answer(pipe: IO[bytes]) -> Read | None:
    """Returns the next answer of a worker; None when it has ended."""
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
    tree = SourceTree(job.root, job.cache_home, cautious=job.cautious)
    reader = CommentReader(tree, Store(tree), FileVersions(tree))
    for read in read_files(reader, job.paths, job.known):
        data = msgspec.msgpack.encode(read)
        sys.stdout.buffer.write(len(data).to_bytes(8, "big"))
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    with suppress(BrokenPipeError):
        main()
