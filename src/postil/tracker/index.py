"""The index: a SQLite cache of what the logs say, brought up to date from git before every read.

It is never the truth. Deleting it is safe; a damaged, older or half-built one is built anew; where the repository
cannot be written it lives in the user's cache folder or in memory. Readers do not wait for writers (WAL). What rows
mean is `schema.py`'s, how events become rows `rows.py`'s, what is asked of them `pages.py`'s.
"""

from __future__ import annotations

import contextlib
import gc
import os
import secrets
import sqlite3
import threading
from collections.abc import Callable, Generator, Iterator, Sequence

from postil.tracker.log import LogCommit, LogDamaged, Objects, is_ancestor, news, objects
from postil.tracker.refnames import KEPT
from postil.tracker.refs import Tip, tips
from postil.tracker.rows import Spool, fill, merge_lines, write_words
from postil.tracker.schema import INDEXES, TABLES, VERSION
from postil.workspace.failures import LockBusy, WriteFailed
from postil.workspace.files import FileLock
from postil.workspace.git import try_git
from postil.workspace.repository import Repository

_WAIT = 2.0
"""How long a read waits for another process that brings the index up to date, before it reads the state before that."""
_KEPT_GENERATIONS = 4096


class Index:
    """The cache of one repository."""

    def __init__(self, repository: Repository, cache_home: str | None = None) -> None:
        self.repository = repository
        self.lock = threading.RLock()
        self._cache_home = cache_home
        self._db: sqlite3.Connection | None = None
        self._path: str | None = None

    @property
    def db(self) -> sqlite3.Connection:
        """The open database; `refresh` opens it."""
        if self._db is None:
            self._open()
        assert self._db is not None
        return self._db

    def close(self) -> None:
        """Let go of the database."""
        with self.lock:
            if self._db is not None:
                self._db.close()
                self._db = None

    def refresh(self) -> bool:
        """Bring the index up to what the refs hold; whether anything was new."""
        found = tips(self.repository.root)
        with self.lock:
            for last_try in (False, True):
                try:
                    return self._refreshed(found)
                except sqlite3.DatabaseError as fault:
                    if isinstance(fault, sqlite3.OperationalError) and "locked" in str(fault):
                        return False
                    if last_try:
                        raise
                    self._discard()  # a damaged cache is rebuilt, not repaired
        return False

    def applied(self, tip: Tip, commit: LogCommit) -> None:
        """Take in what this process itself has just appended, without reading it back."""
        with self.lock:
            try:
                with _transaction(self.db):
                    self._merge(commit.lines.split(b"\n"))
                    self._remember(tip, commit.end)
            except sqlite3.Error:
                self._discard(reopen=False)  # the log has it; the next read builds the cache again

    def generation(self) -> int:
        """How often the index has changed since it was built."""
        return int(self._meta("generation") or 0)

    def epoch(self) -> str:
        """Names this build of the index."""
        return str(self._meta("epoch") or "")

    def clock(self) -> int:
        """The highest Lamport clock of all events."""
        return int(self._meta("clock") or 0)

    def history_from(self) -> int:
        """The oldest generation that can still be told from the present one."""
        return int(self._meta("history_from") or 0)

    def last_number(self, replica: str) -> int:
        """The number of a writer's last event."""
        found = self.db.execute("SELECT n FROM writer WHERE replica = ?", (replica,)).fetchone()
        return found[0] if found else 0

    def damage(self) -> list[str]:
        """What was found wrong while reading logs, since the index was built."""
        return [row[0] for row in self.db.execute("SELECT value FROM meta WHERE key GLOB 'damage:*' ORDER BY key")]

    def build_in_memory(self) -> None:
        """Read the logs into memory, whatever caches exist: to compare them with."""
        with self.lock:
            self._path, self._db = None, self._built(None, None)

    def need_words(self) -> None:
        """Make sure that the table of words is there."""
        if self._meta("words") is None:
            with _transaction(self.db):
                write_words(self.db)

    def forget(self) -> None:
        """Drop the cache, so that the next read builds it from the logs alone."""
        with self.lock:
            self._discard(reopen=False)
            for folder in self._folders():
                with contextlib.suppress(OSError):
                    _remove(os.path.join(folder, "cache.db"))

    def _meta(self, key: str) -> int | str | None:
        found = self.db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return found[0] if found else None

    def _set(self, key: str, value: int | str) -> None:
        self.db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    # Opening and building

    def _open(self) -> None:
        for folder in self._folders():
            path = os.path.join(folder, "cache.db")
            try:
                with FileLock(f"{path}.lock", timeout=120):
                    self._db = _opened(path) or self._built(path, folder)
            except (WriteFailed, LockBusy, sqlite3.OperationalError, OSError):
                # Not writable: a cache that somebody else built can still be read there.
                self._db = _opened_read_only(path)
                if self._db is not None and self._is_current(tips(self.repository.root)):
                    self._path = path
                    return
                self._db = None
                continue
            self._path = path
            return
        self._path = None
        self._db = self._built(None, None)

    def _folders(self) -> list[str]:
        own = [self.repository.postil_folder()]
        if self._cache_home:
            own.append(os.path.join(self._cache_home, self.repository.key))
        return own

    def _built(self, path: str | None, folder: str | None) -> sqlite3.Connection:
        if path is not None:
            _remove(path)
        db = _connect(path or ":memory:")
        self._db = db
        # A build that dies leaves user_version 0 and is thrown away, so it needs no journal.
        db.execute(
            "PRAGMA page_size = 16384"
        )  # entities of a few kB: a tenth less time and a sixth less disk than 4096
        db.execute("PRAGMA journal_mode = OFF")
        db.execute("PRAGMA synchronous = OFF")
        db.execute("PRAGMA cache_size = -32000")
        db.execute("BEGIN")
        _script(db, TABLES)
        collecting = gc.isenabled()
        gc.disable()  # millions of short-lived objects and no cycles: collecting doubles the time
        try:
            spool = Spool(folder)
            clock = self._gather(tips(self.repository.root), {}, spool.add)
            clock = max(clock, fill(db, spool))
        finally:
            if collecting:
                gc.enable()
        _script(db, INDEXES)
        self._set("clock", clock)
        self._set("epoch", secrets.token_hex(4))
        self._set("generation", 1)
        self._set("history_from", 1)
        db.execute("COMMIT")
        db.execute(f"PRAGMA user_version = {VERSION}")
        if path is None:
            return db
        db.close()
        return _opened(path) or _connect(path)

    def _discard(self, reopen: bool = True) -> None:
        path = self._path
        self.close()
        if path is not None:
            with contextlib.suppress(OSError):
                _remove(path)
        if reopen:
            self._open()

    # Bringing up to date

    def _refreshed(self, found: Sequence[Tip]) -> bool:
        if self._is_current(found):
            return False
        before = self.generation()
        try:
            with _transaction(self.db):
                # Looked at again: another process may have taken in newer ends while this one waited for the lock, and
                # against those an old look would seem to be a rewritten log.
                now = tips(self.repository.root)
                if not self._is_current(now):
                    self._take_in(now)
        except _Vanished:
            self._discard()
            return True
        except sqlite3.OperationalError as fault:
            if "readonly" not in str(fault) and "disk" not in str(fault) and "full" not in str(fault):
                raise
            self.close()
            self._path, self._db = None, self._built(None, None)
            return True
        return self.generation() != before

    def _is_current(self, found: Sequence[Tip]) -> bool:
        return dict(self.db.execute("SELECT name, oid FROM ref").fetchall()) == {tip.ref: tip.oid for tip in found}

    def _take_in(self, found: Sequence[Tip]) -> None:
        known: dict[str, tuple[str, str, int]] = {
            name: (oid, replica, pos)
            for name, oid, replica, pos in self.db.execute("SELECT name, oid, replica, pos FROM ref")
        }
        present = {tip.ref for tip in found}
        for name, (oid, replica, _) in known.items():
            if name not in present:
                self._must_be_covered(oid, replica, found)
                self.db.execute("DELETE FROM ref WHERE name = ?", (name,))
        runs: list[bytes] = []
        self._gather(found, known, runs.append)
        self._merge(line for run in runs for line in run.split(b"\n") if line)

    def _merge(self, lines: Iterator[bytes] | Sequence[bytes]) -> None:
        generation = self.generation() + 1
        changed, clock = merge_lines(self.db, lines, generation)
        if changed:
            self._set("generation", generation)
            self._set("clock", max(clock, self.clock()))
        if generation % 256 == 0:
            self.db.execute("DELETE FROM history WHERE gen < ?", (generation - _KEPT_GENERATIONS,))
            self._set("history_from", max(1, generation - _KEPT_GENERATIONS))

    def _must_be_covered(self, oid: str, replica: str, found: Sequence[Tip]) -> None:
        if self.db.execute("SELECT 1 FROM absorbed WHERE replica = ?", (replica,)).fetchone():
            return
        others = [tip for tip in found if tip.replica == replica]
        if not any(tip.oid == oid or is_ancestor(self.repository.root, oid, tip.oid) for tip in others):
            raise _Vanished

    def _gather(self, found: Sequence[Tip], known: dict[str, tuple[str, str, int]], take: _Take) -> int:
        """Hand over all lines that are new in these refs, and remember the refs. The highest clock of their commits."""
        ends: dict[str, dict[str, int]] = {}
        for oid, replica, pos in known.values():
            ends.setdefault(replica, {})[oid] = pos
        changed = [tip for tip in found if known.get(tip.ref, ("",))[0] != tip.oid]
        if not changed:
            return 0
        clock = 0
        with objects(self.repository.root) as git:
            # A writer's own log first: what was fetched of it is then mostly known already.
            for tip in sorted(changed, key=lambda tip: (tip.remote is not None, tip.ref)):
                old = known.get(tip.ref)
                try:
                    commit = git.commit(tip.oid)
                    clock = max(clock, commit.clock)
                    self._read(git, tip, commit, ends.setdefault(tip.replica, {}), old[0] if old else None, take)
                except LogDamaged as fault:
                    self._set(f"damage:{tip.ref}", f"{tip.ref}: {fault.message}")
                    self._remember(tip, 0)
                    return self._gather(
                        [other for other in found if other.ref != tip.ref],
                        {
                            name: (oid, r, p)
                            for name, oid, r, p in self.db.execute("SELECT name, oid, replica, pos FROM ref")
                        },
                        take,
                    )
                self._remember(tip, commit.end)
        return clock

    def _read(
        self, git: Objects, tip: Tip, commit: LogCommit, ends: dict[str, int], old: str | None, take: _Take
    ) -> None:
        root = self.repository.root
        runs: Iterator[bytes] | None = None if ends else news(root, git, commit, None)
        base: str | None = None
        for oid, end in sorted(ends.items(), key=lambda item: -item[1]):
            if oid == tip.oid or (commit.end <= end and is_ancestor(root, tip.oid, oid)):
                runs = iter(())
            elif commit.end > end and end > 0:
                runs = news(root, git, commit, (oid, end))
                base = oid
            if runs is not None:
                break
        # Having read on from the old end proves that the ref moved forward; git need not walk the history for it.
        proved = runs is not None and base == old
        if old is not None and old != tip.oid and not proved and not is_ancestor_or_empty(root, old, tip.oid, ends):
            self._keep(tip, old)
        if runs is None:
            # Two histories of one log: read all of this one; events that are known already count once.
            self._set(f"damage:{tip.ref}", f"{tip.ref}: two different histories of the log {tip.replica}")
            runs = news(root, git, commit, None)
        for run in runs or ():
            take(run)
        ends[tip.oid] = commit.end

    def _keep(self, tip: Tip, old: str) -> None:
        """A fetched log was rewritten: its old end stays reachable, so nothing that was seen is lost."""
        ref = f"{KEPT}{tip.replica}/{old[:16]}"
        kept = try_git(self.repository.root, "update-ref", "--end-of-options", ref, old)
        self._set(
            f"damage:{tip.ref}:{old[:12]}",
            f"{tip.ref}: the log was rewritten (its old end {old[:12]} is {'kept' if kept.status == 0 else 'lost'})",
        )

    def _remember(self, tip: Tip, end: int) -> None:
        self.db.execute("INSERT OR REPLACE INTO ref VALUES (?, ?, ?, ?)", (tip.ref, tip.oid, tip.replica, end))


