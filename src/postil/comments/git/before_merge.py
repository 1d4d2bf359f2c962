"""Comment files as they were where the two sides of a merge parted: what only one side changed is known by it.

Of an unfinished merge git's index has them; of one that is done, the commit from which the last merge's parents came.
"""

from __future__ import annotations

import os
from collections.abc import Collection

from postil.comments.git.taken_out import SUFFIX, read_staged
from postil.comments.sidecar.dialects import Unreadable
from postil.comments.sidecar.document import Sidecar
from postil.comments.sidecar.json_edit import JsonObject
from postil.comments.source_tree import SourceTree
from postil.core.failure import Failure
from postil.workspace.git import read_blob, try_git


class BeforeMerge:
    """The comment files of a workspace before the last merge; each is read once, and nothing until it is asked for."""

    def __init__(self, tree: SourceTree) -> None:
        self._tree = tree
        self._commit: str | None = None
        self._read: dict[str, Sidecar | None] = {}

    def find(self, comment: str, paths: Collection[str]) -> JsonObject:
        """Returns a comment that some files hold as it was before; empty where one of them alone did not hold it."""
        if not self._tree.git:
            return {}
        held = [each for path in paths if (each := self._open(path)) and each.comment(comment)]
        return held[0].raw_comment(comment) if len(held) == 1 else {}

    def _open(self, path: str) -> Sidecar | None:
        if path not in self._read:
            try:
                self._read[path] = Sidecar(path, self._load(path))
            except (Unreadable, Failure):
                self._read[path] = None
        return self._read[path]

    def _load(self, path: str) -> bytes | None:
        if staged := read_staged(self._tree, path).base:
            return staged
        if self._commit is None:
            self._commit = self._find_commit()
        return read_blob(self._tree.root, f"{self._commit}:{path}{SUFFIX}") if self._commit else None

    def _find_commit(self) -> str:
        root = self._tree.root
        if os.path.exists(os.path.join(self._tree.git_dir, "MERGE_HEAD")):
            sides = ["HEAD", "MERGE_HEAD"]
        else:
            sides = try_git(root, "rev-list", "--merges", "--parents", "-1", "HEAD").out.decode().split()[1:3]
        return try_git(root, "merge-base", *sides).out.decode().strip() if len(sides) == 2 else ""
