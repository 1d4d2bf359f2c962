"""Where the lines of an entity are: in the index itself, or still in the segments of git that it names.

A build of the index copies no sealed line: it notes for each entity the segments that hold some of its lines. An entity
that changes later has all its lines in the index from then on.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

from postil.tracker.events import LARGE, entity_of
from postil.tracker.index.disk_group import DiskGroup
from postil.tracker.log.format import Objects, open_objects

if TYPE_CHECKING:
    from postil.tracker.index.line_file import LineFile

_KEPT = 64
"""Segments held while entities are read one after the other: neighbours mostly lie in the same ones."""
_ALL = 8
"""From one in so many entities on, reading everything once is cheaper than looking for each."""
_FEW = 256
_MANY = 64
"""Of an entity that lies in so many segments the lines are not held before they are counted."""
_LONGEST = 500_000_000
"""What SQLite surely takes as one value."""
_WHERE = "SELECT n, places, length(lines) FROM log WHERE id = ?"


def make_mark(number: int) -> str:
    """Returns one letter for the segment of this number, so that the segments of an entity are a short text."""
    return chr(number if number < 0xD800 else number + 0x800)  # between those are no letters


def read_histories(db: sqlite3.Connection, root: str, ids: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    """Yields the lines of some entities, in the order asked for; unknown ones are left out."""
    reader = _Segments(db, root)
    try:
        for id_ in ids:
            found = db.execute("SELECT places, lines FROM log WHERE id = ?", (id_,)).fetchone()
            if found:
                places, own = found
                if not places:  # what the index holds itself is there once
                    yield id_, own or b""
                    continue
                lines = [*reader.lines(id_, places), *(own.split(b"\n") if own else ())]
                yield id_, b"\n".join(dict.fromkeys(lines))
    finally:
        reader.close()


def spool_history(db: sqlite3.Connection, root: str, folder: str | None, id_: str) -> LineFile | None:
    """Returns the lines of an entity in a file if they may be too many to hold; some may be in it twice."""
    from postil.tracker.index.line_file import LineFile  # hardly an entity is so large

    n, places, size = db.execute(_WHERE, (id_,)).fetchone() or (0, None, None)
    if len(places or "") < _MANY and (size or 0) < LARGE:
        return None
    found = LineFile(folder)
    reader = _Segments(db, root)
    try:
        for mark in places or "":
            if lines := reader.lines(id_, mark):
                found.write((b"\n" if len(found) else b"") + b"\n".join(lines))
    finally:
        reader.close()
    if size:
        found.write(b"\n" if len(found) else b"")
        with db.blobopen("log", "lines", n, readonly=True) as blob:
            while some := blob.read(LARGE):
                found.write(some)
    return found


def keep_spooled(db: sqlite3.Connection, id_: str, lines: LineFile) -> None:
    """Let the index hold what was read from segments, so that the next read of it reads nothing from git."""
    n, places, _ = db.execute(_WHERE, (id_,)).fetchone()
    if places and len(lines) < _LONGEST:
        db.execute("UPDATE log SET places = NULL, lines = zeroblob(?) WHERE n = ?", (len(lines), n))
        with db.blobopen("log", "lines", n) as blob:
            for at in range(0, len(lines), LARGE):
                blob.write(lines[at : at + LARGE])


def read_all_histories(
    db: sqlite3.Connection, root: str, folder: str | None, wanted: set[str] | None = None
) -> Iterator[tuple[str, bytes]]:
    """Yields the lines of every entity (or of those wanted), in an order that depends on the entities alone."""
    group = DiskGroup(folder, wanted)
    for (lines,) in db.execute("SELECT lines FROM log WHERE lines IS NOT NULL"):
        group.add(lines)
    oids = [oid for (oid,) in db.execute("SELECT oid FROM segment ORDER BY mark")]
    if oids:
        with open_objects(root) as git:
            for blob in git.blobs(oids):
                group.add(blob)
    for id_, lines in group.entities():
        yield id_, b"\n".join(lines)


def read_some_histories(
    db: sqlite3.Connection, root: str, folder: str | None, ids: Sequence[str]
) -> Iterator[tuple[str, bytes]]:
    """Yields the lines of some entities in any order, found in the cheaper way."""
    (known,) = db.execute("SELECT count(*) FROM log").fetchone()
    if len(ids) > _FEW and len(ids) * _ALL > known:
        return read_all_histories(db, root, folder, set(ids))
    return read_histories(db, root, ids)


class _Segments:
    """Segments by mark, the last few kept, over one conversation with git that begins when it is needed."""

    def __init__(self, db: sqlite3.Connection, root: str) -> None:
        self._db, self._root = db, root
        self._talk = ExitStack()
        self._git: Objects | None = None
        self._kept: dict[str, dict[str, list[bytes]]] = {}

    def lines(self, id_: str, places: str | None) -> list[bytes]:
        return [line for mark in places or "" for line in self._segment(mark).get(id_, ())]

    def close(self) -> None:
        self._talk.close()

    def _segment(self, mark: str) -> dict[str, list[bytes]]:
        if mark in self._kept:
            self._kept[mark] = self._kept.pop(mark)  # the last used goes last
            return self._kept[mark]
        (oid,) = self._db.execute("SELECT oid FROM segment WHERE mark = ?", (mark,)).fetchone()
        if self._git is None:
            self._git = self._talk.enter_context(open_objects(self._root))
        self._git.ask(oid)
        parted: dict[str, list[bytes]] = {}
        for line in self._git.segment(oid).split(b"\n"):
            entity = entity_of(line) if line else None
            if entity:
                parted.setdefault(entity, []).append(line)
        self._kept[mark] = parted
        if len(self._kept) > _KEPT:
            del self._kept[next(iter(self._kept))]
        return parted
