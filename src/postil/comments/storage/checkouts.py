"""A git that changes the work tree while we write: it looks at a file, and replaces it a moment later.

What was written between the two is gone, though it was acknowledged. git holds a lock from before it looks until after
it has replaced, and then its index is another one: so who wrote looks at both, before and after.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import TypeAlias

LONGEST = 1.0
"""Seconds for which a git that changes the work tree is waited for; one that commits may hold its lock for long."""
A_WHILE = 0.01
Index: TypeAlias = tuple[int, int, int] | None
_NONE = (0, 0, 0)


def look_at_index(git_dir: str) -> Index:
    """Returns what changes when git has changed the work tree; None while it does."""
    if not git_dir:
        return _NONE
    if os.path.exists(os.path.join(git_dir, "index.lock")):
        return None
    try:
        seen = os.stat(os.path.join(git_dir, "index"))
    except OSError:
        return _NONE
    return (seen.st_ino, seen.st_size, seen.st_mtime_ns)


def has_stayed(git_dir: str, before: Index, content: bytes, read: Callable[[], bytes | None]) -> bool:
    """Whether a file is what was just written; `before` is how the index was until then."""
    now = look_at_index(git_dir)
    if now is not None and now == before:
        return True
    until = time.monotonic() + LONGEST
    while look_at_index(git_dir) is None and time.monotonic() < until:
        time.sleep(A_WHILE)
    return read() == content
