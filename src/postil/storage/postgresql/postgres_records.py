"""The records of a state in PostgreSQL, as one transaction sees them. Times are those of the server's clock."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

from postil.core.ports import CounterRow, RecordRow
from postil.storage.last_seen import LastSeen

_GET = """
SELECT value FROM postil_records
WHERE space = %s AND key = %s AND (expires IS NULL OR expires > extract(epoch FROM now()))
"""
_RANGE = """
SELECT key, value FROM postil_records
WHERE space = %s AND key > %s AND (expires IS NULL OR expires > extract(epoch FROM now())) ORDER BY key LIMIT %s
"""
_COUNT = """
SELECT count(*) FROM postil_records WHERE space = %s AND (expires IS NULL OR expires > extract(epoch FROM now()))
"""
_PUT = """
INSERT INTO postil_records (space, key, value, expires) VALUES (%s, %s, %b, extract(epoch FROM now()) + %s)
ON CONFLICT (space, key) DO UPDATE SET value = excluded.value, expires = excluded.expires
"""


_COUNT_TO = """
INSERT INTO postil_counters AS c (name, value) VALUES (%s, %s) ON CONFLICT (name) DO UPDATE
SET value = CASE WHEN c.name = 'version' THEN greatest(c.value, excluded.value) + 1 ELSE excluded.value END
"""


class PostgresRecords:
    """The Changes port over one connection in a transaction."""

    def __init__(self, connection: Any, seen: LastSeen | None = None) -> None:
        self.connection, self._seen = connection, seen
        self.spaces: set[str] = set()
        """The spaces that were changed, or would have been."""

    def get(self, space: str, key: str) -> bytes | None:
        row = self.connection.execute(_GET, (space, key)).fetchone()
        found = None if row is None else bytes(row[0])
        if self._seen is not None:
            self._seen.note(("get", space, key, None), found)
        return found

    def range(self, space: str, after: str = "", limit: int | None = None) -> list[tuple[str, bytes]]:
        rows = self.connection.execute(_RANGE, (space, after, limit))
        found = [(key, bytes(value)) for key, value in rows]
        if self._seen is not None:
            self._seen.note(("range", space, after, limit), found)
        return found

    def count(self, space: str) -> int:
        found = int(self.connection.execute(_COUNT, (space,)).fetchone()[0])
        if self._seen is not None:
            self._seen.note(("count", space, "", None), found)
        return found

    def put(self, space: str, key: str, value: bytes, expires: float | None = None) -> None:
        self.spaces.add(space)
        # How long it lives counts, not what our clock says: replicas' clocks may differ.
        lives = None if expires is None else expires - time.time()
        if lives is not None:
            self.connection.execute("DELETE FROM postil_records WHERE expires <= extract(epoch FROM now())")
        self.connection.execute(_PUT, (space, key, value, lives))

    def replace_all(self, counters: Iterable[CounterRow], records: Iterable[RecordRow]) -> None:
        """Put this in the place of everything. The version only grows."""
        self.connection.execute("DELETE FROM postil_records")
        for space, key, value, lives in records:
            self.spaces.add(space)
            self.connection.execute(_PUT, (space, key, value, lives))
        for name, number in counters:
            self.connection.execute(_COUNT_TO, (name, number))

    def delete(self, space: str, key: str) -> None:
        self.spaces.add(space)
        self.connection.execute("DELETE FROM postil_records WHERE space = %s AND key = %s", (space, key))

    def next(self, counter: str) -> int:
        row = self.connection.execute(
            "INSERT INTO postil_counters AS c (name, value) VALUES (%s, 1)"
            " ON CONFLICT (name) DO UPDATE SET value = c.value + 1 RETURNING value",
            (counter,),
        )
        return int(row.fetchone()[0])
