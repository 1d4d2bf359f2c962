"""Pools of connections to Redis or Valkey, and what can go wrong with them as our own failures."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from postil.core.failure import StorageFailed
from postil.storage.failures import EphemeralAway, StateAway, StateUnwritable

PREFIX = "postil:"
_STRANGERS = ("NOAUTH", "WRONGPASS", "HELLO must be called with the client already authenticated")
PATIENCE = 1.0
"""Seconds to wait for an answer: a Redis that is away must not hold every request."""


def connect(address: str) -> Any:
    """Returns a pool for threads."""
    import redis  # only where POSTIL_STATE names one
    from redis.retry import Retry

    return _open_pool(redis.Redis, Retry, address)


def connect_async(address: str) -> Any:
    """Returns a pool for the event loop."""
    import redis.asyncio  # only where POSTIL_STATE names one
    from redis.asyncio.retry import Retry

    return _open_pool(redis.asyncio.Redis, Retry, address)


def _open_pool(client: Any, retry: Any, address: str) -> Any:
    import redis
    from redis.backoff import NoBackoff

    return client.from_url(
        address,
        socket_timeout=PATIENCE,
        socket_connect_timeout=PATIENCE,
        health_check_interval=30,
        # Once more on a connection that was closed meanwhile; scripts carry what makes a repeat harmless.
        retry=retry(NoBackoff(), 1, (redis.ConnectionError,)),
    )


def check_answers(address: str) -> None:
    """Raises where the Redis of what may vanish does not answer."""
    try:
        with translate_errors():
            connect(address).ping()
    except StorageFailed as away:
        raise EphemeralAway(away.message) from away


@contextmanager
def translate_errors() -> Generator[None]:
    """Raise Redis's errors as StateAway; StateUnwritable where it does not let us in."""
    import redis

    try:
        yield
    except redis.RedisError as error:
        if isinstance(error, redis.AuthenticationError) or str(error).startswith(_STRANGERS):
            raise StateUnwritable("in Redis", f"it wants another password ({error})") from error
        raise StateAway(str(error) or type(error).__name__) from error


def text(value: Any) -> str:
    """Returns what Redis answered as text."""
    return value.decode("utf-8") if isinstance(value, bytes) else str(value)
