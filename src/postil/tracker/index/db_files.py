"""The files an index is kept in: one database a build, each under a name of its own, and a small file naming the last.

A build never takes the place of a database that others have open: they read on in theirs until they look again. What
is in the databases is `tables.py`'s, when one is built `index.py`'s. Imported by `fast_list`, so without msgspec.
"""

from __future__ import annotations

import contextlib
import os
import re
import sqlite3
from collections.abc import Generator

from postil.tracker.index.tables import INDEXES, TABLES, VERSION
from postil.workspace.disk import read_regular

POINTER = "cache"
_SCHEMA = {statement for each in f"{TABLES};{INDEXES}".split(";") if (statement := each.strip())}
_NAME = re.compile(r"cache-[0-9a-f]{8}\.db")
_WAIT = 5.0
"""How long a statement waits where SQLite itself must be alone for an instant, as when the last process leaves."""


def find_current(folder: str) -> str | None:
    """Returns the path of the database that was built last; None when there is none."""
    name = (read_regular(os.path.join(folder, POINTER), 64) or b"").decode("ascii", "replace").strip()
    return os.path.join(folder, name) if _NAME.fullmatch(name) else None


def open_database(path: str, read_only: bool = False) -> sqlite3.Connection | None:
    """Returns the complete database of this version at a path, or None. Never makes one, and follows no link."""
    if os.path.islink(path):
        return None
    try:
        db = connect(f"file:{_quote(path)}?mode={'ro' if read_only else 'rw'}")
    except sqlite3.Error:
        return None
    try:
        if db.execute("PRAGMA user_version").fetchone()[0] == VERSION:
            if not read_only:
                db.execute("PRAGMA journal_mode = WAL")
                db.execute("PRAGMA synchronous = NORMAL")
            # An archive may bring one whose tables are views without an end, or compute and check without one.
            if {sql for (sql,) in db.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")} == _SCHEMA:
                db.execute("SELECT 1 FROM ref LIMIT 1").fetchone()
                return db
    except sqlite3.Error:
        pass
    db.close()
    return None


def connect(name: str) -> sqlite3.Connection:
    """Returns a connection that begins no transaction by itself and may be used by any thread, one at a time."""
    db = sqlite3.connect(name, timeout=_WAIT, isolation_level=None, check_same_thread=False, uri=True)
    db.create_function("casefold", 1, str.casefold, deterministic=True)  # SQLite's own `lower` knows a to z only
    return db


def copy_to_memory(db: sqlite3.Connection) -> sqlite3.Connection:
    """Returns the last committed state, in memory: to be changed while another process has the file."""
    copy = connect(":memory:")
    db.backup(copy)
    return copy


def unpublish(folder: str) -> None:
    """Name no database any more: whoever looks next builds one."""
    with contextlib.suppress(OSError):
        os.unlink(os.path.join(folder, POINTER))


def remove_databases(folder: str, but: str | None = None) -> None:
    """Delete the databases of a folder, also those of earlier versions and unfinished ones."""
    with contextlib.suppress(OSError):
        for name in os.listdir(folder):
            base = re.sub(r"-(wal|shm|journal)\Z", "", name)
            if (_NAME.fullmatch(base) or base == "cache.db") and base != but:
                with contextlib.suppress(OSError):
                    os.unlink(os.path.join(folder, name))


@contextlib.contextmanager
def transaction(db: sqlite3.Connection, wait: float = 0) -> Generator[None]:
    """Change the database, all or nothing. `Busy` is raised when another still changes it after so many seconds."""
    db.execute(f"PRAGMA busy_timeout = {int(wait * 1000)}")
    try:
        db.execute("BEGIN IMMEDIATE")
    except sqlite3.OperationalError as fault:
        if "locked" in str(fault):
            raise Busy from fault
        raise
    finally:
        db.execute(f"PRAGMA busy_timeout = {int(_WAIT * 1000)}")
    try:
        yield
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")


class Busy(Exception):
    """Another process is changing the database."""


def _quote(path: str) -> str:
    return path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
