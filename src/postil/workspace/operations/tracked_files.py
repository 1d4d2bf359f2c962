"""The walk over the tracked files: what is missing, unreadable, linked outside or half merged."""

from __future__ import annotations

import os
import stat
from typing import Annotated

from msgspec import Meta

from postil.core import call
from postil.core.operation import reads
from postil.workspace.disk import open_regular
from postil.workspace.git import git_lines
from postil.workspace.operations.answers import CheckedFiles, Fault
from postil.workspace.part import Workspace

LARGEST_READ = 1024 * 1024

_LEFT_OUT, _UNMERGED = b"S", b"M"
"""Git's letters for a file that a sparse checkout leaves out, and one with several sides of an unfinished merge."""


class TrackedFiles:
    """The files that git tracks."""

    def __init__(self, context: Workspace) -> None:
        self._workspace = context

    @reads("workspace_check", title="Check the tracked files", shell="workspace check", positional=("paths",))
    def check_files(
        self, paths: Annotated[tuple[str, ...], Meta(description="Only these files and folders", max_length=100)] = ()
    ) -> CheckedFiles:
        """Walk the tracked files; name those missing, unreadable, linked outside or with conflict markers left"""
        repository = self._workspace.find()
        listed = git_lines(repository.root, "ls-files", "-z", "-t", "--cached", "--", *paths, separator=b"\0")
        names = {row[2:]: row[:1] for row in listed if row}
        doing = call.current()
        faults: list[Fault] = []
        for done, (name, letter) in enumerate(names.items(), 1):
            doing.check()
            fault = _find_fault(repository.root, name)
            if letter == _UNMERGED and (fault is None or fault.kind == "missing"):
                fault = Fault(name.decode("utf-8", "backslashreplace"), "unmerged")
            if fault is not None and not (letter == _LEFT_OUT and fault.kind == "missing"):
                faults.append(fault)
            if done % 50 == 0 or done == len(names):
                doing.progress(done, len(names), f"{done} of {len(names)} files")
        return CheckedFiles(len(names), faults)


def _find_fault(root: str, name: bytes) -> Fault | None:
    path = os.path.join(os.fsencode(root), name)
    shown = name.decode("utf-8", "backslashreplace")
    try:
        seen = os.lstat(path)
        if stat.S_ISLNK(seen.st_mode):
            inside = os.path.realpath(path).startswith(os.fsencode(root) + b"/")
            return None if inside else Fault(shown, "outside-link")
        if not stat.S_ISREG(seen.st_mode) or seen.st_size > LARGEST_READ:
            return None  # a submodule's folder; or too large to have been merged by hand
        with open_regular(os.fsdecode(path), follow=False) as file:
            line = _find_conflict(file.read(LARGEST_READ))
    except FileNotFoundError:
        return Fault(shown, "missing")
    except OSError:
        return Fault(shown, "unreadable")
    return Fault(shown, "conflict-markers", line) if line else None


def _find_conflict(content: bytes) -> int | None:
    """Return the line of a conflict's first marker, when the later two follow it."""
    if b"<<<<<<< " not in content or b"\0" in content[:8000]:
        return None
    opened: int | None = None
    halved = False
    for number, line in enumerate(content.split(b"\n"), 1):
        if line.startswith(b"<<<<<<< "):
            opened, halved = number, False
        elif opened and line.rstrip(b"\r") == b"=======":
            halved = True
        elif opened and halved and line.startswith(b">>>>>>> "):
            return opened
    return None
