"""Whether anything in the workspace happened since last time: one question to the kernel, not a stat of every file."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable

from postil.comments.source_tree import SourceTree
from postil.comments.storage.store import SUFFIX, skipped_folder
from postil.workspace.disk import open_regular
from postil.workspace.files import BEGUN, UNFINISHED
from postil.workspace.watch import MOST_FOLDERS, Watch

LONGEST_TRUST = 10.0
"""Seconds after which the files are looked at whatever the kernel says: not every file system tells it."""

MOST_SIDECARS = 8
"""Changed sidecars that are told apart; where there are more, everything is looked at."""
LARGEST_READ = 512 * 1024
_ESCAPED = b"\\u00"
"""An id that is written so is not found as it is."""


class FolderWatch:
    """A watch over all folders of a workspace, asked and never waited for."""

    def __init__(self, watch: Watch, folders: int) -> None:
        self._watch = watch
        self._folders = folders
        self._looked = time.monotonic()
        self._happened, self._is_known = False, True
        self._sidecars: set[str] = set()
        """The sidecars that changed since the files were looked at, where nothing else did."""

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
        self._take()
        now = time.monotonic()
        if not self._happened and now - self._looked < LONGEST_TRUST:
            return False
        self._looked, self._happened, self._is_known, self._sidecars = now, False, True, set()
        return True

    def look_again(self) -> None:
        """The files were not looked at after all."""
        self._happened, self._is_known = True, False

    def list_sidecars(self) -> set[str] | None:
        """Returns the sidecars that changed since the files were looked at; None where more may have happened."""
        self._take()
        is_due = time.monotonic() - self._looked >= LONGEST_TRUST
        return None if is_due or not self._is_known else self._sidecars

    def _take(self) -> None:
        """Take over what the kernel says. A file that is being written says nothing: its other name comes after."""
        names = self._watch.changed()
        if not names:
            return
        self._happened = True
        has_folders = watch_new_folders(self._watch, names)
        new = {name for name in names if not _is_unfinished(name)}
        self._sidecars |= new
        if has_folders or len(self._sidecars) > MOST_SIDECARS or not all(name.endswith(SUFFIX) for name in new):
            self._is_known, self._sidecars = False, set()


def _is_unfinished(name: str) -> bool:
    base = os.path.basename(name)
    return base.startswith(BEGUN) and base.endswith(UNFINISHED)


def may_name(sidecar: str, comment: str) -> bool:
    """Whether a sidecar may hold the comment of an id; not where it is gone, or the id is nowhere in its bytes."""
    try:
        with open_regular(sidecar, follow=False) as file:
            data = file.read(LARGEST_READ + 1)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return len(data) > LARGEST_READ or _ESCAPED in data or comment.encode() in data


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
