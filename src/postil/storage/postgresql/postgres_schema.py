"""The tables of the state in PostgreSQL, as steps from one version to the next.

A step is never changed once it is released: a later version adds another. All steps that are missing are made in one
transaction, by one replica at a time. A database that knows more steps than we do is left alone.
"""

from __future__ import annotations

from typing import Any

from postil.storage.failures import StateNewer

STEPS = (
    """
    CREATE TABLE postil_records (
      space text COLLATE "C" NOT NULL, key text COLLATE "C" NOT NULL, value bytea NOT NULL, expires double precision,
      PRIMARY KEY (space, key)
    );
    CREATE INDEX postil_expiring ON postil_records (expires) WHERE expires IS NOT NULL;
    CREATE TABLE postil_counters (name text PRIMARY KEY, value bigint NOT NULL);
    INSERT INTO postil_counters VALUES ('version', 0);
    """,
    # The names of the last commits: one whose answer was lost is found again by its name.
    """
    CREATE TABLE postil_commits (name text PRIMARY KEY, made timestamptz NOT NULL DEFAULT now());
    """,
)
KNOWN = len(STEPS)
LOCK = 0x506F7374696C  # "Postil": one migration at a time, and none while another program of that number runs


def migrate(connection: Any, where: str) -> None:
    """Make the steps that are missing. Raises StateNewer."""
    if _find_version(connection) == KNOWN:  # the common case: nothing is locked
        return
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (LOCK,))
        # Made before it is asked for: what another has made meanwhile is not seen by its name alone.
        connection.execute("CREATE TABLE IF NOT EXISTS postil_schema (version integer NOT NULL)")
        row = connection.execute("SELECT version FROM postil_schema").fetchone()
        found = 0 if row is None else int(row[0])
        if found > KNOWN:
            raise StateNewer(where, found, KNOWN)
        if row is None:
            connection.execute("INSERT INTO postil_schema VALUES (0)")
        for step in STEPS[found:]:
            connection.execute(step)
        connection.execute("UPDATE postil_schema SET version = %s", (KNOWN,))


def _find_version(connection: Any) -> int:
    (exists,) = connection.execute("SELECT to_regclass('postil_schema') IS NOT NULL").fetchone()
    if not exists:
        return 0
    row = connection.execute("SELECT version FROM postil_schema").fetchone()
    return 0 if row is None else int(row[0])
