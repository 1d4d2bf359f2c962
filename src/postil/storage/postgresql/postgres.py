"""The state database in PostgreSQL: what must last, shared by replicas on many machines.

A write is one transaction that begins by taking the one row that counts writes: so writes are one after another, and
what a block read is still true when it commits. The server undoes the block of a replica that is killed or hangs. A
commit has a name: when its answer is lost, the next connection finds out whether it was made. Changes are told by
LISTEN and NOTIFY.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from postil.core.effects.joining import join
from postil.core.failure import Failure
from postil.core.ports import Changes, CounterRow, RecordRow, Records
from postil.storage.failures import StateAway, StateBusy
from postil.storage.last_seen import LastSeen, StaleRecords
from postil.storage.listeners import ChangeListeners
from postil.storage.postgresql.postgres_connection import ANSWER_SECONDS, BUSY_SECONDS, Connection, Connections
from postil.storage.postgresql.postgres_records import PostgresRecords
from postil.storage.unanswered import ask_until_known

if TYPE_CHECKING:
    from postil.storage.postgresql.postgres_leases import PostgresLeases

COMMIT_SECONDS = 20.0
"""How long the fate of a commit without an answer is asked for, before its outcome is called unknown."""
_BEGIN_READ = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_BEGIN_WRITE = "BEGIN; UPDATE postil_counters SET value = value + 1 WHERE name = 'version'"
_BEGIN_LOCKED = "BEGIN; SELECT 1 FROM postil_counters WHERE name = 'version' FOR UPDATE"
_COMMIT = "INSERT INTO postil_commits (name) VALUES ('{name}'); NOTIFY postil_changed; COMMIT"
_DUMP = """
SELECT space, key, value, (expires - extract(epoch FROM now()))::double precision FROM postil_records
WHERE (space, key) > (%s, %s) AND (expires IS NULL OR expires > extract(epoch FROM now()))
ORDER BY space, key LIMIT 5000
"""
_TIDY = "DELETE FROM postil_commits WHERE made < now() - interval '1 hour'"
_TIDY_EVERY = 1000


class PostgresState:
    """The State port over PostgreSQL."""

    def __init__(
        self, address: str, busy_seconds: float = BUSY_SECONDS, answer_seconds: float = ANSWER_SECONDS
    ) -> None:
        self._connections = Connections(address, busy_seconds, answer_seconds)
        self._busy_seconds = busy_seconds
        self._turn = threading.Lock()
        self._writes = 0
        self._seen = LastSeen()
        self._listeners = ChangeListeners()
        self._starting = threading.Lock()
        self._watcher: threading.Thread | None = None
        self._closed = threading.Event()

    @contextmanager
    def reading(self) -> Generator[Records]:
        """Give a consistent view of the records; of what was read before, while PostgreSQL is away."""
        entered = False
        try:
            with self._connections.using() as connection:
                connection.execute(_BEGIN_READ)
                entered = True
                yield PostgresRecords(connection, self._seen)
                connection.execute("COMMIT")
        except StateAway as away:
            if entered:
                raise
            stale = StaleRecords(self._seen, away)
            yield stale
            stale.report_age()

    @contextmanager
    def writing(self) -> Generator[Changes]:
        """Change records: kept when the block ends, nothing changed when it raises."""
        name = secrets.token_hex(16)
        sent = False
        if not self._turn.acquire(timeout=self._busy_seconds):  # threads of one process take turns here
            raise StateBusy("in PostgreSQL", self._busy_seconds)
        try:
            with self._connections.using() as connection:
                begun = connection.execute(_BEGIN_WRITE, seconds=self._busy_seconds + ANSWER_SECONDS)  # waits its turn
                if begun.nextset() and begun.rowcount != 1:  # nothing would keep writers apart
                    raise self._connections.lost_count()
                changes = PostgresRecords(connection)
                try:
                    yield changes
                    join(changes)
                    if self._writes % _TIDY_EVERY == 0:
                        connection.execute(_TIDY)
                    self._writes += 1
                    sent = True
                    connection.execute(_COMMIT.format(name=name))
                except BaseException:
                    self._undo(connection)
                    raise
                finally:
                    self._seen.forget(changes.spaces)
        except StateAway as away:
            if sent:
                self._find_out(name, away)
            else:
                raise
        finally:
            self._turn.release()

    def _undo(self, connection: Connection) -> None:
        with suppress(Failure), self._connections.translating():  # a connection that is lost is undone by the server
            connection.execute("ROLLBACK")

    def _find_out(self, name: str, away: StateAway) -> None:
        """Return if the commit of this name was made. Raises StateAway if it was not, StateUnclear if nobody can tell.

        The row that counts writes is taken first: the transaction in doubt holds it until it is decided.
        """

        def ask() -> object:
            with self._connections.using() as connection:
                connection.execute(_BEGIN_LOCKED, seconds=self._busy_seconds + ANSWER_SECONDS)
                row = connection.execute("SELECT 1 FROM postil_commits WHERE name = %s", (name,)).fetchone()
                connection.execute("COMMIT")
            return row

        if ask_until_known(ask, COMMIT_SECONDS) is None:
            raise away

    def version(self) -> int:
        """Returns a number that grows with every write."""
        with self._connections.using() as connection:
            row = connection.execute("SELECT value FROM postil_counters WHERE name = 'version'").fetchone()
        if row is None:
            raise self._connections.lost_count()
        return int(row[0])

    def wait(self, beyond: int, timeout: float) -> bool:
        """Wait until the version is greater than `beyond`. Returns False when the time is over first."""
        self._watch()
        # A notification may be lost while the connection is made anew: look again every second.
        return self._listeners.wait_until(lambda: self.version() > beyond, timeout, longest_pause=1.0)

    def on_change(self, changed: Callable[[], None]) -> Callable[[], None]:
        """Call `changed` after every write of any replica. Returns a function that stops this."""
        stop = self._listeners.add(changed)
        self._watch()
        return stop

    def close(self) -> None:
        """Close the connections and end the listening thread."""
        self._closed.set()
        watcher = self._watcher
        if watcher is not None:
            watcher.join(2)
        self._connections.close()

    def leases(self) -> PostgresLeases:
        """Returns who may write which workspace's files."""
        from postil.storage.postgresql.postgres_leases import PostgresLeases  # only where many hosts share workspaces

        return PostgresLeases(self._connections)

    def dump(self) -> tuple[list[CounterRow], Iterator[RecordRow]]:
        """Returns all counters and records of one moment."""
        with self._connections.using() as connection:
            connection.execute(_BEGIN_READ)
            counters = [(name, int(value)) for name, value in connection.execute("SELECT * FROM postil_counters")]
            records: list[RecordRow] = []
            after = ("", "")
            while page := connection.execute(_DUMP, after).fetchall():
                records += [(space, key, bytes(value), lives) for space, key, value, lives in page]
                after = page[-1][:2]
            connection.execute("COMMIT")
        return counters, iter(records)

    def load(self, counters: Iterable[CounterRow], records: Iterable[RecordRow]) -> None:
        """Replace all counters and records, all or nothing. The version only grows."""
        with self.writing() as changes:
            assert isinstance(changes, PostgresRecords)
            changes.replace_all(counters, records)

    def promise(self) -> tuple[str, list[str]]:
        """Returns what this PostgreSQL was told to promise, in words; and what must be changed, if anything."""
        names = ("server_version", "fsync", "synchronous_commit", "full_page_writes", "synchronous_standby_names")
        with self._connections.using() as connection:
            said = {name: connection.execute(f"SHOW {name}").fetchone()[0] for name in names}
            row = connection.execute("SELECT count(*) FROM pg_stat_replication").fetchone()
        faults = [
            f"{name} is {said[name]}: what was acknowledged may be lost when its machine stops; set it to on"
            for name in ("fsync", "full_page_writes", "synchronous_commit")
            if said[name] in ("off", "local")
            and (name != "synchronous_commit" or said[name] == "off" or said["synchronous_standby_names"])
        ]
        promise = f"version {said['server_version'].partition(' ')[0]}, nothing acknowledged is lost"
        if row[0] and not said["synchronous_standby_names"]:
            promise += " unless a standby takes over (synchronous_standby_names is empty: it may miss the last writes)"
        return ("acknowledged writes may be lost" if faults else promise), faults

    # -- hearing of changes -----------------------------------------------------------------------------------------

    def _watch(self) -> None:
        with self._starting:
            if self._watcher is None:
                self._watcher = threading.Thread(target=self._listen, name="postil-postgresql", daemon=True)
                self._watcher.start()

    def _listen(self) -> None:
        while not self._closed.is_set():
            try:
                with self._connections.translating():
                    connection = self._connections.connect()
                    try:
                        connection.execute("LISTEN postil_changed")
                        self._connections.note_answer()
                        self._listeners.notify()  # of all that happened before this
                        while not self._closed.is_set():
                            for _ in connection.notifies(timeout=0.5, stop_after=1):
                                self._listeners.notify()
                    finally:
                        connection.close()
            except Failure:
                self._closed.wait(0.3)
