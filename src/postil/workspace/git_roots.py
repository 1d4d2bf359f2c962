"""The one search for `.git`, and reading a small file of it. Imports nothing but os and stat: fast commands use it."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator


def find_git_roots(folder: str) -> Iterator[str]:
    """Yield the folder and those above it that hold an entry `.git`, the nearest first. `folder` is a real path."""
    while True:
        if os.path.lexists(os.path.join(folder, ".git")):
            yield folder
        above = os.path.dirname(folder)
        if above == folder:
            return
        folder = above


def read_regular(path: str, largest: int) -> bytes | None:
    """Returns the content of a regular file of at most so many bytes; None for anything else.

    A repository may hold a FIFO, a device or a giant where a file of ours is expected: none is waited for.
    """
    try:
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    with open(file, "rb") as opened:
        seen = os.fstat(file)
        if not stat.S_ISREG(seen.st_mode) or seen.st_size > largest:
            return None
        content = opened.read(largest + 1)
    return content if len(content) <= largest else None
