"""What the refs hold that the index has not taken in yet, log by log; and what is wrong with them, noted in the index.

Nothing here knows what events mean. A log that cannot be read is noted and left out; one that somebody rewrote is noted
and read beside its old end, which is kept.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

import msgspec

from postil.tracker.index.tables import write_meta
from postil.tracker.log.format import LogCommit, LogDamaged, Objects, Unread, find_unread, is_ancestor, open_objects
from postil.tracker.log.refs import KEPT, Tip
from postil.workspace.git import try_git


class NewCommits(msgspec.Struct, frozen=True):
    """What one log has that is new."""

    tip: Tip
    unread: Unread


class LogVanished(Exception):
    """A ref is gone and no other continues its log: the index must be built from what is left."""


def find_new_commits(db: sqlite3.Connection, root: str, found: Sequence[Tip]) -> list[NewCommits]:
    """Returns what is new in these refs; the index remembers their ends from now on."""
    known = _read_known(db)
    present = {tip.ref for tip in found}
    for name, (oid, replica, _) in known.items():
        if name not in present:
            others = [tip for tip in found if tip.replica == replica]
            if not any(tip.oid == oid or is_ancestor(root, oid, tip.oid) for tip in others):
                raise LogVanished
            db.execute("DELETE FROM ref WHERE name = ?", (name,))
    changed = [tip for tip in found if known.get(tip.ref, ("",))[0] != tip.oid]
    return _Reader(db, root, known).read(changed) if changed else []


def remember(db: sqlite3.Connection, tip: Tip, end: int) -> None:
    """The index has taken in a log up to this commit."""
    db.execute("INSERT OR REPLACE INTO ref VALUES (?, ?, ?, ?)", (tip.ref, tip.oid, tip.replica, end))


def note_damage(db: sqlite3.Connection, tip: Tip, fault: LogDamaged) -> None:
    """A log could not be read to its end: say so, and read all of it when it moves."""
    _note(db, tip.ref, f"{tip.ref}: {fault.message}")
    remember(db, tip, 0)


Known = dict[str, tuple[str, str, int]]


def _read_known(db: sqlite3.Connection) -> Known:
    return {
        name: (oid, replica, pos) for name, oid, replica, pos in db.execute("SELECT name, oid, replica, pos FROM ref")
    }


def _note(db: sqlite3.Connection, key: str, text: str) -> None:
    write_meta(db, f"damage:{key}", text)


class _Reader:
    """Looks at the changed logs one after the other, knowing which ends of each are in the index."""

    def __init__(self, db: sqlite3.Connection, root: str, known: Known) -> None:
        self._db, self._root, self._known = db, root, known
        self._ends: dict[str, dict[str, int]] = {}
        for oid, replica, pos in known.values():
            self._ends.setdefault(replica, {})[oid] = pos

    def read(self, changed: Sequence[Tip]) -> list[NewCommits]:
        found: list[NewCommits] = []
        left = list(changed)
        while left:
            with open_objects(self._root) as git:  # a new conversation after each damage: it may have ended git's
                commits, left = self._commits(git, left)
                # The longest first: what other refs hold of the same log is then known already.
                commits.sort(key=lambda pair: (-pair[1].end, pair[0].ref))
                while commits:
                    tip, commit = commits.pop(0)
                    try:
                        found.append(NewCommits(tip, self._one(git, tip, commit)))
                        remember(self._db, tip, commit.end)
                    except LogDamaged as fault:
                        note_damage(self._db, tip, fault)
                        left += [tip for tip, _ in commits]
                        break
        return found

    def _commits(self, git: Objects, tips: Sequence[Tip]) -> tuple[list[tuple[Tip, LogCommit]], list[Tip]]:
        """Returns the commits of the tips, as far as git reads them; and the tips not yet asked for."""
        read: list[tuple[Tip, LogCommit]] = []
        for number, tip in enumerate(tips):
            try:
                read.append((tip, git.commit(tip.oid)))
            except LogDamaged as fault:
                note_damage(self._db, tip, fault)
                return [], [*(tip for tip, _ in read), *tips[number + 1 :]]
        return read, []

    def _one(self, git: Objects, tip: Tip, commit: LogCommit) -> Unread:
        ends = self._ends.setdefault(tip.replica, {})
        old = self._known[tip.ref][0] if tip.ref in self._known else None
        new: Unread | None = None if ends else find_unread(self._root, git, commit, None)
        base: str | None = None
        for oid, end in sorted(ends.items(), key=lambda item: -item[1]):
            if oid == tip.oid or (commit.end <= end and is_ancestor(self._root, tip.oid, oid)):
                new = Unread()
            elif commit.end > end and end > 0:
                new = find_unread(self._root, git, commit, (oid, end))
                base = oid
            if new is not None:
                break
        # Having read on from the old end proves that the ref moved forward; git need not walk the history for it.
        proved = new is not None and base == old
        if old is not None and old != tip.oid and not proved and not self._moved_on(old, tip.oid, ends):
            self._keep(tip, old)
        if new is None:
            # Two histories of one log: read all of this one; events that are known already count once.
            _note(self._db, tip.ref, f"{tip.ref}: two different histories of the log {tip.replica}")
            new = find_unread(self._root, git, commit, None) or Unread()
        ends[tip.oid] = commit.end
        return new

    def _moved_on(self, old: str, new: str, ends: dict[str, int]) -> bool:
        """Returns whether a ref moved forward; one that could not be read before has no history to lose."""
        return ends.get(old, 0) == 0 or is_ancestor(self._root, old, new)

    def _keep(self, tip: Tip, old: str) -> None:
        """A fetched log was rewritten: its old end stays reachable, so nothing that was seen is lost."""
        kept = try_git(self._root, "update-ref", "--end-of-options", f"{KEPT}{tip.replica}/{old[:16]}", old)
        fate = "kept" if kept.status == 0 else "lost"
        _note(
            self._db,
            f"{tip.ref}:{old[:12]}",
            f"{tip.ref}: the log was rewritten (its old end {old[:12]} is {fate})",
        )
