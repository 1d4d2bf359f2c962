"""The index: a SQLite cache of what the logs say, brought up to date from git before every read.

It is never the truth. Deleting it is safe; a damaged, older or half-built one is built anew; where the repository
cannot be written it lives in the user's cache folder or in memory. Readers wait for nobody: while another process
changes the index, a reader brings a copy of its own up to date. What rows mean is `tables.py`'s, how events become rows
`rows.py`'s, which files there are `db_files.py`'s, what is asked of them `pages.py`'s.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
from collections.abc import Generator, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from postil.tracker.events import AHEAD, LARGE
from postil.tracker.index.bulk_fold import BulkFold
from postil.tracker.index.db_files import (
    POINTER,
    Busy,
    connect,
    copy_to_memory,
    find_current,
    open_database,
    remove_databases,
    transaction,
    unpublish,
)
from postil.tracker.index.entity_lines import (
    keep_spooled,
    make_mark,
    read_all_histories,
    read_histories,
    read_some_histories,
    spool_history,
)
from postil.tracker.index.last_fold import LastFold
from postil.tracker.index.rows import merge_lines, write_build, write_words
from postil.tracker.index.tables import TABLES, VERSION, create_tables, read_meta, write_meta
from postil.tracker.log.format import LogCommit, LogDamaged, Segment, read_runs
from postil.tracker.log.merge_read import LogSource, merge_in_order
from postil.tracker.log.new_commits import LogVanished, NewCommits, find_new_commits, note_damage, remember
from postil.tracker.log.refs import Tip, list_logs
from postil.tracker.log.salvage import read_reflog, walk
from postil.tracker.text import paused_collection
from postil.workspace.clones.sharing import share
from postil.workspace.disk import sync
from postil.workspace.failures import LockBusy, WriteFailed
from postil.workspace.files import FileLock, atomic_write
from postil.workspace.paths import RelativePath
from postil.workspace.repository import Repository

if TYPE_CHECKING:
    from postil.tracker.state.large_history import StoredLines

_KEPT_GENERATIONS = 4096
_PATIENCE = 1.0
"""How long a writer waits to put its own events into the index at once; otherwise the next read takes them in."""
_MANY = 2000
"""So many new events at once, and more than one in a hundred of all: building anew is cheaper than merging them."""


class Index:
    """The cache of one repository."""

    def __init__(self, repository: Repository, cache_home: str | None = None) -> None:
        self.repository = repository
        self.lock = threading.RLock()
        self._cache_home = cache_home
        self._db: sqlite3.Connection | None = None
        self._path: str | None = None
        self._recent = LastFold()
        self._aside: sqlite3.Connection | None = None
        """A copy in memory, for the reads until the next refresh: somebody else was changing the file."""

    @property
    def db(self) -> sqlite3.Connection:
        """The open database; `refresh` opens it."""
        if self._aside is not None:
            return self._aside
        if self._db is None:
            self._open()
        assert self._db is not None
        return self._db

    def close(self) -> None:
        """Let go of the database."""
        with self.lock:
            self._leave_copy()
            if self._db is not None:
                self._db.close()
                self._db = None

    def refresh(self, found: Sequence[Tip] | None = None) -> bool:
        """Bring the index up to what the refs hold (`found`, if they are listed). Returns whether anything was new."""
        if found is None:
            found = list_logs(self.repository.root)
        with self.lock:
            for last_try in (False, True):
                try:
                    return self._refreshed(found)
                except sqlite3.DatabaseError:
                    if last_try:
                        raise
                    self._discard()  # a damaged cache is rebuilt, not repaired
        return False

    def apply(self, tip: Tip, commit: LogCommit) -> None:
        """Take in what this process itself has just appended, without reading it back."""
        with self.lock:
            self._leave_copy()
            try:
                with transaction(self.db, wait=_PATIENCE):
                    known = self.db.execute("SELECT oid FROM ref WHERE name = ?", (tip.ref,)).fetchone()
                    if (known[0] if known else None) == commit.parent:  # else the index lacks an earlier one of ours
                        self._merge(commit.lines.split(b"\n"))
                        remember(self.db, tip, commit.end)
            except Busy:
                pass  # the log has it, and so will the next read
            except sqlite3.Error:
                self._discard(reopen=False)  # likewise

    def lines(self, id_: str) -> bytes:
        """Returns the events of an entity as they are stored; empty when it is not known."""
        with self.lock:
            try:
                found = next((lines for _, lines in self.read_histories([id_])), b"")
            except LogDamaged:
                self._discard()  # a segment is gone since the index was built: another build does without it
                found = next((lines for _, lines in self.read_histories([id_])), b"")
            places = self.db.execute("SELECT places, lines FROM log WHERE id = ? AND places <> ''", (id_,)).fetchone()
            if places:  # so that the next read of it reads nothing from git
                sql = "UPDATE log SET places = NULL, lines = ? WHERE id = ? AND places = ? AND lines IS ?"
                self.keep(sql, [(found, id_, *places)])
            return found

    def read_histories(self, ids: Sequence[str]) -> Iterable[tuple[str, bytes]]:
        """Returns the events of entities as they are stored, one after the other."""
        with self.lock:
            yield from read_histories(self.db, self.repository.root, ids)

    def keep(self, sql: str, rows: Sequence[tuple[object, ...]]) -> None:
        """Let the index remember what was worked out for a read, if nobody else is changing it; only speed is lost."""
        with self.lock:
            if rows and self._aside is None:
                with contextlib.suppress(Busy, sqlite3.OperationalError), transaction(self.db):
                    self.db.executemany(sql, rows)

    def read_all_histories(self) -> Iterable[tuple[str, bytes]]:
        """Returns the events of all entities as they are stored, in an order that is the same in every clone."""
        with self.lock:
            folder = os.path.dirname(self._path) if self._path else None
            yield from read_all_histories(self.db, self.repository.root, folder)

    def query(self, sql: str, values: Sequence[str | int] = ()) -> list[Any]:
        """Returns the rows that a statement finds in the present state of the index."""
        with self.lock:
            return self.db.execute(sql, values).fetchall()

    def generation(self) -> int:
        """Returns how often the index has changed since it was built."""
        return int(read_meta(self.db, "generation") or 0)

    def epoch(self) -> str:
        """Returns the name of this build of the index."""
        return str(read_meta(self.db, "epoch") or "")

    def clock(self) -> int:
        """Returns the highest Lamport clock of all events that is believed."""
        return int(read_meta(self.db, "clock") or 0)

    def damage(self, *kinds: str) -> list[str]:
        """Returns what is wrong with the logs: `damage`, `refused`, `rewritten`, `newer`, or all of it."""
        rows = self.query("SELECT key, value FROM meta WHERE key GLOB '*:refs/*' ORDER BY key")
        return [text for key, text in rows if not kinds or key.partition(":")[0] in kinds]

    def build_in_memory(self) -> None:
        """Read the logs into memory, whatever caches exist: to compare them with."""
        with self.lock:
            self._path, self._db = None, _build(":memory:", self.repository.root, None)

    def need_words(self) -> None:
        """Make sure that the table of words is there."""
        with self.lock:
            if read_meta(self.db, "words") is None:
                for last_try in (False, True):
                    try:
                        with self._changing():
                            write_words(self.db, self.read_all_histories())
                        return
                    except LogDamaged:
                        if last_try:
                            raise
                        self._discard()  # a segment is gone: without it, what is left can be searched

    def forget(self) -> None:
        """Drop the cache, so that the next read builds it from the logs alone."""
        with self.lock:
            self.close()
            for folder in self._folders():
                unpublish(folder)
                remove_databases(folder)

    # Opening and building

    def _open(self) -> None:
        for folder in self._folders():
            found = self._find(folder)
            if found is None:
                with contextlib.suppress(WriteFailed, LockBusy, sqlite3.OperationalError, OSError):
                    with FileLock(os.path.join(folder, "cache.db.lock"), timeout=120):
                        found = self._find(folder) or _publish(self.repository.root, folder)
            if found is not None:
                self._db, self._path = found, find_current(folder)
                return
        self._path, self._db = None, _build(":memory:", self.repository.root, None)

    def _find(self, folder: str) -> sqlite3.Connection | None:
        """Returns the database that is there; where nothing can be written, only if it is up to date."""
        path = find_current(folder)
        if path is None:
            return None
        if os.access(folder, os.W_OK) and os.access(path, os.W_OK):
            return open_database(path)
        self._db = open_database(path, read_only=True)
        if self._db is not None and _is_current(self._db, list_logs(self.repository.root)):
            return self._db
        return None

    def _folders(self) -> list[str]:
        own = [self.repository.postil_folder()]
        if self._cache_home:
            own.append(os.path.join(self._cache_home, self.repository.key))
        return own

    def _discard(self, reopen: bool = True) -> None:
        path = self._path
        self.close()
        if path is not None and find_current(os.path.dirname(path)) == path:
            unpublish(os.path.dirname(path))
        if reopen:
            self._open()

    # Bringing up to date

    def _refreshed(self, found: Sequence[Tip]) -> bool:
        self._leave_copy()
        if self._path is not None and find_current(os.path.dirname(self._path)) != self._path:
            self.close()  # another process built a new one
        if _is_current(self.db, found):
            return False
        before = self.generation()
        try:
            with self._changing():
                # Looked at again: another process may have taken in newer ends meanwhile, and against those an old
                # look would seem to be a rewritten log.
                now = list_logs(self.repository.root)
                if not _is_current(self.db, now):
                    self._take_in(now)
        except (_NeedsRebuild, LogVanished, LogDamaged):
            self._discard()
            return True
        except sqlite3.OperationalError as fault:
            if "readonly" not in str(fault) and "disk" not in str(fault) and "full" not in str(fault):
                raise
            self.close()
            self._path, self._db = None, _build(":memory:", self.repository.root, None)
            return True
        return self.generation() != before

    @contextlib.contextmanager
    def _changing(self) -> Generator[None]:
        """Change the database; a copy of it, if somebody else is changing it just now."""
        with contextlib.ExitStack() as stack:
            try:
                stack.enter_context(transaction(self.db))
            except Busy:
                self._aside = copy_to_memory(self.db)
                stack.enter_context(transaction(self._aside))
                write_meta(self.db, "epoch", os.urandom(4).hex())  # its generations are not those of the file
            yield

    def _leave_copy(self) -> None:
        if self._aside is not None:
            self._aside.close()
            self._aside = None

    def _take_in(self, found: Sequence[Tip]) -> None:
        lines: list[bytes] = []
        for arrival in find_new_commits(self.db, self.repository.root, found):
            try:
                for run in read_runs(self.repository.root, arrival.unread):
                    lines += [line for line in run.split(b"\n") if line]
            except LogDamaged as fault:
                note_damage(self.db, arrival.tip, fault)
        if len(lines) > max(_MANY, int(read_meta(self.db, "events") or 0) // 100):
            raise _NeedsRebuild
        self._merge(lines)

    def _merge(self, lines: Iterable[bytes]) -> None:
        generation = self.generation() + 1
        read_lines = partial(read_histories, self.db, self.repository.root)
        changed, clock = merge_lines(self.db, lines, generation, read_lines, self._recent)
        write_meta(self.db, "clock", max(clock, self.clock()))
        if changed:
            write_meta(self.db, "generation", generation)
        if generation % 256 == 0:
            self.db.execute("DELETE FROM history WHERE gen < ?", (generation - _KEPT_GENERATIONS,))
            write_meta(self.db, "history_from", max(1, generation - _KEPT_GENERATIONS))


def open_lines(index: Index, id_: str) -> StoredLines:
    """Returns the events of an entity as they are stored, in a file if they are too many to hold."""
    with index.lock, contextlib.suppress(LogDamaged, OSError):  # then as `lines` does it
        folder = os.path.dirname(index._path or "") or None  # pyright: ignore[reportPrivateUsage]
        found = spool_history(index.db, index.repository.root, folder, id_)
        if found is not None and len(found) >= LARGE:
            with contextlib.suppress(Busy, sqlite3.OperationalError), transaction(index.db):
                keep_spooled(index.db, id_, found)
            return found
    return index.lines(id_)


def _is_current(db: sqlite3.Connection, found: Sequence[Tip]) -> bool:
    return dict(db.execute("SELECT name, oid FROM ref").fetchall()) == {tip.ref: tip.oid for tip in found}


class _NeedsRebuild(Exception):
    """So much is new that building the index is cheaper than changing it."""


def _publish(root: str, folder: str) -> sqlite3.Connection | None:
    """Returns a new database in this folder, made known to all when it is complete."""
    name = f"cache-{os.urandom(4).hex()}.db"
    path = os.path.join(folder, name)
    try:
        _build(path, root, folder).close()
        share(path)
        sync(path)  # before it is named: the name must not outlive what it names when the power fails
        found = open_database(path)
        atomic_write(folder, RelativePath(POINTER), name.encode() + b"\n")
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(path)
        raise
    remove_databases(folder, but=name)
    return found


def _build(path: str, root: str, folder: str | None) -> sqlite3.Connection:
    db = connect(path)
    # Nobody knows of it before it is complete, so it needs no journal.
    db.execute("PRAGMA page_size = 16384")  # a tenth less time than 4096
    db.execute("PRAGMA journal_mode = OFF")
    db.execute("PRAGMA synchronous = OFF")
    db.execute("PRAGMA cache_size = -8000")
    db.execute("BEGIN")
    create_tables(db, TABLES)
    with paused_collection():
        clock = _fill(db, root, folder)
    write_meta(db, "clock", clock)
    write_meta(db, "epoch", os.urandom(4).hex())
    write_meta(db, "generation", 1)
    write_meta(db, "history_from", 1)
    db.execute("COMMIT")
    db.execute(f"PRAGMA user_version = {VERSION}")
    return db


def _fill(db: sqlite3.Connection, root: str, folder: str | None) -> int:
    marks: dict[str, str] = {}

    def make_source(one: NewCommits) -> LogSource:  # after which nothing holds its commits
        fresh = [segment for segment in one.unread.segments if segment.oid not in marks]  # two logs may share some
        marks.update((segment.oid, make_mark(n)) for n, segment in enumerate(fresh, len(marks) + 1))
        rescue = _Rescue(root, db, one.tip)
        return LogSource([(marks[s.oid], s) for s in fresh], one.unread.commits, rescue.find_lines)

    sources = [*map(make_source, find_new_commits(db, root, list_logs(root)))]
    bulk = BulkFold()
    held: dict[str, list[bytes]] = {}
    for events in merge_in_order(root, sources, lambda id_, line: held.setdefault(id_, []).append(line)):
        bulk.take(events)
    unread = {mark for source in sources for mark in source.unread}
    read = ((mark, oid) for oid, mark in marks.items() if mark not in unread)
    db.executemany("INSERT INTO segment VALUES (?, ?)", read)
    events = sum(source.count for source in sources)
    write_meta(db, "events", events)
    return write_build(db, bulk, held, partial(read_some_histories, db, root, folder), events + AHEAD)


class _Rescue:
    """What the commits of a log hold in the place of segments that are damaged."""

    def __init__(self, root: str, db: sqlite3.Connection, tip: Tip) -> None:
        self._root, self._db, self._tip = root, db, tip
        self._walked: list[LogCommit] | None = None
        """All commits, from the second damage on: so that many are not many walks."""
        self._damaged = 0

    def find_lines(self, fault: LogDamaged, segment: Segment) -> list[bytes]:
        """Note a damaged segment. Returns the lines that are found elsewhere, as far as there are."""
        if not self._damaged:
            note_damage(self._db, self._tip, fault)
        self._damaged += 1
        commits = self._walk(segment.position if self._damaged == 1 else 0)
        within = (one for one in commits if one.end > segment.position and one.position < segment.end)
        return [line for commit in within for line in commit.lines.split(b"\n") if line]

    def _walk(self, down_to: int) -> list[LogCommit]:
        if self._walked is not None:
            return self._walked
        ends = [self._tip.oid, *(new for _, new, _ in read_reflog(self._root, self._tip.ref))]
        found = walk(self._root, ends, down_to)
        if down_to == 0:
            self._walked = found
        return found
