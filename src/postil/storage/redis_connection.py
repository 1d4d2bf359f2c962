"""A pool of connections to Redis or Valkey, and its failures in our words."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, cast

from postil.core.failure import StorageFailed

PREFIX = "postil:"
PATIENCE = 2.0
"""Seconds to wait for an answer: a Redis that is away must not hold every request."""


class StateAway(StorageFailed):
    """Redis cannot be reached: reads may be tried again, writes were not made."""

    def __init__(self, why: str) -> None:
        super().__init__(
            f"The shared state cannot be reached: {why}",
            advice="Nothing was changed: try again in a moment",
            status=503,
        )


def connect(address: str) -> Any:
    """A pool for threads."""
    import redis  # only where POSTIL_STATE names one
    from redis.backoff import NoBackoff
    from redis.retry import Retry

    client = cast("Any", redis.Redis)
    return client.from_url(
        address,
        socket_timeout=PATIENCE,
        socket_connect_timeout=PATIENCE,
        health_check_interval=30,
        # Once more on a connection that was closed meanwhile; scripts carry what makes a repeat harmless.
        retry=Retry(NoBackoff(), 1),
        retry_on_error=[redis.ConnectionError],
    )


def connect_async(address: str) -> Any:
    """A pool for the event loop."""
    import redis.asyncio  # only where POSTIL_STATE names one

    client = cast("Any", redis.asyncio.Redis)
    return client.from_url(address, socket_timeout=PATIENCE, socket_connect_timeout=PATIENCE, health_check_interval=30)


@contextmanager
def translated() -> Generator[None]:
    """Failures of Redis as ours."""
    import redis

    try:
        yield
    except redis.RedisError as error:
        raise StateAway(str(error)[:200] or type(error).__name__) from error


def text(value: Any) -> str:
    """What Redis answered, as text."""
    return value.decode("utf-8") if isinstance(value, bytes) else str(value)
