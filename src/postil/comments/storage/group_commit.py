"""Group commit: comments that wait while another process writes; the process with the lock writes all with one fsync.

A process that finds the lock busy puts its comment into a small file that it keeps open and locked. The writer adds the
comments of these files to its sidecar, writes it, and only then removes the small files, after writing the marker's id
into each: a file without a name, with that id in it, means "safe on disk". Files of dead processes are removed: nobody
was told they are in.

Beside the small file is a pipe (`….wake`): the writer puts a byte into it, so that whoever waits need not look every
millisecond. Without the pipe everything works, a little later.
"""

from __future__ import annotations

import fcntl
import os
import select
import time
from collections.abc import Iterator
from contextlib import suppress

import msgspec
from msgspec import Struct

from postil.comments.model import Addition
from postil.core import limits
from postil.workspace.clones.sharing import make_own_folder, share
from postil.workspace.digest import sha256
from postil.workspace.disk import open_regular, read_regular

WAKE = ".wake"
DEAD_AFTER = 10.0
"""A file this old that nobody holds: the instant between a writer's create and its lock is long over."""


class ClaimedAdd(Struct, frozen=True):
    """An addition that another process waits for, and the file that holds it."""

    file: str
    addition: Addition

    def answer(self, marker: str) -> None:
        """Tell the waiting process that its comment is safe on disk, under this marker."""
        with suppress(OSError):  # it died meanwhile
            with open(self.file, "wb") as out:
                out.write(marker.encode())
            os.unlink(self.file)
            wake = os.open(self.file + WAKE, os.O_WRONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                os.write(wake, b"!")
            finally:
                os.close(wake)


class PendingAdd:
    """One addition of this process that waits in the folder."""

    def __init__(self, folder: str, path: str, addition: Addition) -> None:
        self._file = self._wake = -1
        self.was_lost = False
        """Whether its file was deleted by somebody else: another process may have written the comment all the same."""
        self._folder, self._path, self._addition = folder, path, addition
        self._name = os.path.join(folder, f"{_key(path)}-{addition.comment.id}")

    @property
    def is_waiting(self) -> bool:
        """Whether its file is in the folder."""
        return self._file >= 0

    def put(self) -> None:
        """Put its file into the folder, once. Where that fails, this process writes the comment itself."""
        if self._file >= 0:
            return
        with suppress(OSError):
            make_own_folder(self._folder)
            self._file = os.open(self._name, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            share(self._name)
            with suppress(OSError):  # a file system without pipes
                os.mkfifo(self._name + WAKE, 0o600)
                share(self._name + WAKE)
                self._wake = os.open(self._name + WAKE, os.O_RDWR | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
            os.write(self._file, msgspec.json.encode(self._addition))

    def wait(self, seconds: float) -> None:
        """Wait until another process has written the comment, at most so long."""
        if self._wake < 0:
            time.sleep(seconds)
            return
        asked = select.poll()
        asked.register(self._wake, select.POLLIN)
        asked.poll(seconds * 1000)

    def marker(self) -> str:
        """Returns the marker's id once another process has written the comment; empty before."""
        if self._file < 0 or os.fstat(self._file).st_nlink:
            return ""
        said = os.pread(self._file, 1000, 0)
        if said.startswith(b"{") or not said:  # nobody answered: the folder was deleted with it
            self.take_back()
            self.was_lost = True
            return ""
        return said.decode()

    def take_back(self) -> None:
        """Remove its file, so that no other process writes the comment. The caller has the lock, or has given up."""
        if self._wake >= 0:
            with suppress(OSError):
                os.unlink(self._name + WAKE)
            os.close(self._wake)
        if self._file >= 0:
            with suppress(OSError):
                os.unlink(self._name)
            os.close(self._file)
        self._file = self._wake = -1


def claim_pending(folder: str, path: str, blob: str) -> Iterator[ClaimedAdd]:
    """Yields what living processes want to add to one version of one source. The caller has the lock."""
    try:
        names = os.listdir(folder)
    except OSError:
        return
    for name in sorted(names):
        file = os.path.join(folder, name)
        if name.endswith(WAKE):
            if name.removesuffix(WAKE) not in names:
                _remove_old(file)
            continue
        if not _is_alive(file) or not name.startswith(f"{_key(path)}-"):
            continue
        try:
            addition = msgspec.json.decode(read_regular(file, limits.FILE) or b"", type=Addition)
        except (ValueError, RecursionError):
            continue  # half written: the next writer takes it
        if addition.blob == blob:
            yield ClaimedAdd(file, addition)


def _is_alive(file: str) -> bool:
    """Whether the file's process lives and so holds a lock on it. The file of a dead process is removed later."""
    try:
        with open_regular(file, follow=False) as given:
            fcntl.flock(given, fcntl.LOCK_SH | fcntl.LOCK_NB)
            if time.time() - os.fstat(given.fileno()).st_mtime > DEAD_AFTER:
                os.unlink(file)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def _remove_old(pipe: str) -> None:
    """Remove the pipe of a dead process. One of a living process is younger, or is needed no more."""
    with suppress(OSError):
        if time.time() - os.lstat(pipe).st_mtime > DEAD_AFTER:
            os.unlink(pipe)


def _key(path: str) -> str:
    return sha256(os.fsencode(path))[:16]
