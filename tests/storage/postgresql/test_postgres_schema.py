"""Tables are made and brought up to date by the first who comes, once; those of a later version are left alone."""

from __future__ import annotations

import threading

import pytest

from postil.storage.failures import StateDamaged, StateNewer
from postil.storage.postgresql.postgres import PostgresState
from postil.storage.postgresql.postgres_schema import KNOWN, STEPS
from tests.storage.postgres_server import PostgresServer
from tests.storage.states import postgres

__all__ = ["postgres"]  # a fixture


def test_a_database_of_the_first_version_keeps_its_records(postgres: PostgresServer) -> None:
    postgres.clear()
    postgres.execute("CREATE TABLE postil_schema (version integer NOT NULL)")
    postgres.execute("INSERT INTO postil_schema VALUES (1)")
    postgres.execute(STEPS[0])
    postgres.execute("INSERT INTO postil_records VALUES ('s', 'k', 'old', NULL)")
    state = PostgresState(postgres.address)
    with state.writing() as changes:
        assert changes.get("s", "k") == b"old"
        changes.put("s", "l", b"new")
    assert postgres.execute("SELECT version FROM postil_schema") == [(KNOWN,)]
    state.close()


def test_many_that_come_at_once_make_the_tables_once(postgres: PostgresServer) -> None:
    postgres.clear()
    states = [PostgresState(postgres.address) for _ in range(6)]
    versions: list[int] = []

    def ask(state: PostgresState) -> None:
        versions.append(state.version())

    threads = [threading.Thread(target=ask, args=[state]) for state in states]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert versions == [0] * 6
    for state in states:
        state.close()


def test_a_database_of_a_later_version_is_left_alone(postgres: PostgresServer) -> None:
    postgres.clear()
    state = PostgresState(postgres.address)
    state.version()
    state.close()
    postgres.execute("UPDATE postil_schema SET version = 99")
    with pytest.raises(StateNewer, match="has format 99"):
        PostgresState(postgres.address).version()
    assert postgres.execute("SELECT version FROM postil_schema") == [(99,)]


def test_a_table_that_vanished_is_told(postgres: PostgresServer) -> None:
    postgres.clear()
    state = PostgresState(postgres.address)
    state.version()
    postgres.execute("DROP TABLE postil_records")
    with pytest.raises(StateDamaged, match="postil_records"), state.reading() as records:
        records.get("s", "k")
    state.close()


@pytest.mark.parametrize(
    "damage",
    [
        "ALTER TABLE postil_records RENAME COLUMN value TO other",
        "ALTER TABLE postil_counters ALTER COLUMN value TYPE text USING value::text",
        "DELETE FROM postil_counters WHERE name = 'version'",
        "DELETE FROM postil_schema",
        "ALTER TABLE postil_records ADD CHECK (space <> 's')",
    ],
)
def test_tables_that_are_not_as_we_made_them_are_told(postgres: PostgresServer, damage: str) -> None:
    postgres.clear()
    before = PostgresState(postgres.address)
    before.version()
    before.close()
    postgres.execute(damage)
    state = PostgresState(postgres.address)
    with pytest.raises(StateDamaged) as caught, state.writing() as changes:
        changes.put("s", "k", b"v")
    assert "mv " not in caught.value.advice
    state.close()
    postgres.clear()
