"""The sidecar that this process wrote last: held, so that the next addition need not read through the file again.

And whether a file has stayed what was written, while a git changes the work tree: noticed by its index, and waited for.
And what killed writers left beside the files that are written: it goes away.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from postil.core.failure import Failure
from postil.workspace.files import remove_leftovers

if TYPE_CHECKING:
    from postil.comments.sidecar.document import Sidecar

MOST_KEPT = 4 * 1024 * 1024
"""Bytes of the largest sidecar that is kept."""
A_WHILE = 0.01
CHECKOUT = 1.0
"""Seconds for which a git that changes the work tree is waited for; one that commits may hold its lock for long."""
SWEEP_EVERY = 60.0
_NO_INDEX = (0, 0, 0)


class LastWritten:
    """Holds one sidecar, or none. Whoever uses it has the lock."""

    def __init__(self) -> None:
        self._kept: Sidecar | None = None
        self.content: bytes | None = None
        """What was written last: a sidecar whose `original` is this was read from no file."""

    def take(self, path: str, data: bytes) -> Sidecar | None:
        """Returns the sidecar of this source when the file is still what was written, to the byte. Holds none then."""
        kept, self._kept = self._kept, None
        return kept if kept is not None and kept.path == path and kept.original == data else None

    def keep(self, sidecar: Sidecar, content: bytes | None) -> None:
        """Hold a sidecar whose file is exactly `content` now; none when it is something else."""
        self._kept = None
        if content is not None and len(content) <= MOST_KEPT:
            sidecar.original, sidecar.changed = content, False  # further changes are changes of that
            self._kept, self.content = sidecar, content


class SweptFolders:
    """The folders that were looked through for what killed writers left, and when."""

    def __init__(self) -> None:
        self._seen: dict[str, float] = {}

    def sweep(self, root: str, folder: str) -> None:
        """Remove unfinished files of dead writers in a folder, once in a while: a commit would take them along."""
        now = time.monotonic()
        if now < self._seen.get(folder, now):
            return
        self._seen[folder] = now + SWEEP_EVERY
        with suppress(Failure, OSError):
            remove_leftovers(root, folder)


def look_at_index(git_dir: str) -> tuple[int, int, int] | None:
    """Returns what changes when git has changed the work tree; None while it does."""
    if not git_dir:
        return _NO_INDEX
    if os.path.exists(os.path.join(git_dir, "index.lock")):
        return None
    try:
        seen = os.stat(os.path.join(git_dir, "index"))
    except OSError:
        return _NO_INDEX
    return (seen.st_ino, seen.st_size, seen.st_mtime_ns)


def has_stayed(git_dir: str, before: tuple[int, int, int] | None, is_there: Callable[[], bool]) -> bool:
    """Whether a file is what was just written, as `is_there` says; `before` is how the index was until then.

    A checkout looks at a file and replaces it a moment later: what was written between is gone. git holds a lock from
    before it looks until after it has replaced, and then its index is another one.
    """
    now = look_at_index(git_dir)
    if now is not None and now == before:
        return True
    until = time.monotonic() + CHECKOUT
    while look_at_index(git_dir) is None and time.monotonic() < until:
        time.sleep(A_WHILE)
    return is_there()
