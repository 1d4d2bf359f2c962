"""The ref of one's own log moved as git does it, without a process: under its lock, with a line in its reflog.

Only the plain case: a ref of ours that lies in a file of its own and has a reflog. Everything else is left to git.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from postil.core.failure import StorageFailed
from postil.tracker.log.refs import LOG
from postil.tracker.log.salvage import REFLOG_MESSAGE
from postil.workspace.disk import read_regular
from postil.workspace.failures import FileMissing, FileUnreadable, UnsafePath, WriteFailed
from postil.workspace.files import atomic_write
from postil.workspace.git import find_object_folder
from postil.workspace.paths import RelativePath
from postil.workspace.repository import Repository

_SAFELY = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


class _GitsToDo(Exception):
    """The ref is not where it was, or has no reflog."""


def move_file(repository: Repository, ref: str, oid: str, old: str, who: bytes, check: Callable[[], None]) -> bool:
    """Move a ref from old to oid, durably; `who` is who moves it, and when, as a commit says it.

    `check` is called before it moves: when it raises, the ref stays where it is. Returns False where it is git's to do,
    or to say why it cannot be done: then the ref is as it was. Raises StorageFailed when it is moved and may not
    survive a power cut.
    """
    if not ref.startswith(LOG) or find_object_folder(repository.root) is None:
        return False
    path = os.path.join(repository.common_dir, ref)

    def check_all() -> None:
        """Called while the ref is locked."""
        if _read(path) != old:
            raise _GitsToDo
        check()
        if not _note(repository, ref, b"%s %s %s" % (old.encode(), oid.encode(), who)):
            raise _GitsToDo

    try:
        # Under the name of git's lock, and no other: what a killed writer leaves in this folder, git takes for a ref.
        lock = f"{os.path.basename(ref)}.lock"
        atomic_write(repository.common_dir, RelativePath(ref), f"{oid}\n".encode(), check_all, lock=lock)
    except (
        _GitsToDo,
        FileMissing,
        FileUnreadable,
        UnsafePath,
    ):  # packed; and where a link leads that the user trusts, git goes
        return False
    except WriteFailed as fault:  # another git is at it, or was killed there; or the disk is full
        if _read(path) != oid:
            return False
        unsure = StorageFailed(
            f"{ref} was written and could not be synced",
            advice="Look at the disk; whether the change survives a power cut is not known",
        )
        unsure.doubtful = True
        raise unsure from fault
    return True


def _read(path: str) -> str:
    """Returns what a ref's file names; empty where there is none, as in a table or among packed refs."""
    return (read_regular(path, 128) or b"").decode("ascii", "replace").rstrip("\n")


def _note(repository: Repository, ref: str, move: bytes) -> bool:
    """Write a line into the reflog of a ref. Returns whether there is one."""
    line = b"%s\t%s\n" % (move, REFLOG_MESSAGE.encode())
    try:
        file = os.open(os.path.join(repository.common_dir, "logs", ref), os.O_RDWR | os.O_APPEND | _SAFELY)
        try:
            size = os.fstat(file).st_size
            if size and os.pread(file, 1, size - 1) != b"\n":  # a power cut left half a line
                line = b"\n" + line
            written = os.write(file, line)
            if written != len(line):  # the disk is full: half a line would swallow the next one
                os.ftruncate(file, size)
            return written == len(line)
        finally:
            os.close(file)
    except OSError:
        return False
