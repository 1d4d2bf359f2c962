"""Writing entities into the tables of the index: many at once from nothing, or the few that changed."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from typing import IO, TYPE_CHECKING

from postil.tracker.events import LOG_ENTITY, Absorbed, Event, decode, decode_lines, entity_of
from postil.tracker.merge import fold
from postil.tracker.model import Entity
from postil.tracker.plain import plain_row
from postil.tracker.schema import INSERT_ENT, SqlRow, row_of, words_of

if TYPE_CHECKING:
    import sqlite3

_BUCKETS = 61
_IN_MEMORY = 8 << 20


class Spool:
    """Lines of events parted by entity into buckets, on disk beyond a few megabytes: a build must not hold all."""

    def __init__(self, folder: str | None) -> None:
        self._folder = folder
        self._held: list[list[bytes]] = [[] for _ in range(_BUCKETS)]
        self._files: list[IO[bytes]] = []
        self._size = 0

    def add(self, lines: bytes) -> None:
        """Take a run of lines."""
        held = self._held
        for line in lines.split(b"\n"):
            if line:
                at = line.find(b'"ent":"', 0, 40)
                # The same shape that entity_of trusts; anything else is decoded to find its entity.
                if at > 0 and line.startswith(b'{"t":"') and line.find(b"{", 1, at) < 0:
                    held[(line[at + 7] * 7 + line[at + 8]) % _BUCKETS].append(line)
                else:
                    entity = entity_of(line)
                    if entity:
                        held[(ord(entity[0]) * 7 + ord(entity[1])) % _BUCKETS].append(line)
        self._size += len(lines)
        if self._size > _IN_MEMORY:
            self._spill()

    def buckets(self) -> Iterator[bytes]:
        """All lines of some entities at a time, until all have come."""
        if not self._files:
            yield b"\n".join(line for bucket in self._held for line in bucket)
            return
        self._spill()
        for file in self._files:
            file.seek(0)
            yield file.read()
            file.close()

    def _spill(self) -> None:
        if not self._files:
            self._files = [tempfile.TemporaryFile(dir=self._folder) for _ in range(_BUCKETS)]  # noqa: SIM115 - closed one by one
        for file, bucket in zip(self._files, self._held, strict=True):
            if bucket:
                file.write(b"\n".join(bucket) + b"\n")
                bucket.clear()
        self._size = 0


def fill(db: sqlite3.Connection, spool: Spool) -> int:
    """Write every entity of the spool into empty tables; the highest clock seen."""
    n = clock = 0
    numbers: dict[str, int] = {}
    for bucket in spool.buckets():
        logs, top = _grouped(bucket, numbers)
        clock = max(clock, top)
        for mark in logs.pop(LOG_ENTITY, ([], []))[0]:
            note_absorbed(db, mark)
        rows: list[SqlRow] = []
        lines: list[tuple[int, str, bytes]] = []
        labels: list[tuple[str, int]] = []
        assignees: list[tuple[str, int]] = []
        links: list[SqlRow] = []
        for id_, (events, raw) in logs.items():
            n += 1
            lines.append((n, id_, b"\n".join(raw)))
            plain = plain_row(n, events)
            if plain is not None:
                rows.append(plain[0])
                labels += [(label, n) for label in plain[1]]
                assignees += [(name, n) for name in plain[2]]
                continue
            entity = fold(events)
            if entity is None or entity.deleted:
                continue
            rows.append(row_of(n, entity))
            labels += [(label, n) for label in entity.labels]
            assignees += [(name, n) for name in entity.assignees]
            links += [(n, link.type, link.target, *link.key) for link in entity.links]
        db.executemany("INSERT INTO log VALUES (?, ?, ?)", lines)
        db.executemany(INSERT_ENT, rows)
        db.executemany("INSERT INTO label VALUES (?, ?)", sorted(labels))
        db.executemany("INSERT INTO assignee VALUES (?, ?)", sorted(assignees))
        db.executemany("INSERT INTO link VALUES (?, ?, ?, ?, ?, ?)", links)
    note_writers(db, numbers)
    return clock


def merge_lines(db: sqlite3.Connection, lines: Iterable[bytes], generation: int) -> tuple[set[str], int]:
    """Add events to the entities they speak of and write those rows anew; which changed, and the highest clock seen."""
    touched: dict[str, list[tuple[Event, bytes]]] = {}
    clock = 0
    numbers: dict[str, int] = {}
    for line in lines:
        event = decode(line)
        if event is not None:
            clock = max(clock, event.l)
            numbers[event.r] = max(event.n, numbers.get(event.r, 0))
            touched.setdefault(event.ent, []).append((event, line))
    for event, _ in touched.pop(LOG_ENTITY, []):
        note_absorbed(db, event)
    note_writers(db, numbers)
    with_words = db.execute("SELECT value FROM meta WHERE key = 'words'").fetchone() is not None
    changed: set[str] = set()
    for id_, arrived in touched.items():
        if _merge_one(db, id_, arrived, generation, with_words):
            changed.add(id_)
    return changed, clock


def _merge_one(
    db: sqlite3.Connection, id_: str, arrived: Sequence[tuple[Event, bytes]], generation: int, with_words: bool
) -> bool:
    found = db.execute("SELECT n, lines FROM log WHERE id = ?", (id_,)).fetchone()
    old_lines: bytes = found[1] if found else b""
    events = decode_lines(old_lines) if old_lines else []
    # A copy of an event at another place is kept too: it tells who knew of it there.
    seen = {(event.id, event.r, event.n) for event in events}
    raw = [old_lines] if old_lines else []
    for event, line in arrived:
        if (event.id, event.r, event.n) not in seen:
            seen.add((event.id, event.r, event.n))
            events.append(event)
            raw.append(line)
    new_lines = b"\n".join(raw)
    if new_lines == old_lines:
        return False
    if found:
        n: int = found[0]
        db.execute("UPDATE log SET lines = ? WHERE n = ?", (new_lines, n))
    else:
        n = db.execute("INSERT INTO log(id, lines) VALUES (?, ?)", (id_, new_lines)).lastrowid or 0
    db.execute("INSERT INTO history VALUES (?, ?, ?)", (generation, n, old_lines.count(b"\n") + 1 if old_lines else 0))
    write_entity(db, n, fold(events), with_words)
    return True


def write_entity(db: sqlite3.Connection, n: int, entity: Entity | None, with_words: bool = False) -> None:
    """Make the tables say this of entity number n: its state, or nothing."""
    old = db.execute("SELECT labels FROM ent WHERE n = ?", (n,)).fetchone()
    if old is not None:
        if old[0]:
            db.executemany("DELETE FROM label WHERE name = ? AND n = ?", [(name, n) for name in old[0].split("\n")])
        db.execute("DELETE FROM assignee WHERE n = ?", (n,))
        db.execute("DELETE FROM link WHERE n = ?", (n,))
    if entity is None or entity.deleted:
        db.execute("DELETE FROM ent WHERE n = ?", (n,))
        db.execute("DELETE FROM words WHERE n = ?", (n,))
        return
    db.execute(INSERT_ENT, row_of(n, entity))
    db.executemany("INSERT INTO label VALUES (?, ?)", [(name, n) for name in entity.labels])
    db.executemany("INSERT INTO assignee VALUES (?, ?)", [(name, n) for name in entity.assignees])
    db.executemany(
        "INSERT INTO link VALUES (?, ?, ?, ?, ?, ?)", [(n, link.type, link.target, *link.key) for link in entity.links]
    )
    if with_words:
        db.execute("INSERT OR REPLACE INTO words VALUES (?, ?)", (n, words_of(entity)))


def write_words(db: sqlite3.Connection) -> None:
    """Fill the table of words: only a search for text needs it, so only the first such search pays."""
    rows = db.execute("SELECT n, lines FROM log").fetchall()
    for n, lines in rows:
        entity = fold(decode_lines(lines))
        if entity is not None and not entity.deleted:
            db.execute("INSERT OR REPLACE INTO words VALUES (?, ?)", (n, words_of(entity)))
    db.execute("INSERT OR REPLACE INTO meta VALUES ('words', 1)")


def note_absorbed(db: sqlite3.Connection, event: Event) -> None:
    """Remember that a log lives on inside another."""
    if isinstance(event, Absorbed):
        db.execute(
            "INSERT INTO absorbed VALUES (?, ?) ON CONFLICT(replica) DO UPDATE SET upto = max(upto, excluded.upto)",
            (event.log, event.upto),
        )


def note_writers(db: sqlite3.Connection, numbers: dict[str, int]) -> None:
    """Remember the last number of each writer."""
    db.executemany(
        "INSERT INTO writer VALUES (?, ?) ON CONFLICT(replica) DO UPDATE SET n = max(n, excluded.n)", numbers.items()
    )


def _grouped(bucket: bytes, numbers: dict[str, int]) -> tuple[dict[str, tuple[list[Event], list[bytes]]], int]:
    """The events and lines of each entity, and the highest clock."""
    lines = [line for line in bucket.split(b"\n") if line]
    events: list[Event | None] = list(decode_lines(bucket))
    if len(events) != len(lines):
        events = [decode(line) for line in lines]
    logs: dict[str, tuple[list[Event], list[bytes]]] = {}
    clock = 0
    for event, line in zip(events, lines, strict=True):
        if event is None:
            continue
        if event.l > clock:
            clock = event.l
        if event.n > numbers.get(event.r, 0):
            numbers[event.r] = event.n
        pair = logs.get(event.ent)
        if pair is None:
            logs[event.ent] = ([event], [line])
        else:
            pair[0].append(event)
            pair[1].append(line)
    return logs, clock
