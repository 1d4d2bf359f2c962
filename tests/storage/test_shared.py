"""A shared state by its address; one that loses what it acknowledged is refused, unless somebody accepted that."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest
import redis as redis_library

from postil.core.failure import InvalidArguments
from postil.storage.failures import StateUnable
from postil.storage.memory import MemoryState
from postil.storage.postgresql.postgres import PostgresState
from postil.storage.redis_store.redis import RedisState
from postil.storage.shared import BadState, NotDurable, check_promise, describe, open_shared, require_promise
from tests.storage.postgres_server import PostgresServer
from tests.storage.redis_server import RedisServer
from tests.storage.states import postgres, redis

__all__ = ["postgres", "redis"]  # fixtures


@pytest.fixture
def forgetful(redis: RedisServer) -> Iterator[RedisState]:
    """A Redis with the settings that it comes with."""
    state = RedisState(redis.address)
    with redis_library.Redis.from_url(redis.address) as client:  # pyright: ignore[reportUnknownMemberType]
        client.config_set("appendonly", "no")  # pyright: ignore[reportUnknownMemberType]
        yield state
        client.config_set("appendonly", "yes")  # pyright: ignore[reportUnknownMemberType]
    state.close()


def test_the_address_says_which_state(redis: RedisServer, postgres: PostgresServer) -> None:
    for address, kind in ((redis.address, RedisState), (postgres.address, PostgresState)):
        state = open_shared(address)
        assert type(state) is kind
        require_promise(state, address, "checked")
        state.close()
    with pytest.raises(BadState, match=r"mysql://… by this version"):
        open_shared("mysql://host")
    assert BadState("").exit_status == InvalidArguments("").exit_status


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    monkeypatch.setitem(sys.modules, "redis", None)
    with pytest.raises(BadState) as caught:
        open_shared("postgresql://host/db")
    assert caught.value.advice == "Install it with: pip install '.[postgres]' in a checkout of Postil"
    with pytest.raises(BadState, match="the extra 'redis'"):
        open_shared("redis://host")


def test_a_redis_that_forgets_is_refused_unless_that_is_accepted(forgetful: RedisState) -> None:
    with pytest.raises(NotDurable, match="may lose what was acknowledged: appendonly is off") as caught:
        require_promise(forgetful, "redis://u:secret@r:6379/0", "checked")
    assert "secret" not in caught.value.text()
    assert caught.value.exit_status == 7
    require_promise(forgetful, "redis://r", "none")
    where, faults = check_promise(forgetful, "redis://u:secret@r:6379/0", "checked")
    assert where == "Redis at r:6379/0: what was written since its last snapshot is lost when it stops"
    assert len(faults) == 1
    assert check_promise(forgetful, "redis://r", "none")[1] == []


def test_one_that_cannot_be_asked_needs_the_operators_word() -> None:
    class Mute(MemoryState):
        def promise(self) -> tuple[str, list[str]]:
            raise StateUnable("unknown command CONFIG")

    with pytest.raises(NotDurable, match="does not tell its settings"):
        require_promise(Mute(), "redis://r", "checked")
    require_promise(Mute(), "redis://r", "stated")
    assert check_promise(Mute(), "redis://r", "stated") == (
        "Redis at r: the operator states that nothing acknowledged is lost",
        [],
    )


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("postgresql://me:secret@db.example:5432/postil?sslmode=require", "PostgreSQL at db.example:5432/postil"),
        ("postgres:///postil?host=/run&password=secret", "PostgreSQL at /postil"),
        ("postgresql://", "PostgreSQL at this machine"),
        ("rediss://:secret@r/1", "Redis at r/1"),
    ],
)
def test_where_it_is_is_told_without_the_password(address: str, told: str) -> None:
    assert describe(address) == told
