"""Who may not come in, or may not write, is told so, and what to look at."""

from __future__ import annotations

import threading

import pytest

from postil.storage.failures import StateAway, StateReadOnly, StateUnwritable
from postil.storage.outage import watch_outages
from postil.storage.postgresql.postgres import PostgresState
from tests.storage.postgres_server import PostgresServer
from tests.storage.states import postgres

__all__ = ["postgres"]  # a fixture


@pytest.mark.parametrize("user", ["nobody_there", "guest"])
def test_a_role_that_is_missing_or_has_no_rights_is_named(postgres: PostgresServer, user: str) -> None:
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