class _Vanished(Exception):
    """A ref is gone and no other holds its events: the index must be built from what is left."""


_Take = Callable[[bytes], object]


def is_ancestor_or_empty(root: str, old: str, new: str, ends: dict[str, int]) -> bool:
    """Whether a ref moved forward; one that could not be read before has no history to lose."""
    return ends.get(old, 0) == 0 or is_ancestor(root, old, new)


def _connect(path: str, read_only: bool = False) -> sqlite3.Connection:
    name = f"file:{path}?mode=ro" if read_only else path
    return sqlite3.connect(name, timeout=_WAIT, isolation_level=None, check_same_thread=False, uri=read_only)


def _opened(path: str) -> sqlite3.Connection | None:
    """The complete, current cache at a path, or None."""
    if not os.path.exists(path):
        return None
    db = _connect(path)
    try:
        if db.execute("PRAGMA user_version").fetchone()[0] == VERSION:
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("PRAGMA synchronous = NORMAL")
            return db
    except sqlite3.DatabaseError as fault:
        if "locked" in str(fault):
            return db
    db.close()
    return None


def _opened_read_only(path: str) -> sqlite3.Connection | None:
    try:
        db = _connect(path, read_only=True)
        if db.execute("PRAGMA user_version").fetchone()[0] == VERSION:
            db.execute("SELECT 1 FROM ref LIMIT 1").fetchone()
            return db
    except sqlite3.Error:
        pass
    return None


def _remove(path: str) -> None:
    for suffix in ("", "-wal", "-shm", "-journal"):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path + suffix)


@contextlib.contextmanager
def _transaction(db: sqlite3.Connection) -> Generator[None]:
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")


def _script(db: sqlite3.Connection, statements: str) -> None:
    for statement in statements.split(";"):
        if statement.strip():
            db.execute(statement)
