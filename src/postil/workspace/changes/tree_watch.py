"""Noticing that the work tree, the index or HEAD changed: the folders that git would look into, and git's own files."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

from postil.core.failure import Failure
from postil.workspace.git import git_lines
from postil.workspace.repository import Repository
from postil.workspace.watch import EVERYTHING, MOST_FOLDERS, Watch

QUIET = 0.05
"""Seconds to wait for the rest of a burst, such as a checkout."""
LOOK = 0.5
GIT_FILES = frozenset({"index", "HEAD", "packed-refs"})
"""The files of the git folder that say what is staged and where HEAD is."""


def list_folders(repository: Repository) -> list[str]:
    """Returns the folders of the work tree that hold files of git's, or that git would take."""
    root = repository.root
    found = {root: None}
    try:
        for name in git_lines(root, "ls-files", "-z", "-co", "--exclude-standard", separator=b"\0"):
            folder = os.path.dirname(os.fsdecode(name))
            while folder and (path := os.path.join(root, folder)) not in found and len(found) < MOST_FOLDERS - 8:
                found[path] = None
                folder = os.path.dirname(folder)
    except Failure:
        pass  # a repository that git cannot read: its root is all that is watched
    return [*found]


def watch_tree(repository: Repository, changed: Callable[[], None]) -> Callable[[], None]:
    """Call `changed` from a thread after each change. Returns a function that stops this."""
    heads = os.path.join(repository.common_dir, "refs", "heads")
    own = [repository.git_dir, repository.common_dir, heads]
    watch = Watch([*list_folders(repository), *own])
    ended = threading.Event()

    def matters(path: str) -> bool:
        folder, name = os.path.split(path)
        if path == EVERYTHING or not path.startswith((repository.git_dir, repository.common_dir)):
            return name != ".git"
        return (folder.startswith(heads) and not name.endswith(".lock")) or name in GIT_FILES

    def look() -> None:
        while not ended.is_set():
            names = {path for path in watch.wait(LOOK) if matters(path)}
            if not names or ended.is_set():
                continue
            ended.wait(QUIET)
            names |= {path for path in watch.changed() if matters(path)}
            for path in names:
                if os.path.isdir(path) and not os.path.islink(path) and ".git" not in path.split(os.sep):
                    watch.add(path)
            changed()
        watch.close()

    threading.Thread(target=look, name="postil-tree", daemon=True).start()
    return ended.set
