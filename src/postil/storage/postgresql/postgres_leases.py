"""Leases in PostgreSQL: who may write the files of a workspace now, and a number that grows with every holder.

The number fences: whoever records an effect gives its number, and a record of a number that is not the newest is
refused in the transaction that would have made it. So a holder that slept through its lease changes nothing. Times are
those of the server's clock. The table is made on first use and is no step of the schema: replicas of an older version,
which know no leases, go on beside it.
"""

from __future__ import annotations

from typing import NamedTuple

from postil.core.failure import StorageFailed
from postil.core.ports import Changes
from postil.storage.postgresql.postgres_connection import Connections
from postil.storage.postgresql.postgres_records import PostgresRecords
from postil.storage.postgresql.postgres_schema import LOCK

SECONDS = 5.0
"""How long a lease lasts that nobody renews: how long a workspace waits for a holder that died."""
_TABLE = """
CREATE TABLE IF NOT EXISTS postil_leases (
  name text PRIMARY KEY, number bigint NOT NULL, holder text NOT NULL, address text NOT NULL,
  until timestamptz NOT NULL, head text NOT NULL DEFAULT '', head_number bigint NOT NULL DEFAULT 0
)
"""
_ACQUIRE = """
INSERT INTO postil_leases AS l (name, number, holder, address, until)
VALUES (%s, 1, %s, %s, clock_timestamp() + make_interval(secs => %s))
ON CONFLICT (name) DO UPDATE
SET number = l.number + 1, holder = excluded.holder, address = excluded.address, until = excluded.until
WHERE l.until < clock_timestamp() OR l.holder = excluded.holder
RETURNING number, head, head_number
"""
_FIND = "SELECT number, holder, address, head, head_number FROM postil_leases WHERE name = %s"
_RENEW = """
UPDATE postil_leases SET until = clock_timestamp() + make_interval(secs => %s)
WHERE name = %s AND number = %s RETURNING 1
"""
_RECORD = "UPDATE postil_leases SET head = %s, head_number = number WHERE name = %s AND number = %s RETURNING 1"
_RELEASE = "UPDATE postil_leases SET until = '-infinity' WHERE name = %s AND number = %s"


class Lease(NamedTuple):
    """Who writes a workspace, under which number, and what was recorded last."""

    name: str
    number: int
    holder: str
    address: str
    head: str
    """The last recorded state; empty where nothing was recorded yet."""
    head_number: int
    """The number under which that was recorded."""


class Fenced(StorageFailed):
    """Another host writes this workspace now: what was about to be recorded is refused."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"Another host writes the workspace {name} now",
            advice="Nothing was changed: try again in a moment",
            status=503,
        )


class PostgresLeases:
    """The leases of one database."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._has_table = False

    def acquire(self, name: str, holder: str, address: str) -> Lease:
        """Take the lease if it is free or one's own, under a new number. Returns whose it is now."""
        self._make_table()
        while True:
            with self._connections.using() as connection:
                row = connection.execute(_ACQUIRE, (name, holder, address, SECONDS)).fetchone()
            if row is not None:
                return Lease(name, int(row[0]), holder, address, row[1], int(row[2]))
            found = self.find(name)
            if found is not None:
                return found

    def find(self, name: str) -> Lease | None:
        """Returns whose the lease is, or was last; None where nobody ever had it."""
        self._make_table()
        with self._connections.using() as connection:
            row = connection.execute(_FIND, (name,)).fetchone()
        return None if row is None else Lease(name, int(row[0]), row[1], row[2], row[3], int(row[4]))

    def _make_table(self) -> None:
        if not self._has_table:
            with self._connections.using() as connection:  # two at once would both make it
                connection.execute(f"BEGIN; SELECT pg_advisory_xact_lock({LOCK}); {_TABLE}; COMMIT")
            self._has_table = True

    def renew(self, lease: Lease) -> bool:
        """Hold the lease for some seconds more. Returns False where another one has it."""
        with self._connections.using() as connection:
            return connection.execute(_RENEW, (SECONDS, lease.name, lease.number)).fetchone() is not None

    def release(self, lease: Lease) -> None:
        """Let another host have it at once."""
        with self._connections.using() as connection:
            connection.execute(_RELEASE, (lease.name, lease.number))

    def record(self, changes: Changes, lease: Lease, head: str) -> None:
        """Record a new state of the workspace, in the transaction of these changes. Raises Fenced."""
        assert isinstance(changes, PostgresRecords)
        if changes.connection.execute(_RECORD, (head, lease.name, lease.number)).fetchone() is None:
            raise Fenced(lease.name)
