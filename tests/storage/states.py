"""Every implementation of the State port, as one fixture: a test module that imports it runs over all."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from postil.core.ports import State
from postil.storage.memory import MemoryState
from postil.storage.postgresql.postgres import PostgresState
from postil.storage.redis_store.redis import RedisState
from postil.storage.sqlite import SqliteState
from tests.storage.postgres_server import PostgresServer, postgres_server
from tests.storage.redis_server import RedisServer, redis_server


@pytest.fixture(scope="module")
def redis() -> Iterator[RedisServer]:
    with redis_server() as server:
        yield server


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresServer]:
    with postgres_server() as server:
        yield server


@pytest.fixture(params=["sqlite", "memory", "redis", "postgres"])
def state(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[State]:
    made: State
    if request.param == "redis":
        server: RedisServer = request.getfixturevalue("redis")
        server.clear()
        made = RedisState(server.address)
    elif request.param == "postgres":
        database: PostgresServer = request.getfixturevalue("postgres")
        database.clear()
        made = PostgresState(database.address)
    else:
        made = SqliteState(str(tmp_path / "postil" / "state.db")) if request.param == "sqlite" else MemoryState()
    yield made
    made.close()


def open_state(
    kind: str, folder: Path, redis: RedisServer, postgres: PostgresServer
) -> SqliteState | RedisState | PostgresState:
    """An empty state of a kind that a setting can name."""
    if kind == "redis":
        redis.clear()
        return RedisState(redis.address)
    if kind == "postgres":
        postgres.clear()
        return PostgresState(postgres.address)
    return SqliteState(str(folder / "state.db"))


__all__ = ["postgres", "redis", "state"]
