"""The tables of the index and the row an entity makes in them. The index is a cache: the logs can rebuild every row.

`ent` and what hangs on it (label, assignee, link) is what lists ask; `log` says where an entity's lines are
(`entity_lines.py`); `detail` is what `list --json` said of it last; `aim` names the milestones an entity ever belonged
to; `origin` the ids and addresses at other trackers; `history` lets a cursor look back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from postil.tracker.vocabulary import rank_priority

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable

    from postil.tracker.model import Entity

VERSION = 8
"""Goes into `user_version` when a build is complete; another number, and the cache is built anew. It grows with the
tables, and with what events are believed to say."""

TABLES = """
CREATE TABLE meta(key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE ref(name TEXT PRIMARY KEY, oid TEXT, replica TEXT, pos INTEGER) WITHOUT ROWID;
CREATE TABLE writer(replica TEXT PRIMARY KEY, n INTEGER) WITHOUT ROWID;
CREATE TABLE absorbed(replica TEXT PRIMARY KEY, upto INTEGER) WITHOUT ROWID;
CREATE TABLE segment(mark TEXT PRIMARY KEY, oid TEXT) WITHOUT ROWID;
CREATE TABLE log(n INTEGER PRIMARY KEY, id TEXT, places TEXT, lines BLOB);
CREATE TABLE ent(n INTEGER PRIMARY KEY, id TEXT, kind TEXT, title TEXT, status TEXT, labels TEXT, milestone TEXT,
  author TEXT, created_l INTEGER, created_r TEXT, created_ts TEXT, updated_l INTEGER, updated_r TEXT, updated_ts TEXT,
  comments INTEGER, due TEXT, claim_who TEXT, claim_until TEXT, conflicts INTEGER, priority INTEGER,
  type TEXT);
CREATE TABLE label(name TEXT, n INTEGER, PRIMARY KEY(name, n)) WITHOUT ROWID;
CREATE TABLE assignee(name TEXT, n INTEGER, PRIMARY KEY(name, n)) WITHOUT ROWID;
CREATE TABLE link(n INTEGER, type TEXT, target TEXT, l INTEGER, r TEXT, s INTEGER, PRIMARY KEY(n, type, target))
  WITHOUT ROWID;
CREATE TABLE aim(milestone TEXT, n INTEGER, PRIMARY KEY(milestone, n)) WITHOUT ROWID;
CREATE TABLE origin(name TEXT, n INTEGER, PRIMARY KEY(name, n)) WITHOUT ROWID;
CREATE TABLE history(gen INTEGER, n INTEGER, lines INTEGER);
CREATE TABLE detail(n INTEGER PRIMARY KEY, json TEXT);
CREATE TABLE words(n INTEGER PRIMARY KEY, text TEXT);
"""
INDEXES = """
CREATE UNIQUE INDEX log_id ON log(id);
CREATE INDEX ent_recent ON ent(kind, updated_l, status);
CREATE INDEX ent_status ON ent(kind, status, updated_l) WHERE status <> 'closed';
CREATE INDEX ent_milestone ON ent(milestone, kind, status) WHERE milestone <> '';
CREATE INDEX link_target ON link(target, type);
CREATE INDEX history_gen ON history(gen, n);
"""


class Row(NamedTuple):
    """One row of `ent`: what lists show and filters compare."""

    n: int
    id: str
    kind: str
    title: str
    status: str
    labels: str
    milestone: str
    author: str
    created_l: int
    created_r: str
    created_ts: str
    updated_l: int
    updated_r: str
    updated_ts: str
    comments: int
    due: str
    claim_who: str
    claim_until: str
    conflicts: int
    priority: int
    type: str

    def label_names(self) -> tuple[str, ...]:
        """Returns the labels, sorted."""
        return tuple(self.labels.split("\n")) if self.labels else ()


COLUMNS = ", ".join(Row._fields)
INSERT_ENT = f"INSERT OR REPLACE INTO ent({COLUMNS}) VALUES ({', '.join('?' * len(Row._fields))})"


def split_labels(labels: str) -> set[str]:
    """Returns the names that are found by: one that holds a newline, which only another program writes, is several."""
    return {name for name in labels.split("\n") if name}


def create_tables(db: sqlite3.Connection, statements: str) -> None:
    """Make tables or indexes, inside the transaction that is open."""
    for statement in statements.split(";"):
        db.execute(statement)


def read_meta(db: sqlite3.Connection, key: str) -> int | str | None:
    """Returns what the index notes about itself under a key."""
    found = db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    return found[0] if found else None


def write_meta(db: sqlite3.Connection, key: str, value: int | str) -> None:
    """Note something about the index itself."""
    db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))


def find_assignees(db: sqlite3.Connection, rows: Iterable[Row]) -> dict[int, str]:
    """Returns the people of each row that has any, by its number."""
    numbers = [row.n for row in rows]
    sql = f"SELECT n, name FROM assignee WHERE n IN ({', '.join('?' * len(numbers))}) ORDER BY name"
    found: dict[int, str] = {}
    for n, name in db.execute(sql, numbers):
        found[n] = f"{found[n]},{name}" if n in found else name
    return found


def find_short_ids(db: sqlite3.Connection, ids: Iterable[str]) -> dict[str, str]:
    """Returns the shortest beginning of each id that no other entity has; at least eight letters."""
    wanted = list(ids)
    found = {id_: id_[:8] for id_ in wanted}
    for start in range(0, len(wanted), _TOGETHER):
        some = wanted[start : start + _TOGETHER]
        for (id_,) in db.execute(_NEAR.format(", ".join(["(?)"] * len(some))), some).fetchall():
            found[id_] = _shorten(db, id_)
    return found


_TOGETHER = 500
_NEAR = """
SELECT column1 FROM (VALUES {}) WHERE EXISTS(SELECT 1 FROM log WHERE id > column1 AND id < substr(column1, 1, 8) || 'g')
  OR EXISTS(SELECT 1 FROM log WHERE id < column1 AND id >= substr(column1, 1, 8))
"""
"""Asks for many ids at once which of them begin as another does: nearly always none."""


def _shorten(db: sqlite3.Connection, id_: str) -> str:
    length = 8
    for sign, order in ((">", "ASC"), ("<", "DESC")):
        near = db.execute(f"SELECT id FROM log WHERE id {sign} ? ORDER BY id {order} LIMIT 1", (id_,)).fetchone()
        while near and length < len(id_) and id_[:length] == near[0][:length]:
            length += 1
    return id_[: length + (id_[length - 1 : length] == "-")]


SqlRow = tuple[int | str, ...]


def make_row(n: int, entity: Entity) -> SqlRow:
    """Returns the values of an entity's row."""
    claim = entity.claim
    return (
        n,
        entity.id,
        entity.kind,
        entity.title,
        entity.status,
        "\n".join(entity.labels),
        entity.milestone or "",
        entity.author,
        entity.created.counter,
        entity.created.replica,
        entity.created_ts,
        entity.updated.counter,
        entity.updated.replica,
        entity.updated_ts,
        len(entity.comments),
        entity.due or "",
        claim.who if claim else "",
        claim.until if claim else "",
        len(entity.conflicts),
        rank_priority(entity.fields.get("priority")),
        entity.fields.get("type", ""),
    )


def join_words(entity: Entity) -> str:
    """Returns all that a person wrote in it, folded for comparison without case."""
    return "\n".join([entity.title, entity.description, *(comment.body for comment in entity.comments)]).casefold()
