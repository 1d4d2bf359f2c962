"""Placing the comments of many files at once, in processes of their own: `python -m postil.comments.placer`.

After a pull hundreds of files may have changed, and the anchoring engine needs a processor for each. A worker reads its
files on standard input, answers on standard output, and ends with whoever started it. It reads and writes no file.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import msgspec
from msgspec import Struct

from postil.comments.dialects import Unreadable
from postil.comments.ground import Source
from postil.comments.model import Placed
from postil.comments.places import Now
from postil.comments.reading import placed_in
from postil.comments.sidecar import Sidecar
from postil.workspace.paths import RelativePath

ENOUGH = 40
"""From so many files on a second process pays for its start."""
MOST_WORKERS = 8
PATIENCE = 600.0


class Job(Struct, frozen=True):
    """One file: its sidecar, its source if it is there, and the old versions its markers were made on."""

    path: str
    sidecar: bytes
    text: str | None
    blob: str
    old: dict[str, str]


def place_many(jobs: Sequence[Job]) -> list[list[Placed]]:
    """The comments of each file in their places; by several processes when there are enough files."""
    workers = min(MOST_WORKERS, os.cpu_count() or 1, len(jobs) // (ENOUGH // 2))
    if workers < 2:
        return [place_one(job) for job in jobs]
    shares = [list(jobs[number::workers]) for number in range(workers)]
    answers = _asked(shares)
    found: list[list[Placed]] = [[] for _ in jobs]
    for number, (share, answer) in enumerate(zip(shares, answers, strict=True)):
        # A worker that could not do it (no memory, no process) costs time, not an answer.
        found[number::workers] = answer if answer is not None else [place_one(job) for job in share]
    return found


def place_one(job: Job) -> list[Placed]:
    """The comments of one file in their places."""
    try:
        sidecar = Sidecar(job.path, job.sidecar)
    except Unreadable:
        return []
    source = None if job.text is None else Source(RelativePath(job.path), job.text, job.blob, "")
    return placed_in(sidecar, Now(job.path, source), job.old)


def _asked(shares: Sequence[list[Job]]) -> list[list[list[Placed]] | None]:
    import subprocess  # only where many files changed
    from concurrent.futures import ThreadPoolExecutor

    def ask(share: list[Job]) -> list[list[Placed]] | None:
        try:
            done = subprocess.run(
                [sys.executable, "-m", "postil.comments.placer"],
                input=msgspec.msgpack.encode(share),
                stdout=subprocess.PIPE,
                timeout=PATIENCE,
                check=True,
            )
            return msgspec.msgpack.decode(done.stdout, type=list[list[Placed]])
        except (OSError, subprocess.SubprocessError, msgspec.DecodeError):
            return None

    with ThreadPoolExecutor(len(shares)) as pool:
        return list(pool.map(ask, shares))


def main() -> None:
    """Answer one share of the work."""
    import gc  # a process that ends with its work has no use for collecting

    gc.disable()
    share = msgspec.msgpack.decode(sys.stdin.buffer.read(), type=list[Job])
    sys.stdout.buffer.write(msgspec.msgpack.encode([place_one(job) for job in share]))


if __name__ == "__main__":
    main()
