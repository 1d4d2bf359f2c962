"""The repository a person stands in, as the rest of Postil speaks of it.

Finding one reads files only; git itself is asked where a file cannot tell (the branch, in reftable repositories).
"""

from __future__ import annotations

import os

import msgspec

from postil.workspace.digest import sha256
from postil.workspace.failures import NoRepository
from postil.workspace.git import try_git
from postil.workspace.gitdir import GitDir, locate


class Repository(msgspec.Struct, frozen=True):
    """One work tree and the git directory it belongs to."""

    root: str
    git_dir: str
    common_dir: str
    bare: bool

    @property
    def key(self) -> str:
        """The same for every way to reach this work tree (symlinks, subfolders), and for no other work tree."""
        named = os.fsencode(self.common_dir) + b"\0" + os.fsencode(self.root)
        return sha256(named)[:32]

    def postil_folder(self) -> str:
        """Where our locks and caches of this repository live; shared by its work trees, never committed."""
        return os.path.join(self.common_dir, "postil")

    def branch(self) -> str | None:
        """The branch that is checked out, or None when HEAD is detached."""
        try:
            with open(os.path.join(self.git_dir, "HEAD"), "rb") as file:
                head = file.read(4096).strip()
        except OSError:
            return None
        if not head.startswith(b"ref:"):
            return None
        name = os.fsdecode(head[len(b"ref:") :].strip())
        if name == "refs/heads/.invalid":  # what a reftable repository writes for old programs
            asked = try_git(self.root, "symbolic-ref", "--quiet", "HEAD")
            name = os.fsdecode(asked.out.strip())
        return name.removeprefix("refs/heads/") or None


def find_repository(start: str) -> Repository:
    """The repository that encloses `start`; raises NoRepository."""
    found = locate(start)
    if found is None:
        raise NoRepository(start)
    return _repository(found)


def _repository(found: GitDir) -> Repository:
    return Repository(found.root, found.git_dir, found.common_dir, found.bare)
