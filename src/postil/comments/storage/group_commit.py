"""Comments that wait to be added while another process writes: whoever has the lock writes them all with one fsync.

A process that finds the lock busy leaves its comment in a small file that it keeps open and locked. The writer takes
what lies there for its sidecar, writes, and only then removes the small files, with the marker's id as its answer in
them: a file without a name means "safe on disk". Files of dead processes are thrown away: nobody was told they are in.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import time
from collections.abc import Iterator
from contextlib import suppress

import msgspec
from msgspec import Struct

from postil.comments.sidecar.json_edit import JsonObject

DEAD_AFTER = 10.0
"""A file this old that nobody holds: the instant between a writer's create and its lock is long over."""


class Addition(Struct, frozen=True):
    """A comment to add, on one version of its source, and the marker it gets unless these lines have one."""

    blob: str
    comment: JsonObject
    marker: JsonObject

    @property
    def id(self) -> str:
        """The comment's id."""
        return str(self.comment["id"])


class Left(Struct, frozen=True):
    """An addition that another process waits for, and the file it lies in."""

    file: str
    addition: Addition

    def answer(self, marker: str) -> None:
        """Tell the process that waits: its comment is safe on disk, under this marker."""
        with suppress(OSError):  # it died meanwhile
            with open(self.file, "wb") as out:
                out.write(marker.encode())
            os.unlink(self.file)


class Leaving:
    """One addition of ours in the folder."""

    def __init__(self, folder: str, path: str, addition: Addition) -> None:
        self._file = -1
        self._folder, self._path, self._addition = folder, path, addition
        self._name = os.path.join(folder, f"{_key(path)}-{addition.id}")

    @property
    def lies(self) -> bool:
        """Whether it was left."""
        return self._file >= 0

    def put(self) -> None:
        """Leave it, once. A folder that cannot be written only means that we write it ourselves."""
        if self._file >= 0:
            return
        with suppress(OSError):
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
            self._file = os.open(self._name, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.write(self._file, msgspec.json.encode(self._addition))

    def written(self) -> str:
        """The marker's id once another process has written it; empty before."""
        if self._file < 0 or os.fstat(self._file).st_nlink:
            return ""
        return os.pread(self._file, 1000, 0).decode()

    def take_back(self) -> None:
        """Nobody else is to write it from now on; the caller has the lock, or has given up."""
        if self._file >= 0:
            with suppress(OSError):
                os.unlink(self._name)
            os.close(self._file)
            self._file = -1


def left_for(folder: str, path: str, blob: str) -> Iterator[Left]:
    """What living processes left for one version of one source. The caller has the lock."""
    try:
        names = os.listdir(folder)
    except OSError:
        return
    for name in sorted(names):
        file = os.path.join(folder, name)
        if not _lives(file) or not name.startswith(f"{_key(path)}-"):
            continue
        try:
            with open(file, "rb") as given:
                addition = msgspec.json.decode(given.read(), type=Addition)
        except (OSError, msgspec.DecodeError):
            continue  # half written: the next writer takes it
        if addition.blob == blob:
            yield Left(file, addition)


def _lives(file: str) -> bool:
    """Whether its process lives: then it holds a lock on it. A file of a dead one is removed after a while."""
    try:
        with open(file, "rb") as given:
            fcntl.flock(given, fcntl.LOCK_SH | fcntl.LOCK_NB)
            if time.time() - os.fstat(given.fileno()).st_mtime > DEAD_AFTER:
                os.unlink(file)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def _key(path: str) -> str:
    return hashlib.sha256(os.fsencode(path)).hexdigest()[:16]
