"""A real Redis for the tests of a module, and its address with nothing in it."""

from collections.abc import Iterator

import pytest

from postil.core import call
from tests.storage.redis_server import RedisServer, redis_server


@pytest.fixture(scope="module")
def server() -> Iterator[RedisServer]:
    with redis_server() as server:
        yield server


@pytest.fixture
def address(server: RedisServer) -> str:
    server.clear()
    return server.address


@pytest.fixture(autouse=True)
def silent_call() -> Iterator[None]:
    """What one test enters is no call of the next."""
    yield
    call.enter(call.Call())
