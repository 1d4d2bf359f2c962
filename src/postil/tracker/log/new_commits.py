"""What the refs hold that the index has not taken in yet, log by log; and what is wrong with them, noted in the index.

Nothing here knows what events mean. A log that cannot be read whole is noted, and what survives of it is read; one that
somebody rewrote is noted and read beside its old end, which is kept.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

import msgspec

from postil.tracker.index.tables import write_meta
from postil.tracker.log.format import (
    LogCommit,
    LogDamaged,
    LogTooNew,
    Objects,
    Unread,
    find_uncopied,
    find_unread,
    is_ancestor,
    open_objects,
)
from postil.tracker.log.refs import KEPT, Tip
from postil.tracker.log.salvage import find_surviving
from postil.workspace.git import DURABLE, run_git, try_git


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
    vanished = False
    lost: dict[str, str] = {}
    tips: dict[str, list[str]] = {}
    for tip in found:
        tips.setdefault(tip.replica, []).append(tip.oid)
    for name, (oid, replica, _) in known.items():
        if name not in present:
            if oid and not any(other == oid or is_ancestor(root, oid, other) for other in tips.get(replica, ())):
                if not name.startswith(KEPT):
                    lost[oid] = replica
                vanished = True  # the others that are gone are kept too, before the index forgets their ends
            else:
                db.execute("DELETE FROM ref WHERE name = ?", (name,))
    _keep_ends(db, root, lost, found)
    if vanished:
        raise LogVanished
    changed = [tip for tip in found if known.get(tip.ref, ("",))[0] != tip.oid]
    return _Reader(db, root, known, found).read(changed) if changed else []


def remember(db: sqlite3.Connection, tip: Tip, end: int) -> None:
    """The index has taken in a log up to this commit."""
    db.execute("INSERT OR REPLACE INTO ref VALUES (?, ?, ?, ?)", (tip.ref, tip.oid, tip.replica, end))


def note_damage(db: sqlite3.Connection, tip: Tip, fault: LogDamaged) -> None:
    """A log could not be read whole: say so, and read all of it when it moves."""
    kind = "newer" if isinstance(fault, LogTooNew) else "damage" if fault.lost else "refused"
    write_meta(db, f"{kind}:{tip.ref}", f"{tip.ref}: {fault.message}")
    remember(db, tip, 0)


def _keep_ends(db: sqlite3.Connection, root: str, lost: dict[str, str], found: Sequence[Tip]) -> None:
    """Keep the ends of logs that are gone, but for those that live on in others: anybody can write that they do."""
    absorbed = [oid for oid, replica in lost.items() if _is_absorbed(db, replica)]
    uncopied = find_uncopied(root, absorbed, [tip.oid for tip in found]) if absorbed else set[str]()
    kept = {oid: replica for oid, replica in lost.items() if oid in uncopied or oid not in set(absorbed)}
    moves = "".join(f"update {_name_kept(replica, oid)} {oid}\n" for oid, replica in kept.items())
    # All at once, and one by one if git does not have one of them any more.
    if moves and try_git(root, "update-ref", "--stdin", input=moves.encode(), mode=DURABLE).status != 0:
        for oid, replica in kept.items():
            _keep_end(root, replica, oid)


def _keep_end(root: str, replica: str, oid: str) -> bool:
    """Let the old end of a log stay reachable. Returns whether git could."""
    name = _name_kept(replica, oid)
    return try_git(root, "update-ref", "--end-of-options", name, oid, mode=DURABLE).status == 0


def _name_kept(replica: str, oid: str) -> str:
    return f"{KEPT}{replica}/{oid[:16]}"


def _is_absorbed(db: sqlite3.Connection, replica: str) -> bool:
    """Returns whether somebody says that all events of a log live on in another."""
    sql = "SELECT 1 FROM absorbed JOIN writer USING (replica) WHERE replica = ? AND upto >= n"
    return db.execute(sql, (replica,)).fetchone() is not None


Known = dict[str, tuple[str, str, int]]


def _read_known(db: sqlite3.Connection) -> Known:
    return {
        name: (oid, replica, pos) for name, oid, replica, pos in db.execute("SELECT name, oid, replica, pos FROM ref")
    }


class _Reader:
    """Looks at the changed logs one after the other, knowing which ends of each are in the index."""

    def __init__(self, db: sqlite3.Connection, root: str, known: Known, found: Sequence[Tip]) -> None:
        self._db, self._root, self._known, self._found = db, root, known, found
        self._salvaged: list[NewCommits] = []
        self._shallow: bool | None = None
        self._ends: dict[str, dict[str, int]] = {}
        for oid, replica, pos in known.values():
            if oid:  # else only a part of it is known
                self._ends.setdefault(replica, {})[oid] = pos

    def read(self, changed: Sequence[Tip]) -> list[NewCommits]:
        found: list[NewCommits] = []
        left = list(changed)
        while left:
            with open_objects(self._root) as git:  # a new conversation where a damage ended it
                commits, left = self._commits(git, left)
                # The longest first: what other refs hold of the same log is then known already.
                commits.sort(key=lambda pair: (-pair[1].end, pair[0].ref))
                while commits:
                    tip, commit = commits.pop(0)
                    try:
                        found.append(NewCommits(tip, self._one(git, tip, commit)))
                        self._remember(tip, commit.end)
                    except LogDamaged as fault:
                        found.append(self._salvage(tip, fault))
                        if fault.ended:
                            left += [tip for tip, _ in commits]
                            break
        return found + self._salvaged

    def _commits(self, git: Objects, tips: Sequence[Tip]) -> tuple[list[tuple[Tip, LogCommit]], list[Tip]]:
        """Returns the commits of the tips, as far as git reads them; and the tips not yet asked for."""
        read: list[tuple[Tip, LogCommit]] = []
        for number, tip in enumerate(tips):
            try:
                read.append((tip, git.commit(tip.oid)))
            except LogDamaged as fault:
                self._salvaged.append(self._salvage(tip, fault))
                if fault.ended:
                    return [], [*(tip for tip, _ in read), *tips[number + 1 :]]
        return read, []

    def _remember(self, tip: Tip, end: int) -> None:
        remember(self._db, tip, end)
        for kind in ("damage", "newer", "refused"):
            self._db.execute("DELETE FROM meta WHERE key = ?", (f"{kind}:{tip.ref}",))

    def _salvage(self, tip: Tip, fault: LogDamaged) -> NewCommits:
        """Returns what survives of a damaged log. What is lost is looked for again with every read."""
        if fault.lost and self._is_shallow():
            fault.message += " (this clone is shallow: `git fetch --unshallow` with the same refspec brings the rest)"
        note_damage(self._db, tip, fault)
        if isinstance(fault, LogTooNew):
            return NewCommits(tip, Unread())
        known = self._known.get(tip.ref)
        start = known[2] if known and not known[0] else 0
        others = [other.oid for other in self._found if other.replica == tip.replica]
        unread = find_surviving(self._root, tip, others, start)
        sealed = max([start, *(segment.end for segment in unread.segments)])
        if fault.lost:
            remember(self._db, tip._replace(oid=""), sealed)
        return NewCommits(tip, unread)

    def _is_shallow(self) -> bool:
        if self._shallow is None:
            self._shallow = run_git(self._root, "rev-parse", "--is-shallow-repository").strip() == b"true"
        return self._shallow

    def _one(self, git: Objects, tip: Tip, commit: LogCommit) -> Unread:
        ends = self._ends.setdefault(tip.replica, {})
        old = self._known[tip.ref][0] if tip.ref in self._known else None
        new = None if any(ends.values()) else find_unread(self._root, git, commit, None)
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
            write_meta(self._db, f"rewritten:{tip.ref}", f"{tip.ref}: two different histories of the log {tip.replica}")
            new = find_unread(self._root, git, commit, None) or Unread()
        ends[tip.oid] = commit.end
        return new

    def _moved_on(self, old: str, new: str, ends: dict[str, int]) -> bool:
        """Returns whether a ref moved forward; one that could not be read before has no history to lose."""
        return ends.get(old, 0) == 0 or is_ancestor(self._root, old, new)

    def _keep(self, tip: Tip, old: str) -> None:
        """A fetched log was rewritten: its old end stays reachable, so nothing that was seen is lost."""
        fate = "kept" if _keep_end(self._root, tip.replica, old) else "lost"
        write_meta(
            self._db,
            f"rewritten:{tip.ref}:{old[:12]}",
            f"{tip.ref}: the log was rewritten (its old end {old[:12]} is {fate})",
        )
