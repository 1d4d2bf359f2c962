"""Who may not come in, or may not write, is told so, and what to look at."""

from __future__ import annotations

import select
import threading
from typing import Any

import psycopg
import pytest

from postil.storage.failures import StateAway, StateBusy, StateDamaged, StateFull, StateReadOnly, StateUnwritable
from postil.storage.outage import watch_outages
from postil.storage.postgresql import postgres_connection
from postil.storage.postgresql.postgres import PostgresState
from postil.storage.postgresql.postgres_connection import Connections
from tests.storage.postgres_server import PostgresServer
from tests.storage.states import postgres

__all__ = ["postgres"]  # a fixture


@pytest.mark.parametrize(
    ("user", "said"), [("nobody_there", 'role "nobody_there" does not exist'), ("guest", "permission denied")]
)
def test_a_role_that_is_missing_or_has_no_rights_is_named(postgres: PostgresServer, user: str, said: str) -> None:
    postgres.clear()
    owner = PostgresState(postgres.address)
    owner.version()  # makes the tables, which are the owner's
    owner.close()
    postgres.execute("DROP ROLE IF EXISTS guest")
    postgres.execute("CREATE ROLE guest LOGIN")
    state = PostgresState(postgres.address.replace("user=postil", f"user={user}"))
    try:
        with pytest.raises(StateUnwritable) as refused:
            state.version()
        assert "POSTIL_STATE" in refused.value.advice
        assert said in refused.value.message
    finally:
        state.close()
        postgres.execute("DROP ROLE guest")


def test_a_database_that_was_made_read_only_is_told_as_what_it_is(postgres: PostgresServer) -> None:
    postgres.clear()
    state = PostgresState(postgres.address)
    heard: list[str] = []
    stop = watch_outages(heard.append)
    try:
        with state.writing() as changes:
            changes.put("a", "b", b"c")
        state.close()
        postgres.execute("DROP ROLE IF EXISTS frozen")
        postgres.execute("CREATE ROLE frozen LOGIN SUPERUSER")
        postgres.execute("ALTER ROLE frozen SET default_transaction_read_only = on")
        state = PostgresState(postgres.address.replace("user=postil", "user=frozen"))
        with pytest.raises(StateReadOnly) as refused, state.writing() as changes:
            changes.put("a", "b", b"d")
        assert "takes no writes" in refused.value.message
        assert "read-only transaction" in refused.value.message
        assert "default_transaction_read_only = off" in refused.value.advice
        with state.reading() as records:
            assert records.get("a", "b") == b"c"
        assert heard == []  # it answers
    finally:
        stop()
        state.close()
        postgres.execute("DROP ROLE IF EXISTS frozen")


def test_a_server_that_goes_and_comes_back_is_told_to_who_watches(postgres: PostgresServer) -> None:
    postgres.clear()
    state = PostgresState(postgres.address)
    heard: list[str] = []
    back = threading.Event()

    def hear(sentence: str) -> None:
        heard.append(sentence)
        if "again" in sentence:
            back.set()

    stop = watch_outages(hear)
    try:
        state.on_change(lambda: None)  # a listener notices it by itself
        state.version()
        postgres.stop()
        with pytest.raises(StateAway):
            state.version()
        postgres.start()
        assert back.wait(60)
        assert "does not answer" in heard[0]
        assert "answers again" in heard[1]
    finally:
        stop()
        state.close()


errors = psycopg.errors


@pytest.mark.parametrize(
    ("raised", "told", "said"),
    [
        (TimeoutError("too late"), StateAway, "too late"),
        (errors.LockNotAvailable("x"), StateBusy, ""),
        (errors.DeadlockDetected("x"), StateBusy, ""),
        (errors.DiskFull("x"), StateFull, ""),
        (errors.InsufficientPrivilege("denied\nmore"), StateUnwritable, "denied"),
        (errors.InvalidPassword("wrong\nmore"), StateUnwritable, "wrong"),
        (errors.UndefinedTable("no table\nmore"), StateDamaged, "no table"),
        (errors.ReadOnlySqlTransaction("frozen\nmore"), StateReadOnly, "frozen"),
        (psycopg.OperationalError("no way\nto host\nrole x does not exist"), StateUnwritable, "role x does not exist"),
        (psycopg.OperationalError("connection refused\nmore"), StateAway, "connection refused"),
        (psycopg.ProgrammingError("odd\nmore"), StateDamaged, "odd"),
        (psycopg.ProgrammingError(""), StateDamaged, "ProgrammingError"),
        (errors.DataError("ours"), psycopg.DataError, "ours"),
    ],
)
def test_what_postgresql_says_is_told_in_one_line(raised: Exception, told: type[Exception], said: str) -> None:
    connections = Connections("postgresql:///x?host=/nowhere/at/all", 1.0, 1.0)
    with pytest.raises(told) as caught, connections.translating():
        raise raised
    shown = getattr(caught.value, "message", str(caught.value))
    assert said in shown
    assert "more" not in shown
    connections.note_answer()


def test_the_tables_are_looked_at_once(postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[str] = []

    def look(connection: Any, where: str) -> None:
        looked.append(where)

    monkeypatch.setattr(postgres_connection, "migrate", look)
    connections = Connections(postgres.address, 15.0, 15.0)
    with connections.using(), connections.using():
        pass
    connections.close()
    assert looked == ["PostgreSQL at this machine/postgres"]


def test_a_connection_is_used_again_until_it_is_closed(
    postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    connections = Connections(postgres.address, 15.0, 15.0)
    looked, look = list[float](), select.select

    def watch(*given: Any) -> Any:
        looked.append(given[3])
        return look(*given)

    monkeypatch.setattr(select, "select", watch)

    def ask() -> int:
        with connections.using() as connection:
            return connection.execute("SELECT pg_backend_pid()").fetchone()[0]

    try:
        first = ask()
        assert ask() == first
        vars(connections)["_idle"][0].close()
        second = ask()
        assert second != first
        assert ask() == second
        assert {*looked} == {0}, "nobody waits for one that nobody uses"
    finally:
        connections.close()
