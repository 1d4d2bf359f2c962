"""The state database in SQLite: one file for each user, shared by the shell and every running server.

A rollback journal and `synchronous=FULL`, so that a write that returned survives a power cut (the SQLite of older
systems has a corruption race in WAL mode when two processes checkpoint). One connection, used by one thread at a time.
The file appears under its name only when it is complete: an empty or garbled one is damage, is reported and never
overwritten.

Not here: what the records mean. Parts keep theirs in spaces of their own.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from postil.core.effects.joining import join
from postil.storage.failures import StateBusy, StateDamaged, StateFull, StateNewer, StateUnwritable
from postil.storage.steady_clock import Mark, read_now
from postil.workspace.disk import sync

if TYPE_CHECKING:
    from postil.core.ports import Changes, CounterRow, RecordRow, Records
    from postil.storage.listeners import ChangeListeners

FORMAT = 1
APPLICATION = 0x506F7374  # "Post", so that a database of another program is not mistaken for ours
BUSY_SECONDS = 15.0
OWN_FOLDER = "postil"
"""The name of the folder that is for our files alone."""

_SCHEMA = f"""
PRAGMA application_id = {APPLICATION};
PRAGMA user_version = {FORMAT};
CREATE TABLE records (
  space TEXT NOT NULL, key TEXT NOT NULL, value BLOB NOT NULL, expires REAL, PRIMARY KEY (space, key)
) WITHOUT ROWID;
CREATE INDEX expiring ON records (expires) WHERE expires IS NOT NULL;
CREATE TABLE counters (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
"""
_VERSION = "version"
_CLOCK = ("clock", "clock boot", "boot")
READ = ("BEGIN", "SELECT 1 FROM sqlite_schema LIMIT 1")  # takes the lock at once, not with the first question
WRITE = ("BEGIN IMMEDIATE",)
PAUSE = 0.002


class SqliteState:
    """The State port over one SQLite file, made when it is first needed."""

    def __init__(self, path: str, busy_seconds: float = BUSY_SECONDS) -> None:
        self.path = path
        self.busy_seconds = busy_seconds
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._inode: tuple[int, int] | None = None
        self._listeners: ChangeListeners | None = None
        self._starting = threading.Lock()
        self._stop_watch: Callable[[], None] | None = None
        self._mark: Mark | None = None

    @contextmanager
    def reading(self) -> Generator[Records]:
        """Give a consistent view of the records."""
        with self._transaction(READ) as connection:
            yield _Records(connection, self._now())

    @contextmanager
    def writing(self) -> Generator[Changes]:
        """Change records: durable when the block ends, nothing changed when it raises."""
        with self._transaction(WRITE) as connection:
            changes = _Changes(connection, self._now())
            yield changes
            join(changes)
            changes.next(_VERSION)

    def version(self) -> int:
        """Returns a number that grows with every write."""
        with self._transaction(READ) as connection:
            row = connection.execute("SELECT value FROM counters WHERE name = ?", (_VERSION,)).fetchone()
        return 0 if row is None else row[0]

    def wait(self, beyond: int, timeout: float) -> bool:
        """Wait until the version is greater than `beyond`. Returns False when the time is over first."""
        return self._watch().wait_until(lambda: self.version() > beyond, timeout)

    def on_change(self, changed: Callable[[], None]) -> Callable[[], None]:
        """Call `changed` after every write of any process. Returns a function that stops this."""
        return self._watch().add(changed)

    def close(self) -> None:
        """Close the file and end the watching thread."""
        with self._starting:
            stop, self._stop_watch = self._stop_watch, None
        if stop is not None:
            stop()
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def damage(self) -> list[str]:
        """Returns what SQLite's own check finds wrong."""
        with self._transaction(READ) as connection:
            found = [str(row[0]) for row in connection.execute("PRAGMA integrity_check(20)")]
        return [] if found == ["ok"] else found

    def dump(self) -> tuple[list[CounterRow], Iterator[RecordRow]]:
        """Returns all counters and records of one moment, from a copy in memory: writers do not wait."""
        copy = sqlite3.connect(":memory:")
        with self._transaction(READ) as connection:
            connection.backup(copy)
            now = self._now().time
        counters = [(name, value) for name, value in copy.execute("SELECT * FROM counters") if name not in _CLOCK]
        rows = copy.execute("SELECT * FROM records WHERE expires IS NULL OR expires > ?", (now,))
        return counters, ((space, key, _bytes(value), expires and expires - now) for space, key, value, expires in rows)

    def load(self, counters: Iterable[CounterRow], records: Iterable[RecordRow]) -> None:
        """Replace all counters and records, all or nothing. The version only grows."""
        with self._transaction(WRITE) as connection:
            changes = _Changes(connection, self._now())
            changes.replace_all(counters, records)

    @contextmanager
    def _transaction(self, begin: tuple[str, ...]) -> Generator[sqlite3.Connection]:
        with self._lock:
            try:
                connection = self._open()
                self._execute_waiting(connection, *begin)
                try:
                    yield connection
                    self._execute_waiting(connection, "COMMIT")
                except BaseException:
                    if connection.in_transaction:
                        connection.execute("ROLLBACK")
                    raise
            except sqlite3.Error as error:
                raise self._translate(error) from error
            except UnicodeDecodeError as error:  # from a name in the schema, a key, or SQLite's own complaint
                raise StateDamaged(self.path, "a text in it cannot be read") from error

    def _execute_waiting(self, connection: sqlite3.Connection, *statements: str) -> None:
        """Run statements that may have to wait for other processes.

        SQLite's own waiting backs off to 100 ms at a time, so that under load the first to come may be the last to get
        in; short even pauses give everyone the same chance.
        """
        deadline = time.monotonic() + self.busy_seconds
        connection.execute("PRAGMA busy_timeout = 0")
        try:
            for statement in statements:
                while True:
                    try:
                        connection.execute(statement)
                        break
                    except sqlite3.OperationalError as error:
                        is_busy = error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
                        if not is_busy or time.monotonic() >= deadline:
                            raise
                    time.sleep(PAUSE)
        finally:
            connection.execute(f"PRAGMA busy_timeout = {int(self.busy_seconds * 1000)}")

    def _open(self) -> sqlite3.Connection:
        there = _inode(self.path)
        if self._connection is not None and there != self._inode:
            # Somebody moved the file away: writing on would go to a file that nobody finds again.
            self._connection.close()
            self._connection = None
        if self._connection is None:
            if there is None:
                self._create()
            self._connection = self._connect()
            self._inode = _inode(self.path)
        return self._connection

    def _now(self) -> Mark:
        self._mark = read_now(self._mark)
        return self._mark

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            _uri(self.path), uri=True, timeout=self.busy_seconds, isolation_level=None, check_same_thread=False
        )
        try:
            # Truncating commits as durably as deleting, without two changes of the folder each time.
            self._execute_waiting(connection, "PRAGMA synchronous = FULL", "PRAGMA journal_mode = TRUNCATE", *READ)
            (application,) = connection.execute("PRAGMA application_id").fetchone()
            (found,) = connection.execute("PRAGMA user_version").fetchone()
            self._mark = _read_mark(connection) if application == APPLICATION and found <= FORMAT else None
            connection.execute("COMMIT")
        except BaseException:
            connection.close()
            raise
        if application != APPLICATION:
            connection.close()
            raise StateDamaged(self.path, "it is not a database of Postil")
        if found > FORMAT:
            connection.close()
            raise StateNewer(self.path, found, FORMAT)
        return connection

    def _create(self) -> None:
        folder = os.path.dirname(self.path)
        unfinished = os.path.join(folder, f".postil-{os.getpid():x}-{os.urandom(6).hex()}.tmp")  # see remove_leftovers
        try:
            _make_private(folder)
            os.close(os.open(unfinished, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
            try:
                made = sqlite3.connect(unfinished, isolation_level=None)
                with suppress(FileExistsError):  # another process was first: its file is as good
                    made.executescript("PRAGMA journal_mode = OFF;" + _SCHEMA)
                    made.close()
                    sync(unfinished)
                    with _locking(folder):
                        _publish(unfinished, self.path)
            finally:
                with suppress(FileNotFoundError):
                    os.unlink(unfinished)
            sync(folder)
        except OSError as error:
            if error.errno in (28, 122):  # no space, over quota
                raise StateFull(self.path) from error
            raise StateUnwritable(self.path, error.strerror or str(error)) from error

    def _translate(self, error: sqlite3.Error) -> Exception:
        kind = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if kind in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return StateBusy(self.path, self.busy_seconds)
        if kind == sqlite3.SQLITE_FULL:
            return StateFull(self.path)
        if kind in (
            sqlite3.SQLITE_READONLY,
            sqlite3.SQLITE_CANTOPEN,
            sqlite3.SQLITE_PERM,
            sqlite3.SQLITE_IOERR,
            sqlite3.SQLITE_NOLFS,
        ):
            return StateUnwritable(self.path, str(error))
        if isinstance(error, (sqlite3.ProgrammingError, sqlite3.InterfaceError)):
            return error  # our own fault
        return StateDamaged(self.path, str(error))  # the file, or a table or a text that was fine when it was written

    def _watch(self) -> ChangeListeners:
        """Returns those who are told of changes; the first to ask starts the watch."""
        with self._starting:
            if self._listeners is None:
                from postil.storage.listeners import ChangeListeners

                self._listeners = ChangeListeners()
            if self._stop_watch is None:
                from postil.workspace.files import remove_leftovers
                from postil.workspace.watch import call_on_change  # ctypes: only those who wait pay for it

                folder = os.path.dirname(self.path)
                _make_private(folder)
                remove_leftovers(folder)  # of processes that were killed; a server looks once, when it starts
                self._stop_watch = call_on_change([folder], self._notice)
            return self._listeners

    def _notice(self, names: frozenset[str]) -> None:
        if self._listeners is not None and any(name.startswith((self.path, "*")) for name in names):
            self._listeners.notify()


class _Records:
    def __init__(self, connection: sqlite3.Connection, mark: Mark) -> None:
        self._connection = connection
        self._mark, self._now = mark, mark.time

    def get(self, space: str, key: str) -> bytes | None:
        row = self._connection.execute(
            "SELECT value FROM records WHERE space = ? AND key = ? AND (expires IS NULL OR expires > ?)",
            (space, key, self._now),
        ).fetchone()
        return None if row is None else _bytes(row[0])

    def range(self, space: str, after: str = "", limit: int | None = None) -> list[tuple[str, bytes]]:
        rows = self._connection.execute(
            "SELECT key, value FROM records WHERE space = ? AND key > ? AND (expires IS NULL OR expires > ?)"
            " ORDER BY key LIMIT ?",
            (space, after, self._now, -1 if limit is None else limit),
        )
        return [(key, _bytes(value)) for key, value in rows]

    def count(self, space: str) -> int:
        return self._connection.execute(
            "SELECT count(*) FROM records WHERE space = ? AND (expires IS NULL OR expires > ?)", (space, self._now)
        ).fetchone()[0]


class _Changes(_Records):
    def put(self, space: str, key: str, value: bytes, expires: float | None = None) -> None:
        if expires is not None:
            expires += self._now - time.time()  # how long it lives counts, not what the wall clock says
            self._connection.execute("DELETE FROM records WHERE expires <= ?", (self._now,))
            _keep_mark(self._connection, self._mark)
        self._connection.execute(
            "INSERT INTO records (space, key, value, expires) VALUES (?, ?, ?, ?)"
            " ON CONFLICT (space, key) DO UPDATE SET value = excluded.value, expires = excluded.expires",
            (space, key, value, expires),
        )

    def delete(self, space: str, key: str) -> None:
        self._connection.execute("DELETE FROM records WHERE space = ? AND key = ?", (space, key))

    def replace_all(self, counters: Iterable[CounterRow], records: Iterable[RecordRow]) -> None:
        """Put this in the place of everything. The version only grows."""
        version = self.next(_VERSION)
        self._connection.execute("DELETE FROM records")
        for space, key, value, lives in records:
            expires = None if lives is None else self._now + lives
            self._connection.execute("INSERT INTO records VALUES (?, ?, ?, ?)", (space, key, value, expires))
        for name, number in counters:
            kept = max(version, number) + 1 if name == _VERSION else number
            self._connection.execute("REPLACE INTO counters VALUES (?, ?)", (name, kept))

    def next(self, counter: str) -> int:
        self._connection.execute(
            "INSERT INTO counters (name, value) VALUES (?, 1) ON CONFLICT (name) DO UPDATE SET value = value + 1",
            (counter,),
        )
        (value,) = self._connection.execute("SELECT value FROM counters WHERE name = ?", (counter,)).fetchone()
        if not isinstance(value, int):
            raise sqlite3.DatabaseError(f"the counter {counter} is no number")
        return value


def _read_mark(connection: sqlite3.Connection) -> Mark | None:
    rows = dict(connection.execute("SELECT name, value FROM counters WHERE name IN ('clock', 'clock boot', 'boot')"))
    if len(rows) < 3:
        return None
    if not all(isinstance(value, int) for value in rows.values()):
        raise sqlite3.DatabaseError("a counter is no number")
    return Mark(rows["clock"] / 1000, rows["clock boot"] / 1000, rows["boot"])


def _keep_mark(connection: sqlite3.Connection, mark: Mark) -> None:
    values = (("clock", int(mark.time * 1000)), ("clock boot", int(mark.since_boot * 1000)), ("boot", mark.boot))
    connection.executemany(
        "INSERT INTO counters (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        values,
    )


def _bytes(value: object) -> bytes:
    if isinstance(value, bytes):
        return value
    raise sqlite3.DatabaseError("a value has another type than it was stored with")


def _uri(path: str) -> str:
    # By hand: urllib.parse takes longer to import than the rest of this module, and mode=rw must not create the file.
    safe = b"/-_.~abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
    quoted = "".join(chr(byte) if byte in safe else f"%{byte:02X}" for byte in os.fsencode(os.path.abspath(path)))
    return f"file:{quoted}?mode=rw"


def _publish(unfinished: str, path: str) -> None:
    if not os.path.lexists(path):
        _set_aside(f"{path}-journal")
        _set_aside(f"{path}-wal")
    try:
        os.link(unfinished, path)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links
        if not os.path.lexists(path):
            os.rename(unfinished, path)


def _set_aside(journal: str) -> None:
    """Move what a killed writer of an earlier file left out of the way: SQLite would put its pages into the new one."""
    with suppress(FileNotFoundError):
        if os.stat(journal).st_size:
            os.rename(journal, f"{journal}.{os.urandom(4).hex()}.old")


@contextmanager
def _locking(folder: str) -> Generator[None]:
    """Let one process at a time publish a new file: a journal beside it is then of an earlier one."""
    import fcntl  # only who makes a new file pays for it

    file = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        with suppress(OSError):  # a file system without locks
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
    finally:
        os.close(file)


def _inode(path: str) -> tuple[int, int] | None:
    try:
        seen = os.stat(path)
    except FileNotFoundError:
        return None
    except OSError:
        return (0, 0)  # there, as far as we can tell: let SQLite say what is wrong
    return seen.st_dev, seen.st_ino


def _make_private(folder: str) -> None:
    """Make the folder and those above it durably, closed to other users; one of ours is closed if it was open."""
    if os.path.isdir(folder):
        # One that an operator named for other things, too (`/tmp`, a home, `/var/lib`), is left to its owner.
        if os.path.basename(folder) == OWN_FOLDER and os.stat(folder).st_mode & 0o077:
            os.chmod(folder, 0o700)
        return
    above = os.path.dirname(folder)
    if above != folder and not os.path.isdir(above):
        os.makedirs(above, mode=0o700, exist_ok=True)
    with suppress(FileExistsError):
        os.mkdir(folder, 0o700)
    sync(above)
