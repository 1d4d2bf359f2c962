"""The comments of a file as rows of the cache, and putting them there: what did not change is not written again.

Only one comment is held at a time, however many a file has. Not here: the tables (`cache.py`).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Sequence

import msgspec
from msgspec import Struct
from msgspec.structs import astuple, replace

from postil.comments.index.fit import fit
from postil.comments.model import Located
from postil.comments.sidecar.format import format_time, parse_time
from postil.core import limits

_COLUMNS = ("path", "place", "id", "created", "tag", "author", "ai", "state", "status", "now_path", "stale")
INSERT = f"INSERT INTO note ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' * len(_COLUMNS))})"  # noqa: S608 - names
_UPDATE = f"UPDATE note SET {', '.join(f'{name} = ?' for name in _COLUMNS)} WHERE seq = ?"  # noqa: S608 - names
_FIXED = _COLUMNS.index("state")
_MOVE = f"UPDATE note SET {', '.join(f'{name} = ?' for name in _COLUMNS[_FIXED:])} WHERE seq = ?"  # noqa: S608 - names
"""What a comment gets whose code moved: the other columns have indexes, too, and each would be written."""
_NOTES = f"SELECT id, text, seq, body, {', '.join(_COLUMNS)} FROM note JOIN body USING (seq) WHERE path = ?"  # noqa: S608


class Note(Struct, frozen=True, array_like=True):
    """One comment in its place, as the cache keeps it: the columns of its row, then what is long."""

    id: str
    created: str
    tag: str | None
    author: str
    ai: bool
    state: str
    status: str
    now_path: str
    stale: bool
    text: str
    body: bytes
    replies: tuple[str, ...] = ()

    def row(self, path: str, place: int) -> tuple[object, ...]:
        """Returns its columns."""
        return path, place, *astuple(self)[: len(_COLUMNS) - 2]


def tell_caution(cautious: bool) -> str:
    """Returns what is said of it in what is kept of a file: all of it was decided with it, or without."""
    return " cautious" if cautious else ""


class TooLarge(Exception):
    """A comment whose id, author or marker is larger than a comment may be: only a program makes one."""


_encode = msgspec.msgpack.Encoder().encode
_DIGITS = str.maketrans("123456789", "000000000")


def make_note(each: Located) -> Note:
    """Returns a comment in its place, ready to be kept: its marker without the other comments on the line.

    Raises TooLarge for one that no text makes so large.
    """
    if each.marker and len(each.marker.commentIds) > 1:
        each = replace(each, marker=replace(each.marker, commentIds=(each.comment.id,)))
    body = _encode(each)
    if len(body) > limits.TEXT:
        each = fit(each)
        body = _encode(each)
        if len(body) > limits.COMMENT:
            raise TooLarge
    comment, now = each.comment, each.place
    created, has_ai = _normalize_time(comment.created), comment.aiMeta is not None
    about = (comment.id, created, comment.tag, comment.author, has_ai)
    replies = tuple(reply.text for reply in comment.replies)
    return Note(*about, now.state, comment.status, now.path, now.stale, comment.text, body, replies)


def show_hidden(db: sqlite3.Connection, path: str) -> None:
    """Show again what a file holds and another one shows, and the other way round, until they are joined anew."""
    sentence = "DELETE FROM hidden WHERE home = ? OR seq IN (SELECT seq FROM note WHERE path = ?)"
    db.execute(sentence, (path, path))


def replace_notes(db: sqlite3.Connection, path: str, notes: Collection[Note]) -> None:
    """A comment that says what it said keeps its number, wherever it is now: its text need not be read again."""
    before: dict[tuple[str, int], tuple[int, int, int, int]] = {}
    gone: list[tuple[int]] = []
    # Of what was kept its hashes: they are of this process alone, and nobody can aim at them.
    for name, text, seq, body, *row in db.execute(_NOTES, (path,)):
        said = name, hash(text)
        if said in before:
            gone.append((seq,))  # the same comment twice, in a damaged file
        else:
            before[said] = seq, hash(body), hash(tuple(row[:_FIXED])), hash(tuple(row[_FIXED:]))
    with_replies = db.execute("SELECT 1 FROM reply LIMIT 1").fetchone() is not None
    changes = _Changes(db)
    for place, each in enumerate(notes):
        row = each.row(path, place)
        seq, body, fixed, moving = before.pop((each.id, hash(each.text)), (0, 0, 0, 0))
        if not seq:
            insert_note(db, row, each)
            continue
        if hash(row[:_FIXED]) != fixed:
            changes.stay.append((*row, seq))
        elif hash(row[_FIXED:]) != moving:
            changes.moved.append((*row[_FIXED:], seq))
        if hash(each.body) != body:
            changes.rewrite(each.body, seq)
            held = _read_replies(db, seq) if with_replies else ()
            if each.replies[: len(held)] != held:
                db.execute("DELETE FROM reply WHERE seq = ?", (seq,))
                held = ()
            _insert_replies(db, seq, each.replies[len(held) :])
    changes.make()
    db.executemany("DELETE FROM note WHERE seq = ?", [*gone, *((seq,) for seq, _, _, _ in before.values())])


class _Changes:
    """Changes of rows that are made together: of so many comments that little is held."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self.stay: list[tuple[object, ...]] = []
        self.moved: list[tuple[object, ...]] = []
        self._bodies: list[tuple[bytes, int]] = []
        self._size = 0

    def rewrite(self, body: bytes, seq: int) -> None:
        """Give a comment another body."""
        self._bodies.append((body, seq))
        self._size += len(body)
        if self._size > limits.LARGE:
            self.make()

    def make(self) -> None:
        """Make all of them."""
        self._db.executemany(_UPDATE, self.stay)
        self._db.executemany(_MOVE, self.moved)
        self._db.executemany("UPDATE body SET body = ? WHERE seq = ?", self._bodies)
        self.stay, self.moved, self._bodies, self._size = [], [], [], 0


def insert_note(db: sqlite3.Connection, row: Sequence[object], note: Note) -> None:
    """Keep a comment that is new here, with its row."""
    number = db.execute(INSERT, tuple(row)).lastrowid
    db.execute("INSERT INTO body VALUES (?, ?, ?)", (number, note.text, note.body))
    _insert_replies(db, number or 0, note.replies)


def _insert_replies(db: sqlite3.Connection, seq: int, replies: Sequence[str]) -> None:
    if replies:
        db.executemany("INSERT INTO reply (seq, text) VALUES (?, ?)", [(seq, text) for text in replies])


def _read_replies(db: sqlite3.Connection, seq: int) -> tuple[str, ...]:
    return tuple(text for (text,) in db.execute("SELECT text FROM reply WHERE seq = ? ORDER BY number", (seq,)))


def _normalize_time(created: str) -> str:
    """Returns a time that sorts as text, whatever offset it was written with."""
    if created.translate(_DIGITS) == "0000-00-00T00:00:00.000Z" and created[11:13] < "24":
        return created  # as we write all of them: reading it would give it back
    found = parse_time(created)
    return format_time(found) if found else created
