"""Whether anything in the workspace happened since last time: one question to the kernel, not a stat of every file."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable

from postil.comments.source_tree import SourceTree
from postil.comments.storage.store import skipped_folder
from postil.workspace.watch import MOST_FOLDERS, Watch

LONGEST_TRUST = 10.0
"""Seconds after which the files are looked at whatever the kernel says: not every file system tells it."""


class FolderWatch:
    """A watch over all folders of a workspace, asked and never waited for."""

    def __init__(self, watch: Watch, folders: int) -> None:
        self._watch = watch
        self._folders = folders
        self._looked = time.monotonic()

    @classmethod
    def over(cls, tree: SourceTree) -> FolderWatch | None:
        """Returns the watch, or None where the kernel does not tell at once: too many folders, or no watches left."""
        folders = folders_below(tree.root)
        if len(folders) >= MOST_FOLDERS:
            return None
        watch = Watch([*folders, *([tree.git_dir] if tree.git_dir else [])])
        if not watch.immediate:
            watch.close()
            return None
        return cls(watch, len(folders))

    def something_happened(self) -> bool:
        """Whether to look at the files again."""
        names = self._watch.changed()
        watch_new_folders(self._watch, names)
        now = time.monotonic()
        if not names and now - self._looked < LONGEST_TRUST:
            return False
        self._looked = now
        return True


def watch_new_folders(watch: Watch, names: Iterable[str]) -> bool:
    """Watch the folders among these names and all below them. Returns whether there were any."""
    new = [name for name in names if os.path.isdir(name)]
    for name in new:
        for folder in folders_below(name):
            watch.add(folder)
    return bool(new)


def folders_below(top: str) -> list[str]:
    """Returns a folder and all below it that may hold sources."""
    found: list[str] = []
    for folder, names, _ in os.walk(top):
        if len(found) >= MOST_FOLDERS:
            break  # no more are watched
        names[:] = [name for name in names if not skipped_folder(name)]
        found.append(folder)
    return found
