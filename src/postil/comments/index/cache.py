"""A cache of every comment in its place, so that an unchanged file costs a stat and a search reads no sidecar.

SQLite in the cache folder, rebuilt from the sidecars whenever it is missing, damaged or of another version. What it
says is only believed for files whose sidecar and source are still the ones it saw. It is synced like any other data:
after a power cut, pages of different times would be believed, and comments be missing without a word.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from postil.comments.index.notes import Note, replace_notes, show_hidden
from postil.comments.index.remembered import Remembered
from postil.comments.model import Located
from postil.comments.search.patterns import Pattern
from postil.comments.search.text_file import COMMENTS, REPLIES, Hits, Kind, Marked, TextFile
from postil.comments.search.text_file import TABLES as TEXT_TABLES
from postil.comments.source_tree import SourceTree
from postil.core import call, limits
from postil.core.others.unreadable import UNREADABLE
from postil.workspace.clones.sharing import make_own_file, make_own_folder
from postil.workspace.disk import open_regular

T = TypeVar("T")
LAYOUT = 14
PAGE = 2000
MOST_SORTED = 2000
"""Comments that are sorted by file for a page of them."""
_AT_ONCE = 100
FEW = 20_000
"""So many comments are looked up one by one; more of them are found by reading through the table."""
# What is searched and sorted by is kept apart from what is long: reading through a million notes is then quick.
_TABLES = """
CREATE TABLE IF NOT EXISTS file (path TEXT PRIMARY KEY, seen TEXT NOT NULL, content TEXT NOT NULL,
    problem TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS note (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, path TEXT NOT NULL, place INTEGER NOT NULL, id TEXT NOT NULL,
    created TEXT NOT NULL, tag TEXT, author TEXT NOT NULL, ai INTEGER NOT NULL, state TEXT NOT NULL,
    status TEXT NOT NULL, now_path TEXT NOT NULL, stale INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS body (seq INTEGER PRIMARY KEY, text TEXT NOT NULL, body BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS reply (number INTEGER PRIMARY KEY AUTOINCREMENT, seq INTEGER NOT NULL, text TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS reply_seq ON reply (seq);
CREATE INDEX IF NOT EXISTS note_path ON note (path, place);
CREATE INDEX IF NOT EXISTS note_id ON note (id);
CREATE INDEX IF NOT EXISTS note_state ON note (state, now_path);
CREATE INDEX IF NOT EXISTS note_elsewhere ON note (now_path) WHERE now_path != path;
CREATE INDEX IF NOT EXISTS note_tag ON note (tag, created);
CREATE INDEX IF NOT EXISTS note_created ON note (created, id);
CREATE TABLE IF NOT EXISTS looked (one INTEGER PRIMARY KEY, walk TEXT NOT NULL, lost TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS hidden (seq INTEGER PRIMARY KEY, home TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS culprit (number INTEGER PRIMARY KEY AUTOINCREMENT, asked TEXT NOT NULL UNIQUE,
    answer BLOB NOT NULL);
CREATE TRIGGER IF NOT EXISTS note_gone AFTER DELETE ON note BEGIN
    DELETE FROM body WHERE seq = old.seq; DELETE FROM hidden WHERE seq = old.seq;
    DELETE FROM reply WHERE seq = old.seq; INSERT INTO gone (seq) VALUES (old.seq); END;
CREATE TRIGGER IF NOT EXISTS reply_gone_too AFTER DELETE ON reply BEGIN
    INSERT INTO reply_gone (seq) VALUES (old.number); END;
"""
_ALL = ("note", "body", "reply", "file", "gone", "corpus", "reply_gone", "reply_corpus", "hidden", "looked", "culprit")
_BODIES = "SELECT body FROM note JOIN body USING (seq)"
SHOWN = "seq NOT IN (SELECT seq FROM hidden)"
"""A comment that another file holds as well is shown there alone: see storage/doubled.py."""


IN_FILE = "(path = ? OR (now_path != path AND now_path = ?))"
"""The condition of one file, named twice: comments it holds, and those of other files whose code is in it now."""


class Seen(Struct, frozen=True):
    """A file as it was read: what identifies the versions of sidecar and source, and what came of it."""

    path: str
    stamp: str
    content: str = ""
    """What both files held, so that the comments of a file that only looks new are not located again."""
    notes: Collection[Note] | None = ()
    """None when they are what they were."""
    problem: str = ""


class Index:
    """The cache of one workspace. Threads share it; every process has its own connection."""

    def __init__(self, tree: SourceTree, make_anew: Callable[[], None] | None = None) -> None:
        self._make_anew = make_anew
        """Fills the cache again from the files, where it turns out to be damaged."""
        base = os.path.join(tree.folder, f"comments-{tree.key}")
        self._path = f"{base}.db"
        self._lock = threading.RLock()
        self._open: sqlite3.Connection | None = None
        self._reading: tuple[sqlite3.Connection, int] | None = None
        """The connection that reads several answers of one moment, and the thread it does so for."""
        self.remembered = Remembered()
        self._texts = {COMMENTS: TextFile(base), REPLIES: TextFile(f"{base}-replies", REPLIES)}
        self.decode = _decode

    def stamps(self) -> dict[str, str]:
        """Returns what was seen of every file."""
        return dict(self.select("SELECT path, seen FROM file"))

    def problems(self) -> dict[str, str]:
        """Returns the sidecars that could not be read, and why."""
        return dict(self.remember("SELECT path, problem FROM file WHERE problem != '' ORDER BY path"))

    def problem(self, path: str) -> str | None:
        """Why a sidecar could not be read; empty when it could, None when it is not known."""
        rows = self.remember("SELECT problem FROM file WHERE path = ?", (path,))
        return rows[0][0] if rows else None

    def contents(self, paths: Sequence[str]) -> dict[str, str]:
        """Returns what some files held when they were read; a file that could not be read held nothing."""
        asked = msgspec.json.encode(paths).decode()
        sentence = "SELECT path, content FROM file WHERE content != '' AND path IN (SELECT value FROM json_each(?))"
        return dict(self.select(sentence, (asked,)))

    def replace(self, files: Iterable[Seen], gone: Iterable[str] = ()) -> None:
        """Keep what was read of some files, and forget others."""
        with self.using() as db:
            with db:
                for path in gone:
                    show_hidden(db, path)
                    db.execute("DELETE FROM note WHERE path = ?", (path,))
                    db.execute("DELETE FROM file WHERE path = ?", (path,))
                for seen in files:
                    row = (seen.path, seen.stamp, seen.content, seen.problem)
                    db.execute("REPLACE INTO file VALUES (?, ?, ?, ?)", row)
                    if seen.notes is not None:
                        show_hidden(db, seen.path)
                        replace_notes(db, seen.path, seen.notes)

    def rows(self, where: str, values: Sequence[object] = ()) -> list[Located]:
        """Returns the comments for which a condition holds, by file. The condition is ours, its values the caller's."""
        sentence = f"{_BODIES} WHERE ({where}) AND {SHOWN} ORDER BY path, place"
        return self.mend(lambda: self._recall(sentence, values, _take_bodies))

    def stream(self, where: str = "1", values: Sequence[object] = ()) -> Iterator[Located]:
        """Yields the comments for which a condition holds, a page at a time: memory need not hold them all."""
        sentence = (
            f"SELECT path, place, body FROM {choose_order(self, where, values)} JOIN body USING (seq) "  # noqa: S608 - as in rows
            f"WHERE ({where}) AND {SHOWN} AND (path, place) > (?, ?) ORDER BY path, place LIMIT {PAGE}"
        )
        after: tuple[str, int] = ("", -1)
        is_last = False
        while not is_last:
            page, is_last = self.mend(partial(self._read_page, sentence, (*values, *after)))
            for path, place, located in page:
                after = (path, place)
                yield located

    def _read_page(self, sentence: str, values: Sequence[object]) -> tuple[list[tuple[str, int, Located]], bool]:
        """Returns a page, and whether it is the last."""
        page: list[tuple[str, int, Located]] = []
        size = 0
        with self.using() as db:
            for path, place, body in db.execute(sentence, tuple(values)):
                page.append((path, place, self.decode(body)))
                size += len(body)
                if size > limits.COMMENT:
                    return page, False
        return page, len(page) < PAGE

    def counts(self) -> Counter[str]:
        """Returns how many open comments there are, and how many in each state."""
        count: Counter[str] = Counter()
        sentence = f"SELECT state, status, count(*) FROM note WHERE {SHOWN} GROUP BY state, status"  # noqa: S608 - ours
        for state, status, number in self.remember(sentence):
            count[status] += number
            count[state] += number
        return count

    def paths(self) -> list[str]:
        """Returns the files that have comments."""
        return [path for (path,) in self.remember("SELECT path FROM file ORDER BY path")]

    def ids(self, part: str = "") -> set[str]:
        """Returns the ids of all comments, or of those in whose id a text is."""
        sentence = "SELECT id FROM note WHERE instr(id, ?)" if part else "SELECT id FROM note"
        return {name for (name,) in self.select(sentence, (part,) if part else ())}

    def astray(self) -> set[tuple[str, str]]:
        """Returns the files with a comment whose code has gone to another, with that one."""
        return {(path, there) for path, there in self.select("SELECT path, now_path FROM note WHERE now_path != path")}

    def newest(self, hits: Hits, where: str, values: Sequence[object], limit: int) -> tuple[int, list[Located]]:
        """Returns how many of these comments fulfil a condition, and the newest of them."""
        among: Hits | Marked = hits
        if self.remember("SELECT 1 FROM hidden LIMIT 1"):
            where = f"({where or 1}) AND {SHOWN}"
        if where and len(hits) > FEW:
            sentence = f"SELECT seq FROM note WHERE {where}"  # noqa: S608 - as in rows
            matching = Marked(hits)
            with self.using() as db:
                among = Marked(number for (number,) in db.execute(sentence, tuple(values)) if number in matching)
            where = ""
        first = None if where else self._first(among, limit, hits.among)
        if first is None:
            with self.using() as db:
                kept = _sort_newest(db, among.numbers(), where, values)
            return len(kept), self._bodies(kept[:limit])
        return len(among), self._bodies(first)

    def _first(self, some: Hits | Marked, limit: int, everything: int) -> list[int] | None:
        """The newest by going through all of them, newest first; None when looking up each of these is less work."""
        total = len(some)
        if limit * everything > 8 * total * total and total <= FEW:
            return None
        first: list[int] = []
        wanted = {*some} if isinstance(some, Hits) and total <= 2 * limit else some
        with self.using() as db:
            for looked, (number,) in enumerate(db.execute("SELECT seq FROM note ORDER BY created DESC, id DESC")):
                if number in wanted:
                    first.append(number)
                    if len(first) == limit:
                        break
                elif looked > 8 * total and total <= FEW:
                    return None  # they are all old
        return first

    def _bodies(self, numbers: Sequence[int]) -> list[Located]:
        found: dict[int, Located] = {}
        with self.using() as db:
            for at in range(0, len(numbers), _AT_ONCE):
                some = numbers[at : at + _AT_ONCE]
                sentence = f"SELECT seq, body FROM body WHERE seq IN ({','.join('?' * len(some))})"  # noqa: S608 - marks
                found.update((number, self.decode(body)) for number, body in hold_bodies(db.execute(sentence, some)))
        return [found[number] for number in numbers if number in found]

    def search(self, pattern: Pattern, kind: Kind = COMMENTS) -> Hits:
        """Returns the comments whose text matches, or the replies."""

        def read() -> Hits:
            with self.using() as db:
                return self._texts[kind].search(db, pattern)

        return self.mend(read)

    def catch_up(self) -> None:
        """Have the texts ready for the next search of any process."""
        with self.using() as db:
            for texts in self._texts.values():
                texts.catch_up(db)

    def select(self, sentence: str, values: Sequence[object] = ()) -> list[Any]:
        return self.mend(lambda: self._select(sentence, values))

    def remember(self, sentence: str, values: Sequence[object] = ()) -> list[Any]:
        """Returns the same as `select`; SQLite is asked anew only where the cache was written to since."""
        return self.mend(lambda: self._recall(sentence, values, _take_rows))

    def read(self, make: Callable[[], T], *asked: object) -> T:
        """Returns what is made of several answers, all of one moment: the file is locked and looked at once.

        Nothing may be written meanwhile, nor git be asked: other processes wait. What is `asked` names it: it is made
        anew only where the cache was written to since, and nobody may change what is returned.
        """
        return self.mend(lambda: self._read(make, asked))

    def mend(self, read: Callable[[], T]) -> T:
        """Returns what is read. A cache that turns out to be damaged is made anew from the files first, once."""
        try:
            return read()
        except (sqlite3.DatabaseError, *UNREADABLE) as fault:
            make_anew = self._make_anew
            if make_anew is None or is_of_the_disk(fault):
                raise
            if self._reading and self._reading[1] == threading.get_ident():
                raise  # it is mended where the lock is not held
        self._make_anew = None  # not again while it is being made
        try:
            make_anew()
            return read()
        finally:
            self._make_anew = make_anew

    def _select(self, sentence: str, values: Sequence[object]) -> list[Any]:
        with self._lock:
            return self._connected().execute(sentence, tuple(values)).fetchall()

    def _recall(
        self, sentence: str, values: Sequence[object], take: Callable[[sqlite3.Cursor], tuple[list[T], int]]
    ) -> list[T]:
        """Returns what is taken of the rows and how large that is; of memory where nothing was written since."""
        asked = (sentence, *values)
        with self._lock:
            db = self._connected()
            is_reading = self._reading is not None and self._reading[0] is db
            may_keep = is_reading or not db.in_transaction  # a change may be taken back
            # What is written between the look and the answer is seen by the next look, which forgets the answer.
            known = self.remembered.find(db, asked, look=not is_reading) if may_keep else None
            if known is None:
                known, size = take(db.execute(sentence, tuple(values)))
                if may_keep:
                    self.remembered.keep(asked, known, size)
        return [*known]

    def _read(self, make: Callable[[], T], asked: tuple[object, ...]) -> T:
        with self._lock:
            db = self._connected()
            if db.in_transaction:
                return make()
            if asked and (known := self.remembered.find(db, asked)) is not None:
                return known[0]
            db.execute("BEGIN")
            self._reading = db, threading.get_ident()
            try:
                self.remembered.find(db, asked)  # of this moment
                left_out = self.remembered.left_out
                made = make()
                if asked and left_out == self.remembered.left_out:
                    self.remembered.keep(asked, (made,))
                return made
            finally:
                self._reading = None
                db.commit()

    @contextmanager
    def using(self) -> Generator[sqlite3.Connection]:
        """Gives the connection to one thread at a time."""
        with self._lock:
            yield self._connected()

    def _connected(self) -> sqlite3.Connection:
        """Returns the connection; the caller holds the lock."""
        if self._open is None:
            self._open = self._connect()
        return self._open

    def damage(self) -> list[str]:
        """Returns what SQLite's own check finds wrong."""
        found = [str(row[0]) for row in self._select("PRAGMA integrity_check(5)", ())]
        return [] if found == ["ok"] else found

    def start_again(self, in_memory: bool = False) -> None:
        """Forget everything: it is read again from the sidecars. Where nothing can be written, it goes on in memory."""
        with self._lock:
            if self._open is not None:
                self._open.close()
            if in_memory:
                self._open = _prepare(":memory:")
                return
            for name in (self._path, f"{self._path}-journal"):
                with suppress(OSError):
                    os.unlink(name)
            self._open = self._connect()
            self._texts = {kind: TextFile(each.base, kind) for kind, each in self._texts.items()}

    def _connect(self) -> sqlite3.Connection:
        try:
            make_own_folder(os.path.dirname(self._path))
            if os.path.islink(self._path):  # an archive may bring one, and SQLite writes where it leads
                os.unlink(self._path)
            if not _is_cut_off(self._path):
                return _prepare(self._path)
        except (sqlite3.DatabaseError, OSError):
            pass
        try:
            for name in (self._path, f"{self._path}-journal"):
                if os.path.exists(name):
                    os.unlink(name)  # a cache: what was in it is in the sidecars
            return _prepare(self._path)
        except (sqlite3.DatabaseError, OSError):
            return _prepare(":memory:")


def is_of_the_disk(fault: Exception) -> bool:
    """Whether SQLite could not read or write. A text that is damaged is no fault of the disk: only Python minds it."""
    return isinstance(fault, sqlite3.OperationalError) and hasattr(fault, "sqlite_errorcode")


_decode = msgspec.msgpack.Decoder(Located).decode


def _take_rows(rows: sqlite3.Cursor) -> tuple[list[Any], int]:
    return rows.fetchall(), 0


def _take_bodies(rows: sqlite3.Cursor) -> tuple[list[Located], int]:
    size, found = 0, list[Located]()
    for (body,) in hold_bodies(rows):
        size += len(body)
        found.append(_decode(body))
    return found, size


def _sort_newest(db: sqlite3.Connection, numbers: Sequence[int], where: str, values: Sequence[object]) -> list[int]:
    """Returns those of some comments that fulfil a condition, the newest first."""
    found: list[tuple[str, str, int]] = []
    for at in range(0, len(numbers), 500):
        some = ",".join(map(str, numbers[at : at + 500]))
        extra = f"AND {where}" if where else ""
        sentence = f"SELECT created, id, seq FROM note WHERE seq IN ({some}) {extra}"  # noqa: S608 - integers
        found += db.execute(sentence, tuple(values))
    return [number for _, _, number in sorted(found, reverse=True)]


def make_digest(index: Index, where: str, values: Sequence[object] = ()) -> bytes:
    """Returns what changes whenever one of the comments for which a condition holds does."""
    import hashlib  # only subscribers need it

    made = hashlib.blake2b(digest_size=16)
    sentence = f"{_BODIES} WHERE ({where}) AND {SHOWN} ORDER BY path, place"
    with index.using() as db:
        for (body,) in db.execute(sentence, tuple(values)):
            made.update(body)
    return made.digest()


def list_elsewhere(index: Index) -> list[str]:
    """Returns the files that code of comments in other files has gone to."""
    return [path for (path,) in index.remember("SELECT DISTINCT now_path FROM note WHERE now_path != path")]


def choose_order(index: Index, where: str, values: Sequence[object]) -> str:
    """Returns the table to read comments from by file, a page at a time.

    Where many fulfil the condition, in the order of the files: sorted anew, every page would take as long as all.
    """
    sentence = f"SELECT count(*) FROM (SELECT 1 FROM note WHERE {where} LIMIT {MOST_SORTED + 1})"  # noqa: S608 - as in rows
    return "note INDEXED BY note_path" if index.remember(sentence, values)[0][0] > MOST_SORTED else "note"


def hold_bodies(rows: Iterable[T]) -> Iterator[T]:
    """Yields rows whose last column is a comment's body; the call in progress says what it holds of them."""
    size = 0
    for row in rows:
        size += len(row[-1])  # type: ignore[index]
        if size > limits.LARGE:
            call.hold(size, grows=True)
            size = 0
        yield row


def _prepare(path: str) -> sqlite3.Connection:
    if path != ":memory:" and not os.path.exists(path):
        make_own_file(path)  # before SQLite makes a journal of the same mode
    db = sqlite3.connect(path, timeout=60, check_same_thread=False)
    try:
        db.execute("PRAGMA journal_mode=TRUNCATE")
        db.execute("PRAGMA synchronous=FULL")
        db.execute("PRAGMA cache_size=-16384")
        (layout,) = db.execute("PRAGMA user_version").fetchone()
        if layout != LAYOUT:
            with db:
                for table in _ALL:
                    db.execute(f"DROP TABLE IF EXISTS {table}")
                db.execute(f"PRAGMA user_version={LAYOUT}")
        db.executescript(TEXT_TABLES + _TABLES)
    except sqlite3.DatabaseError:
        db.close()
        raise
    return db


def _is_cut_off(path: str) -> bool:
    """Returns whether a database is shorter than it says, where no journal explains that: SQLite may not mind."""
    try:
        with open_regular(path) as file:
            head = file.read(32)
        page, pages = int.from_bytes(head[16:18], "big"), int.from_bytes(head[28:32], "big")
        is_short = os.path.getsize(path) < (65536 if page == 1 else page) * pages
        return is_short and not (os.path.exists(f"{path}-journal") and os.path.getsize(f"{path}-journal"))
    except OSError:
        return False


def search_replies(index: Index, pattern: Pattern) -> set[int]:
    """Returns the numbers of the comments that have a reply which matches."""
    if not index.remember("SELECT 1 FROM reply LIMIT 1"):
        return set()
    asked = msgspec.json.encode(index.search(pattern, REPLIES).numbers()).decode()
    sentence = "SELECT DISTINCT seq FROM reply WHERE number IN (SELECT value FROM json_each(?))"
    return {seq for (seq,) in index.select(sentence, (asked,))}


def find_holders_of(index: Index, blobs: Collection[str]) -> dict[str, str]:
    """Returns the files that held some contents when they were read, by blob id."""
    held = "substr(content, 42, ?)"
    sentence = f"SELECT {held}, path FROM file WHERE {held} IN (SELECT value FROM json_each(?))"  # noqa: S608
    width = max(map(len, blobs), default=0)
    return dict(index.select(sentence, (width, width, msgspec.json.encode([*blobs]).decode())))


def find_held(index: Index, ids: Collection[str]) -> set[str]:
    """Returns those of some ids that a comment has."""
    asked = msgspec.json.encode(list(ids)).decode()
    sentence = "SELECT id FROM note WHERE id IN (SELECT value FROM json_each(?))"
    return {name for (name,) in index.select(sentence, (asked,))}
