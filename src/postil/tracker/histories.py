"""Where the lines of an entity are: in the index itself, or still in the segments of git that it names.

A build of the index copies no sealed line: it notes for each entity the segments that hold some of its lines. An entity
that changes later has all its lines in the index from then on.
"""

from __future__ import annotations

import sqlite3
from array import array
from collections.abc import Iterable, Iterator, Sequence

from postil.tracker.events import entity_of
from postil.tracker.log import Objects, objects
from postil.tracker.spool import Spool

_KEPT = 64
"""Segments held while entities are read one after the other: neighbours mostly lie in the same ones."""
_ALL = 8
"""From one in so many entities on, reading everything once is cheaper than looking for each."""
_FEW = 256


def write_places(db: sqlite3.Connection, places: Iterable[tuple[int, ...]]) -> None:
    """Keep sets of segments under their numbers, from 0 on."""
    packed = ((number, array("I", segments).tobytes()) for number, segments in enumerate(places))
    db.executemany("INSERT INTO place VALUES (?, ?)", packed)


def histories(db: sqlite3.Connection, root: str, ids: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    """The lines of some entities, in the order asked for; unknown ones are left out."""
    reader = _Segments(db, root)
    try:
        for id_ in ids:
            found = db.execute(
                "SELECT segments, lines FROM log LEFT JOIN place ON place.p = log.p WHERE id = ?", (id_,)
            ).fetchone()
            if found:
                segments, own = found
                lines = [*reader.lines(id_, segments or b""), *(own.split(b"\n") if own else ())]
                yield id_, b"\n".join(dict.fromkeys(lines))
    finally:
        reader.close()


def all_histories(
    db: sqlite3.Connection, root: str, folder: str | None, wanted: set[str] | None = None
) -> Iterator[tuple[str, bytes]]:
    """The lines of every entity (or of those wanted), in an order that is the same wherever the same entities are."""
    spool = Spool(folder, wanted)
    for (lines,) in db.execute("SELECT lines FROM log WHERE lines IS NOT NULL"):
        spool.add(lines)
    oids = [oid for (oid,) in db.execute("SELECT oid FROM segment ORDER BY s")]
    if oids:
        with objects(root) as git:
            for blob in git.blobs(oids):
                spool.add(blob)
    for id_, lines in spool.entities():
        yield id_, b"\n".join(lines)


def some_histories(
    db: sqlite3.Connection, root: str, folder: str | None, ids: Sequence[str]
) -> Iterator[tuple[str, bytes]]:
    """The lines of some entities in any order, found in the cheaper way."""
    (known,) = db.execute("SELECT count(*) FROM log").fetchone()
    if len(ids) > _FEW and len(ids) * _ALL > known:
        return all_histories(db, root, folder, set(ids))
    return histories(db, root, ids)


class _Segments:
    """Segments by number, the last few kept, over one conversation with git that begins when it is needed."""

    def __init__(self, db: sqlite3.Connection, root: str) -> None:
        self._db, self._root = db, root
        self._talk = objects(root)
        self._git: Objects | None = None
        self._kept: dict[int, dict[str, list[bytes]]] = {}

    def lines(self, id_: str, segments: bytes) -> list[bytes]:
        return [line for number in array("I", segments) for line in self._segment(number).get(id_, ())]

    def close(self) -> None:
        if self._git is not None:
            self._talk.__exit__(None, None, None)

    def _segment(self, number: int) -> dict[str, list[bytes]]:
        if number in self._kept:
            self._kept[number] = self._kept.pop(number)  # the last used goes last
            return self._kept[number]
        (oid,) = self._db.execute("SELECT oid FROM segment WHERE s = ?", (number,)).fetchone()
        if self._git is None:
            self._git = self._talk.__enter__()
        self._git.ask(oid)
        parted: dict[str, list[bytes]] = {}
        for line in self._git.segment(oid).split(b"\n"):
            entity = entity_of(line) if line else None
            if entity:
                parted.setdefault(entity, []).append(line)
        self._kept[number] = parted
        if len(self._kept) > _KEPT:
            del self._kept[next(iter(self._kept))]
        return parted
