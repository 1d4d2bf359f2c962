"""Who may not come in, or may not write, is told so, and what to look at."""

from __future__ import annotations

import pytest

from postil.storage.failures import StateUnwritable
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
