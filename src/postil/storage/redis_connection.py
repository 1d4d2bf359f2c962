"""A pool of connections to Redis or Valkey, and its failures in our words."""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, cast

from postil.core.failure import StorageFailed

PREFIX = "postil:"
PATIENCE = 1.0
"""Seconds to wait for an answer: a Redis that is away must not hold every request."""
LONGEST_OUTAGE = 4.0


class StateAway(StorageFailed):
    """Redis cannot be reached: reads may be tried again, writes were not made."""

    def __init__(self, why: str) -> None:
        super().__init__(
            f"The shared state cannot be reached: {why}",
            advice="Nothing was changed: try again in a moment",
            status=503,
        )


class Outage:
    """A Redis that hangs: once it did not answer in time, nobody of this process waits for it again for a while.

    A while grows each time it hangs again, and is a moment once it has answered.
    """

    def __init__(self) -> None:
        self._until = 0.0
        self._while = PATIENCE

    @property
    def lasts(self) -> bool:
        """Whether to do without it for now."""
        return time.monotonic() < self._until

    def note(self, error: BaseException | None) -> None:
        """It failed so. One that refuses connections does so at once, and may be back at once."""
        import redis

        if isinstance(error, redis.TimeoutError | TimeoutError):
            self._until = time.monotonic() + self._while
            self._while = min(self._while * 2, LONGEST_OUTAGE)

    def end(self) -> None:
        """It answered."""
        self._while = PATIENCE


_outages: dict[str, Outage] = {}


def outage_of(address: str) -> Outage:
    """The same for all who use this Redis: what one has waited for in vain, the others need not."""
    return _outages.setdefault(address, Outage())


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
        retry=Retry(NoBackoff(), 1, (redis.ConnectionError,)),
    )


def connect_async(address: str) -> Any:
    """A pool for the event loop."""
    import redis.asyncio  # only where POSTIL_STATE names one
    from redis.asyncio.retry import Retry
    from redis.backoff import NoBackoff

    client = cast("Any", redis.asyncio.Redis)
    return client.from_url(
        address,
        socket_timeout=PATIENCE,
        socket_connect_timeout=PATIENCE,
        health_check_interval=30,
        retry=Retry(NoBackoff(), 1, (redis.ConnectionError,)),
    )


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
