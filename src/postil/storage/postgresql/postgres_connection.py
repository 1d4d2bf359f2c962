"""Connections to PostgreSQL: a few of them, each answer awaited for a bounded time, errors as our own failures."""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import urlsplit

from postil.storage.failures import (
    StateAway,
    StateBusy,
    StateDamaged,
    StateFull,
    StateReadOnly,
    StateUnwritable,
)
from postil.storage.outage import find_outage
from postil.storage.postgresql.postgres_schema import migrate
from postil.storage.postgresql.watchdog import WATCHDOG

MOST = 10
"""Connections of one process, beside the one that listens."""
ANSWER_SECONDS = 6.0
"""How long a server that hangs is waited for: a stall of some seconds is not worth a failure."""
CONNECT_SECONDS = 4
_STRANGERS = ("password authentication failed", "no password supplied", "does not exist", "is not permitted to log in")
"""What PostgreSQL says to those whom it does not let in: trying again does not help."""
BUSY_SECONDS = 15.0
# A replica that hangs in a block must not hold the others up for long; what it began is then undone.
_SESSION = "SET idle_in_transaction_session_timeout = 6000; SET lock_timeout = {busy}; SET statement_timeout = 30000"
_KEEPALIVE: dict[str, Any] = {
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
}


class Connection:
    """A connection whose every statement is answered in time, or fails with TimeoutError."""

    def __init__(self, raw: Any, seconds: float) -> None:
        self.raw = raw
        self._seconds = seconds

    def execute(self, statement: str, values: tuple[object, ...] | None = None, seconds: float = 0.0) -> Any:
        """Run a statement; several where no values are given."""
        with WATCHDOG.watching(self.raw.fileno(), seconds or self._seconds):
            return self.raw.execute(statement, values)


class Connections:
    """The connections of one process to one database, made when they are needed."""

    def __init__(self, address: str, busy_seconds: float, answer_seconds: float) -> None:
        import psycopg  # an extra; only where POSTIL_STATE names a PostgreSQL

        self.address, self._answer_seconds = address, answer_seconds
        self._psycopg: Any = psycopg  # its statements are typed for literals alone
        self._busy_seconds = busy_seconds
        self._idle: list[Any] = []
        self._lock = threading.Lock()
        self._room = threading.Semaphore(MOST)
        self._is_migrated = False
        self._outage = find_outage(address)

    @contextmanager
    def using(self) -> Generator[Connection]:
        """Give a connection for the block. Raises StateAway, StateBusy and the like."""
        if not self._room.acquire(timeout=self._busy_seconds):
            raise StateBusy("in PostgreSQL", self._busy_seconds)
        connection = None
        try:
            with self.translating():
                connection = self._take()
                yield Connection(connection, self._answer_seconds)
            self._outage.end()
        finally:
            if connection is not None:
                self._give_back(connection)
            self._room.release()

    def connect(self) -> Any:
        """Returns a new connection, of which somebody else takes care. Its statements are committed one by one."""
        if self._outage.lasts:
            raise StateAway("it did not answer in time")
        connection = self._psycopg.connect(
            self.address,
            autocommit=True,
            connect_timeout=CONNECT_SECONDS,
            application_name="postil",
            prepare_threshold=None,  # poolers between us and the server do not keep prepared statements
            **_KEEPALIVE,
        )
        try:
            with WATCHDOG.watching(connection.fileno(), self._answer_seconds + self._busy_seconds):
                connection.execute(_SESSION.format(busy=int(self._busy_seconds * 1000)))
                if not self._is_migrated:
                    migrate(connection, describe(self.address))
                    self._is_migrated = True
        except BaseException:
            connection.close()
            raise
        return connection

    def _take(self) -> Any:
        while True:
            with self._lock:
                if not self._idle:
                    break
                connection = self._idle.pop()
            if not connection.closed and self._still_answers(connection):
                return connection
            with suppress(self._psycopg.Error):
                connection.close()
        return self.connect()

    def _still_answers(self, connection: Any) -> bool:
        """Returns whether the server has not closed it meanwhile: then the socket would have something to read."""
        import select

        readable, _, _ = select.select([connection.fileno()], [], [], 0)
        return not readable

    def _give_back(self, connection: Any) -> None:
        idle = self._psycopg.pq.TransactionStatus.IDLE
        if not connection.closed and connection.info.transaction_status == idle:
            with self._lock:
                self._idle.append(connection)
                return
        with suppress(self._psycopg.Error):
            connection.close()  # the server undoes what it had begun

    @contextmanager
    def translating(self) -> Generator[None]:
        """Raise what PostgreSQL says as failures of ours."""
        errors = self._psycopg.errors
        try:
            yield
        except TimeoutError as error:
            self._outage.note(error)
            raise StateAway(str(error)) from error
        except (errors.LockNotAvailable, errors.DeadlockDetected, errors.SerializationFailure) as error:
            raise StateBusy("in PostgreSQL", self._busy_seconds) from error
        except errors.DiskFull as error:
            raise StateFull(describe(self.address)) from error
        except (errors.InsufficientPrivilege, errors.InvalidPassword) as error:
            raise StateUnwritable(describe(self.address), _first_line(error)) from error
        except errors.UndefinedTable as error:
            raise StateDamaged(describe(self.address), _first_line(error)) from error
        except errors.ReadOnlySqlTransaction as error:
            raise StateReadOnly(describe(self.address), _first_line(error)) from error
        except (self._psycopg.OperationalError, errors.IdleInTransactionSessionTimeout) as error:
            said = str(error)
            if any(words in said for words in _STRANGERS):
                raise StateUnwritable(describe(self.address), _last_line(error)) from error
            self._outage.note(error)
            raise StateAway(_first_line(error)) from error
        except (errors.DataError, self._psycopg.InterfaceError):
            raise  # our own fault
        except self._psycopg.Error as error:  # tables that are not as we made them
            raise StateDamaged(describe(self.address), _first_line(error)) from error

    def note_answer(self) -> None:
        """Note that the server answers: an outage is over."""
        self._outage.end()

    def lost_count(self) -> StateDamaged:
        """Returns what is raised where the row that counts writes, and keeps writers apart, is gone."""
        return StateDamaged(describe(self.address), "the row version of postil_counters is gone")

    def close(self) -> None:
        """Close the connections that nobody uses."""
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            with suppress(self._psycopg.Error):
                connection.close()


def describe(address: str) -> str:
    """Returns where the database is, without the password."""
    parts = urlsplit(address)
    return f"PostgreSQL at {parts.netloc.rpartition('@')[2] or 'this machine'}{parts.path}"


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def _last_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[-1]
