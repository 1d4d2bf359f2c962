"""Who may not come in is told so, and what to look at."""

from __future__ import annotations

import pytest
import redis

from postil.storage.failures import StateUnwritable
from postil.storage.redis_store.redis import RedisState
from tests.storage.redis_server import RedisServer


@pytest.mark.parametrize("given", ["", ":wrong@"])
def test_a_password_that_is_missing_or_wrong_is_named(server: RedisServer, given: str) -> None:
    with redis.Redis(unix_socket_path=str(server.socket)) as client:
        client.config_set("requirepass", "right")  # pyright: ignore[reportUnknownMemberType]
    try:
        state = RedisState(f"unix://{given}{server.socket}")
        with pytest.raises(StateUnwritable, match="password") as refused:
            state.version()
        assert "POSTIL_STATE" in refused.value.advice
        state.close()
    finally:
        with redis.Redis(unix_socket_path=str(server.socket), password="right") as client:
            client.config_set("requirepass", "")  # pyright: ignore[reportUnknownMemberType]
