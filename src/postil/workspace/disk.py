"""What lies on disk where others may have put it: the search for `.git`, and files, read with a bound.

Imports next to nothing: fast commands and the settings use it. A repository, or an archive that somebody unpacked, may
hold a FIFO, a device, a giant or a link where a file is expected. None of them is waited for, and none is read without
an end. `tests/core/test_limits.py` looks for every other way in which the tree opens a file.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from io import BufferedReader

LARGE = 256 * 1024
"""As `limits.LARGE`, which would have to be imported."""
_OWN = ("/dev/stdin", "/dev/fd/", "/proc/self/fd/")


def find_git_roots(folder: str) -> Iterator[str]:
    """Yield the folder and those above it that hold an entry `.git`, the nearest first. `folder` is a real path."""
    while True:
        if os.path.lexists(os.path.join(folder, ".git")):
            yield folder
        above = os.path.dirname(folder)
        if above == folder:
            return
        folder = above


def open_regular(path: str, inside: str = "", *, follow: bool = True) -> BufferedReader:
    """Returns a regular file, open for reading. Raises OSError, also for anything else that has this name.

    `inside` names a folder that links may not lead out of; without `follow` the path itself may be no link.
    """
    if inside:
        path, top = os.path.realpath(path), os.path.realpath(inside)
        if not path.startswith(f"{top.rstrip('/')}/"):
            raise OSError(errno.EXDEV, "It is a link that leads out of its folder", path)
    # Without O_NONBLOCK, opening a FIFO waits for a writer.
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (0 if follow and not inside else os.O_NOFOLLOW)
    file = open(os.open(path, flags), "rb")  # noqa: SIM115 - handed to the caller, who closes it
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(errno.EINVAL, "It is not a regular file", path)
    return file


def read_whole(path: str, largest: int, inside: str = "") -> bytes:
    """Returns the content of a regular file of at most so many bytes. Raises OSError."""
    with open_regular(path, inside) as file:
        return _read(file, path, largest)


def read_named(path: str, largest: int) -> bytes:
    """Returns the content of a file that a person named; also of `/dev/stdin` and `<(…)`. Raises OSError."""
    if not path.startswith(_OWN):
        return read_whole(path, largest)
    with open(path, "rb") as file:
        return _read(file, path, largest)


def read_regular(path: str, largest: int) -> bytes | None:
    """Returns the content of a regular file of at most so many bytes; None for anything else."""
    try:
        return read_whole(path, largest)
    except OSError:
        return None


def _read(file: BufferedReader, path: str, largest: int) -> bytes:
    size = os.fstat(file.fileno()).st_size
    if size > LARGE:
        from postil.core import call  # a fast command reads nothing large

        call.hold(size)
    if size <= largest:
        content = file.read(largest + 1)  # it may grow meanwhile, and a pipe says no size
        if len(content) <= largest:
            return content
    raise OSError(errno.EFBIG, f"It is larger than {largest} bytes", path)


def find_special(folder: str, prefix: str, most: int) -> str | None:
    """Returns a FIFO, socket or device below a folder whose name begins so; at most so many folders are looked into."""
    folders = [folder]
    while folders and most:
        most -= 1
        try:
            with os.scandir(folders.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
                    elif entry.name.startswith(prefix) and not entry.is_file() and os.path.exists(entry.path):
                        return entry.path
        except OSError:
            continue
    return None


def sync(path: str) -> None:
    """Wait until a file, or what a folder lists, is on the disk."""
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(file)
    finally:
        os.close(file)
