"""Writing entities into the tables of the index: many at once from nothing, or the few that changed."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import chain, count, islice
from operator import attrgetter
from typing import TYPE_CHECKING

from msgspec.json import encode

from postil.tracker.events import (
    AHEAD,
    LARGE,
    LOG_ENTITY,
    MAX_CLOCK,
    Absorbed,
    Commented,
    Created,
    Event,
    Set,
    decode,
    decode_lines,
    decode_parts,
)
from postil.tracker.index.bulk_fold import BulkFold, RowBuilder
from postil.tracker.index.last_fold import LastFold, add_comments
from postil.tracker.index.tables import (
    INDEXES,
    INSERT_ENT,
    Row,
    SqlRow,
    create_tables,
    join_words,
    make_row,
    read_meta,
    split_labels,
    write_meta,
)
from postil.tracker.model import Entity
from postil.tracker.state.fold import fold, fold_lines
from postil.tracker.text import name_address
from postil.tracker.vocabulary import ADDRESS_FIELD, AT, LONGEST_NAME, NO_PRIORITY

if TYPE_CHECKING:
    import sqlite3

_FEW = 64
_RARE = {
    **dict.fromkeys(("milestone", "due", "claim_who", "claim_until", "type"), "''"),
    "conflicts": "0",
    "priority": str(NO_PRIORITY),
}
"""What a row holds that has no `RareValues`."""
_OFTEN = [name for name in Row._fields if name not in _RARE]
_USUAL = f"INSERT INTO ent({', '.join((*_OFTEN, *_RARE))}) VALUES "
_USUAL_ROW = f"({', '.join(('?',) * len(_OFTEN) + tuple(_RARE.values()))})"
"""A row of which all that is rare is empty."""
_TOGETHER = 40
"""Rows of a statement: each step of SQLite costs, whatever it inserts."""
ReadLines = Callable[[Sequence[str]], Iterator[tuple[str, bytes]]]
"""Reads the stored lines of these entities (`entity_lines.py`)."""


def write_build(
    db: sqlite3.Connection, bulk: BulkFold, held: dict[str, list[bytes]], read_lines: ReadLines, most: int
) -> int:
    """Write every entity of a build into empty tables. `held` has the lines that are in no segment; it is emptied.

    Returns the highest clock seen that is not beyond `most`.
    """
    bulk.leave_odd_names()
    builder = bulk.entities
    kin = _Related(most)
    places = zip(count(1), builder, map(attrgetter("places"), builder.values()))
    _insert_together(db, "INSERT INTO log(n, id, places) VALUES ", "(?, ?, ?)", places)
    _insert_together(db, _USUAL, _USUAL_ROW, kin.usual_rows(builder))
    db.executemany(INSERT_ENT, kin.rows)
    kin.write(db)
    create_tables(db, INDEXES)
    own = ((b"\n".join(held.pop(id_)), id_) for id_ in [*held])
    db.executemany("UPDATE log SET lines = ? WHERE id = ?", own)
    db.executemany("INSERT OR IGNORE INTO aim SELECT ?, n FROM log WHERE id = ?", bulk.aims)
    db.executemany("INSERT OR IGNORE INTO origin SELECT ?, n FROM log WHERE id = ?", bulk.origins)
    for id_, lines in read_lines(kin.broken):
        kin.clock = max(kin.clock, _fold_one(db, id_, lines, kin.numbers, most))
    db.execute("DELETE FROM log WHERE id = ?", (LOG_ENTITY,))
    note_writers(db, kin.numbers)
    return kin.clock


def _insert_together(db: sqlite3.Connection, insert: str, row: str, rows: Iterable[SqlRow]) -> None:
    """Insert rows, many in a statement."""
    width = row.count("?")
    values = chain.from_iterable(rows)
    left: SqlRow = ()

    def take_groups() -> Iterator[SqlRow]:
        nonlocal left
        while len(some := tuple(islice(values, width * _TOGETHER))) == width * _TOGETHER:
            yield some
        left = some

    db.executemany(insert + ", ".join([row] * _TOGETHER), take_groups())
    db.executemany(insert + row, (left[at : at + width] for at in range(0, len(left), width)))


class _Related:
    """What hangs on the rows of a build, gathered while they are written."""

    def __init__(self, most: int) -> None:
        self.broken: list[str] = []
        self.clock = 0
        self._most = most
        self.numbers: dict[str, int] = {}
        self.rows: list[SqlRow] = []
        self._sets: dict[tuple[str, ...], tuple[str, array[int]]] = {}
        self._assignees: list[tuple[str, int]] = []
        self._links: list[SqlRow] = []

    def usual_rows(self, builder: dict[str, RowBuilder]) -> Iterator[SqlRow]:
        """Yields the rows of entities without anything rare, one by one, in fewer values; keeps the other rows."""
        sets, numbers, most = self._sets, self.numbers, self._most
        for n, (id_, one) in enumerate(builder.items(), 1):
            clock = one.l
            if clock == MAX_CLOCK:
                self.broken.append(id_)
                continue
            if self.clock < clock <= most:
                self.clock = clock
            if one.n > numbers.get(one.r, 0):
                numbers[one.r] = one.n
            if one.other is not None:
                for replica, number in (one.seen or {one.other: one.other_n}).items():
                    if number > numbers.get(replica, 0):
                        numbers[replica] = number
            rare = one.rare
            if rare is not None and rare.deleted:
                continue
            bearing = sets.get(one.labels)
            if bearing is None:
                bearing = sets[one.labels] = ("\n".join(sorted(set(one.labels))), array("q"))
            labels, bearers = bearing
            bearers.append(n)
            if rare is None:
                kind, author, r = one.birth
                yield (
                    n,
                    id_,
                    kind,
                    one.title,
                    one.status,
                    labels,
                    author,
                    one.created_l,
                    r,
                    one.created_ts,
                    clock,
                    one.r,
                    one.ts,
                    one.comments,
                )
            else:
                self.rows.append(one.row(n, id_, labels))
                self._assignees += [(name, n) for name in set(rare.assignees)]
                self._links += [(n, *edge, *key) for edge, key in rare.links.items()] if rare.links else ()

    def write(self, db: sqlite3.Connection) -> None:
        """Write labels, assignees and links."""
        bearers: dict[str, array[int]] = {}
        for labels, some in self._sets.values():
            for label in split_labels(labels):
                bearers.setdefault(label, array("q")).extend(some)
        for label in sorted(bearers):
            # In order and unpacked by SQLite itself: a third of the time of as many single inserts.
            numbers = encode(sorted(bearers[label])).decode()
            db.execute("INSERT INTO label SELECT ?, value FROM json_each(?)", (label, numbers))
        db.executemany("INSERT INTO assignee VALUES (?, ?)", sorted(self._assignees))
        db.executemany("INSERT INTO link VALUES (?, ?, ?, ?, ?, ?)", self._links)


def _fold_one(db: sqlite3.Connection, id_: str, lines: bytes, numbers: dict[str, int], most: int) -> int:
    """Write an entity that is not simple. Returns its highest clock that is not beyond `most`."""
    clock = 0
    (n,) = db.execute("SELECT n FROM log WHERE id = ?", (id_,)).fetchone()
    for events in decode_parts(lines):
        for event in events:
            numbers[event.r] = max(event.n, numbers.get(event.r, 0))
            if clock < event.l <= most:
                clock = event.l
            if id_ == LOG_ENTITY:
                note_absorbed(db, event)
        if id_ != LOG_ENTITY:
            note_aims(db, n, events)
            if len(lines) < LARGE:
                write_entity(db, n, fold(events))
    if id_ != LOG_ENTITY and len(lines) >= LARGE:
        write_entity(db, n, fold_lines(lines))
    return clock


def merge_lines(
    db: sqlite3.Connection, lines: Iterable[bytes], generation: int, read_lines: ReadLines, recent: LastFold
) -> tuple[set[str], int]:
    """Add events to their entities and write those rows anew; of `recent` only what is new is folded.

    Returns what changed, and the highest clock seen that is believed.
    """
    touched: dict[str, list[tuple[Event, bytes]]] = {}
    clock = 0
    known = int(read_meta(db, "events") or 0)
    numbers: dict[str, int] = {}
    for line in lines:
        event = decode(line)
        if event is not None:
            known += 1
            if clock < event.l <= known + AHEAD:
                clock = event.l
            numbers[event.r] = max(event.n, numbers.get(event.r, 0))
            touched.setdefault(event.ent, []).append((event, line))
    for event, _ in touched.pop(LOG_ENTITY, []):
        note_absorbed(db, event)
    write_meta(db, "events", known)
    note_writers(db, numbers)
    with_words = read_meta(db, "words") is not None
    before = dict(read_lines(list(touched)))
    changed = {
        id_
        for id_, arrived in touched.items()
        if _merge_one(db, id_, before.pop(id_, b""), arrived, generation, with_words, recent)
    }
    return changed, clock


def _merge_one(
    db: sqlite3.Connection,
    id_: str,
    old_lines: bytes,
    arrived: Sequence[tuple[Event, bytes]],
    generation: int,
    with_words: bool,
    recent: LastFold,
) -> bool:
    # A copy of an event at another place is kept too: it tells who knew of it there. So is what a rewritten log says
    # in the same place: which of them counts, the fold decides.
    new = {line: event for event, line in arrived}
    new_lines = b"\n".join([old_lines, *new] if old_lines else new)
    comments = recent.take(old_lines, [*new.values()], new_lines) if old_lines else []
    if not comments:
        for line in _find_present(old_lines, new):
            del new[line]
        if not new:
            return False
        new_lines = b"\n".join([old_lines, *new] if old_lines else new)
    count = old_lines.count(b"\n") + 1 if old_lines else 0
    del old_lines  # it may be as large as a log
    found = db.execute("SELECT n FROM log WHERE id = ?", (id_,)).fetchone()
    if found:
        n: int = found[0]
        db.execute("UPDATE log SET places = NULL, lines = ? WHERE n = ?", (new_lines, n))
    else:
        n = db.execute("INSERT INTO log(id, lines) VALUES (?, ?)", (id_, new_lines)).lastrowid or 0
    db.execute("INSERT INTO history VALUES (?, ?, ?)", (generation, n, count))
    if comments:
        add_comments(db, n, comments, with_words)
        return True
    if len(new_lines) < LARGE and all(isinstance(event, Commented) for event in new.values()):
        events = decode_lines(new_lines)
        entity = fold(events)
        recent.keep(new_lines, events, is_shown=entity is not None and not entity.deleted)
    else:
        entity = fold_lines(new_lines)
    write_entity(db, n, entity, with_words)
    note_aims(db, n, new.values())
    return True


def _find_present(lines: bytes, some: Collection[bytes]) -> list[bytes]:
    """Returns those of some lines that are among others."""
    if len(lines) < LARGE or len(some) > _FEW:
        present = set(lines.split(b"\n"))
        return [line for line in some if line in present]
    # Neither parted nor copied: it would take more than the lines.
    first = lines[: lines.find(b"\n")] if b"\n" in lines else lines
    last = lines[lines.rfind(b"\n") + 1 :]
    return [line for line in some if line in (first, last) or b"\n%b\n" % line in lines]


def write_entity(db: sqlite3.Connection, n: int, entity: Entity | None, with_words: bool = False) -> None:
    """Make the tables say this of entity number n: its state, or nothing."""
    db.execute("DELETE FROM detail WHERE n = ?", (n,))
    old = db.execute("SELECT labels FROM ent WHERE n = ?", (n,)).fetchone()
    if old is not None:
        db.executemany("DELETE FROM label WHERE name = ? AND n = ?", [(name, n) for name in split_labels(old[0])])
        db.execute("DELETE FROM assignee WHERE n = ?", (n,))
        db.execute("DELETE FROM link WHERE n = ?", (n,))
    if entity is None or entity.deleted:
        db.execute("DELETE FROM ent WHERE n = ?", (n,))
        db.execute("DELETE FROM words WHERE n = ?", (n,))
        return
    db.execute(INSERT_ENT, make_row(n, entity))
    names = split_labels("\n".join(entity.labels))
    db.executemany("INSERT INTO label VALUES (?, ?)", [(name, n) for name in names])
    db.executemany("INSERT INTO assignee VALUES (?, ?)", [(name, n) for name in entity.assignees])
    db.executemany(
        "INSERT INTO link VALUES (?, ?, ?, ?, ?, ?)", [(n, link.type, link.target, *link.key) for link in entity.links]
    )
    if with_words:
        db.execute("INSERT OR REPLACE INTO words VALUES (?, ?)", (n, join_words(entity)))


def write_words(db: sqlite3.Connection, all_lines: Iterable[tuple[str, bytes]]) -> None:
    """Fill the table of words: only a search for text needs it, so only the first such search pays."""
    for id_, lines in all_lines:
        entity = fold_lines(lines)
        if entity is not None and not entity.deleted:
            db.execute("INSERT OR REPLACE INTO words SELECT n, ? FROM log WHERE id = ?", (join_words(entity), id_))
    write_meta(db, "words", 1)


def note_absorbed(db: sqlite3.Connection, event: Event) -> None:
    """Remember that a log lives on inside another."""
    if isinstance(event, Absorbed):
        db.execute(
            "INSERT INTO absorbed VALUES (?, ?) ON CONFLICT(replica) DO UPDATE SET upto = max(upto, excluded.upto)",
            (event.log, event.upto),
        )


def note_aims(db: sqlite3.Connection, n: int, events: Iterable[Event]) -> None:
    """Remember every milestone that an entity ever belonged to, and its ids and addresses at other trackers."""
    for event in events:
        aim = origin = None
        if isinstance(event, Created):
            aim, origin = event.milestone, event.origin and event.origin[:LONGEST_NAME]
        elif isinstance(event, Set) and event.f == "milestone":
            aim = event.value
        elif isinstance(event, Set) and event.f == ADDRESS_FIELD and event.value:
            origin = AT + name_address(event.value)[:LONGEST_NAME]
        if aim:
            db.execute("INSERT OR IGNORE INTO aim VALUES (?, ?)", (aim, n))
        if origin:
            db.execute("INSERT OR IGNORE INTO origin VALUES (?, ?)", (origin, n))


def note_writers(db: sqlite3.Connection, numbers: dict[str, int]) -> None:
    """Remember the last number of each writer."""
    db.executemany(
        "INSERT INTO writer VALUES (?, ?) ON CONFLICT(replica) DO UPDATE SET n = max(n, excluded.n)", numbers.items()
    )
