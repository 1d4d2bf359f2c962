"""What can still be read of a log when git has lost some of its objects: all but the events of those.

A commit that is missing hides the way to the ones before it. They are found through the segments, through the reflog of
the ref and through other refs of the same log. Repairing is `heal.py`'s business.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from postil.core import limits
from postil.tracker.log.format import LogCommit, LogDamaged, Segment, Unread, open_objects
from postil.tracker.log.refs import Tip
from postil.workspace.disk import read_regular
from postil.workspace.repository import locate

REFLOG_MESSAGE = "postil"
"""What our own moves of a ref say in its reflog; they only ever go forward."""


def find_surviving(root: str, tip: Tip, others: Iterable[str] = (), start: int = 0) -> Unread:
    """Returns all that can be read of a damaged log after a position; `others` are more ends of it."""
    ends = [tip.oid, *(new for _, new, _ in read_reflog(root, tip.ref)), *others]
    segments = find_segments(root, ends)
    sealed = max([start, *(segment.end for segment in segments)])
    commits = walk(root, ends, sealed)
    return Unread([one for one in segments if one.end > start], [one for one in commits if one.end > sealed])


def find_segments(root: str, ends: Iterable[str]) -> list[Segment]:
    """Returns the segments of the first of these commits whose tree can be read."""
    for oid in ends:
        try:
            with open_objects(root) as git:
                return git.segments(git.commit(oid).tree)
        except LogDamaged:
            continue
    return []


def walk(root: str, ends: Iterable[str], sealed: int = 0) -> list[LogCommit]:
    """Returns the commits that can be reached from any of these ends, down to a position, in the order of the log.

    Of more than can be held the last.
    """
    found: dict[str, LogCommit] = {}
    size = 0
    missing: set[str] = set()
    for end in ends:
        at: str | None = end
        while at is not None and at not in found and at not in missing:
            try:
                with open_objects(root) as git:  # a new conversation after each damage: it may have ended git's
                    while at is not None and at not in found and at not in missing:
                        found[at] = commit = git.commit(at)
                        size += len(commit.lines)
                        at = commit.parent if commit.position > sealed and size <= limits.LOG_TAIL else None
            except LogDamaged:
                missing.add(at or "")
    return sorted(found.values(), key=lambda commit: (commit.position, commit.oid))


def read_reflog(root: str, ref: str) -> list[tuple[str, str, str]]:
    """Returns the moves of a ref as (old, new, why), the newest first. Empty where git keeps no such file."""
    where = locate(root)
    file = os.path.join(where.common_dir if where else root, "logs", *ref.split("/"))
    lines = (read_regular(file, limits.GIT_OUTPUT) or b"").decode("utf-8", "replace").split("\n")
    moves: list[tuple[str, str, str]] = []
    for line in reversed(lines):
        why = line.partition("> ")[2].partition("\t")[2]  # the name of who moved it may hold a tab, too
        words = line.split(" ", 2)
        if len(words) > 2:
            moves.append((words[0], words[1], why))
    return moves
