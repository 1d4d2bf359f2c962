"""A cache of every comment in its place, so that an unchanged file costs a stat and a search reads no sidecar.

SQLite in the cache folder, rebuilt from the sidecars whenever it is missing, damaged or of another version. What it
says is only believed for files whose sidecar and source are still the ones it saw.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager

import msgspec
from msgspec import Struct

from postil.comments.ground import Ground
from postil.comments.model import Placed
from postil.comments.patterns import Corpus, Pattern
from postil.comments.words import moment, stamp

LAYOUT = 6
PAGE = 2000
FEW = 20_000
"""So many comments are looked up one by one; more of them are found by reading through the table."""
_TABLES = """
CREATE TABLE IF NOT EXISTS file (path TEXT PRIMARY KEY, seen TEXT NOT NULL, problem TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS note (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, path TEXT NOT NULL, id TEXT NOT NULL, text TEXT NOT NULL,
    created TEXT NOT NULL, tag TEXT, author TEXT NOT NULL, ai INTEGER NOT NULL, state TEXT NOT NULL,
    status TEXT NOT NULL, now_path TEXT NOT NULL, stale INTEGER NOT NULL, body BLOB NOT NULL);
CREATE INDEX IF NOT EXISTS note_path ON note (path);
CREATE INDEX IF NOT EXISTS note_id ON note (id);
CREATE INDEX IF NOT EXISTS note_state ON note (state, now_path);
CREATE INDEX IF NOT EXISTS note_elsewhere ON note (now_path) WHERE now_path != path;
CREATE INDEX IF NOT EXISTS note_tag ON note (tag, created);
CREATE INDEX IF NOT EXISTS note_created ON note (created, id);
CREATE TABLE IF NOT EXISTS gone (number INTEGER PRIMARY KEY AUTOINCREMENT, seq INTEGER NOT NULL);
CREATE TRIGGER IF NOT EXISTS note_gone AFTER DELETE ON note BEGIN INSERT INTO gone (seq) VALUES (old.seq); END;
"""


IN_FILE = "(path = ? OR (now_path != path AND now_path = ?))"
"""The condition of one file, named twice: comments it holds, and those of other files whose code is in it now."""


class Seen(Struct, frozen=True):
    """A file as it was read: what identifies the versions of sidecar and source, and what came of it."""

    path: str
    stamp: str
    placed: Sequence[Placed] = ()
    problem: str = ""


class Index:
    """The cache of one workspace. Threads share it; every process has its own connection."""

    def __init__(self, ground: Ground) -> None:
        self._path = os.path.join(ground.folder, f"comments-{ground.key}.db")
        self._lock = threading.RLock()
        self._open: sqlite3.Connection | None = None
        self._corpus = Corpus()
        self._gone: set[int] = set()
        self._gone_seen = 0
        self._decode = msgspec.msgpack.Decoder(Placed).decode
        self._encode = msgspec.msgpack.Encoder().encode

    def stamps(self) -> dict[str, str]:
        """What was seen of every file."""
        with self._using() as db:
            return dict(db.execute("SELECT path, seen FROM file"))

    def problems(self) -> dict[str, str]:
        """The sidecars that could not be read, and why."""
        with self._using() as db:
            return dict(db.execute("SELECT path, problem FROM file WHERE problem != '' ORDER BY path"))

    def problem(self, path: str) -> str | None:
        """Why a sidecar could not be read; empty when it could, None when it is not known."""
        with self._using() as db:
            row = db.execute("SELECT problem FROM file WHERE path = ?", (path,)).fetchone()
        return row[0] if row else None

    def replace(self, files: Iterable[Seen], gone: Iterable[str] = ()) -> None:
        """Keep what was read of some files, and forget others."""
        with self._using() as db:
            with db:
                for path in gone:
                    db.execute("DELETE FROM note WHERE path = ?", (path,))
                    db.execute("DELETE FROM file WHERE path = ?", (path,))
                for seen in files:
                    db.execute("DELETE FROM note WHERE path = ?", (seen.path,))
                    db.execute("REPLACE INTO file VALUES (?, ?, ?)", (seen.path, seen.stamp, seen.problem))
                    db.executemany(
                        "INSERT INTO note"
                        " (path, id, text, created, tag, author, ai, state, status, now_path, stale, body)"
                        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                        [self._row(each) for each in seen.placed],
                    )

    def _row(self, each: Placed) -> tuple[object, ...]:
        comment, place = each.comment, each.place
        return (
            each.filePath,
            comment.id,
            comment.text,
            _comparable(comment.created),
            comment.tag,
            comment.author,
            comment.aiMeta is not None,
            place.state,
            comment.status,
            place.path,
            place.stale,
            self._encode(each),
        )

    def rows(self, where: str, values: Sequence[object] = ()) -> list[Placed]:
        """The comments for which a condition holds, by file. The condition is ours, its values the caller's."""
        sentence = f"SELECT body FROM note WHERE {where} ORDER BY path, seq"  # noqa: S608 - see above
        with self._using() as db:
            bodies = db.execute(sentence, tuple(values)).fetchall()
        return [self._decode(body) for (body,) in bodies]

    def stream(self, where: str = "1", values: Sequence[object] = ()) -> Iterator[Placed]:
        """The same a page at a time, for more than memory should hold."""
        sentence = (
            f"SELECT path, seq, body FROM note WHERE {where} AND (path, seq) > (?, ?) "  # noqa: S608 - as in rows
            f"ORDER BY path, seq LIMIT {PAGE}"
        )
        after: tuple[str, int] = ("", 0)
        while True:
            with self._using() as db:
                page = db.execute(sentence, (*values, *after)).fetchall()
            for path, number, body in page:
                after = (path, number)
                yield self._decode(body)
            if len(page) < PAGE:
                return

    def digest(self, where: str, values: Sequence[object] = ()) -> bytes:
        """What changes whenever one of the comments for which a condition holds does."""
        import hashlib  # only subscribers need it

        made = hashlib.blake2b(digest_size=16)
        sentence = f"SELECT body FROM note WHERE {where} ORDER BY path, seq"  # noqa: S608 - as in rows
        with self._using() as db:
            for (body,) in db.execute(sentence, tuple(values)):
                made.update(body)
        return made.digest()

    def counts(self) -> Counter[str]:
        """How many open comments there are, and how many in each state."""
        with self._using() as db:
            rows = db.execute("SELECT state, status, count(*) FROM note GROUP BY state, status").fetchall()
        count: Counter[str] = Counter()
        for state, status, number in rows:
            count[status] += number
            count[state] += number
        return count

    def paths(self) -> list[str]:
        """The files that have comments."""
        with self._using() as db:
            return [path for (path,) in db.execute("SELECT path FROM file ORDER BY path")]

    def elsewhere(self) -> list[str]:
        """The files that code of comments in other files has gone to."""
        with self._using() as db:
            return [path for (path,) in db.execute("SELECT DISTINCT now_path FROM note WHERE now_path != path")]

    def numbers(self, where: str = "", values: Sequence[object] = ()) -> list[int]:
        """The numbers of the comments for which a condition holds, newest first."""
        sentence = f"SELECT seq FROM note {'WHERE ' + where if where else ''} ORDER BY created DESC, id DESC"  # noqa: S608
        with self._using() as db:
            return [number for (number,) in db.execute(sentence, tuple(values))]

    def newest(
        self, numbers: Sequence[int], where: str, values: Sequence[object], limit: int
    ) -> tuple[int, list[Placed]]:
        """How many of these comments fulfil a condition, and the newest of them."""
        if len(numbers) <= FEW:
            kept = self._kept(numbers, where, values)
            return len(kept), self._bodies(kept[:limit])
        wanted = set(numbers)
        if where:
            kept = [number for number in self.numbers(where, values) if number in wanted]
            return len(kept), self._bodies(kept[:limit])
        first: list[int] = []
        with self._using() as db:
            for (number,) in db.execute("SELECT seq FROM note ORDER BY created DESC, id DESC"):
                if number in wanted:
                    first.append(number)
                    if len(first) == limit:
                        break
        return len(numbers), self._bodies(first)

    def _kept(self, numbers: Sequence[int], where: str, values: Sequence[object]) -> list[int]:
        found: list[tuple[str, str, int]] = []
        with self._using() as db:
            for at in range(0, len(numbers), 500):
                some = ",".join(map(str, numbers[at : at + 500]))
                extra = f"AND {where}" if where else ""
                sentence = f"SELECT created, id, seq FROM note WHERE seq IN ({some}) {extra}"  # noqa: S608 - integers
                found += db.execute(sentence, tuple(values))
        return [number for _, _, number in sorted(found, reverse=True)]

    def _bodies(self, numbers: Sequence[int]) -> list[Placed]:
        with self._using() as db:
            rows = [db.execute("SELECT body FROM note WHERE seq = ?", (number,)).fetchone() for number in numbers]
        return [self._decode(row[0]) for row in rows if row]

    def search(self, pattern: Pattern) -> list[int]:
        """The numbers of the comments whose text matches."""
        with self._using() as db:
            self._catch_up(db)
            found = self._corpus.search(pattern)
        gone = self._gone
        return [number for number in found if number not in gone] if gone else found

    def _catch_up(self, db: sqlite3.Connection) -> None:
        """Take in the texts that came since the last search, and those that went."""
        (highest,) = db.execute("SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'note'").fetchone()
        if highest < self._corpus.last or len(self._gone) > len(self._corpus.numbers) // 2 + 1000:
            self._corpus, self._gone = Corpus(), set()  # another database, or mostly texts that are gone
        for number, seq in db.execute("SELECT number, seq FROM gone WHERE number > ?", (self._gone_seen,)):
            self._gone_seen = number
            self._gone.add(seq)
        if highest == self._corpus.last:
            return
        import gc  # a million small objects are made at once: collecting meanwhile costs ten times the work

        was_on = gc.isenabled()
        gc.disable()
        try:
            rows = db.execute("SELECT seq, text FROM note WHERE seq > ? ORDER BY seq", (self._corpus.last,))
            for number, text in rows:
                self._corpus.add(number, text)
        finally:
            if was_on:
                gc.enable()

    @contextmanager
    def _using(self) -> Generator[sqlite3.Connection]:
        with self._lock:
            if self._open is None:
                self._open = self._connect()
            yield self._open

    def _connect(self) -> sqlite3.Connection:
        os.makedirs(os.path.dirname(self._path), mode=0o700, exist_ok=True)
        try:
            return self._prepared()
        except sqlite3.DatabaseError:
            for name in (self._path, f"{self._path}-journal"):
                if os.path.exists(name):
                    os.unlink(name)  # a cache: what was in it is in the sidecars
            return self._prepared()

    def _prepared(self) -> sqlite3.Connection:
        db = sqlite3.connect(self._path, timeout=60, check_same_thread=False)
        try:
            db.execute("PRAGMA synchronous=OFF")  # a cache: a power cut costs a rebuild, not a comment
            db.execute("PRAGMA cache_size=-65536")
            (layout,) = db.execute("PRAGMA user_version").fetchone()
            if layout != LAYOUT:
                with db:
                    db.execute("DROP TABLE IF EXISTS note")
                    db.execute("DROP TABLE IF EXISTS file")
                    db.execute("DROP TABLE IF EXISTS gone")
                    db.execute(f"PRAGMA user_version={LAYOUT}")
            db.executescript(_TABLES)
        except sqlite3.DatabaseError:
            db.close()
            raise
        return db


def _comparable(created: str) -> str:
    """A time that sorts as text, whatever offset it was written with."""
    found = moment(created)
    return stamp(found) if found else created
