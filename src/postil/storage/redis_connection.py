"""Pools of connections to Redis or Valkey, and what can go wrong with them as our own failures."""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from postil.storage.failures import StateAway

PREFIX = "postil:"
PATIENCE = 1.0
"""Seconds to wait for an answer: a Redis that is away must not hold every request."""
LONGEST_OUTAGE = 4.0


class Outage:
    """Remembers that Redis did not answer in time, so that nobody in this process waits for it again for a while.

    The while doubles each time it does not answer, up to LONGEST_OUTAGE, and starts small again after an answer.
    """

    def __init__(self) -> None:
        self._until = 0.0
        self._seconds = PATIENCE

    @property
    def lasts(self) -> bool:
        """Whether to do without Redis for now."""
        return time.monotonic() < self._until

    def note(self, error: BaseException | None) -> None:
        """Note a failure. Only a timeout begins an outage: a refused connection fails at once and may be back soon."""
        import redis

        if isinstance(error, redis.TimeoutError | TimeoutError):
            self._until = time.monotonic() + self._seconds
            self._seconds = min(self._seconds * 2, LONGEST_OUTAGE)

    def end(self) -> None:
        """Note an answer."""
        self._seconds = PATIENCE


_outages: dict[str, Outage] = {}


def find_outage(address: str) -> Outage:
    """Returns the outage of this address, one for all its users: when one waited in vain, the others need not."""
    return _outages.setdefault(address, Outage())


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


@contextmanager
def translate_errors() -> Generator[None]:
    """Raise Redis's errors as StateAway."""
    import redis

    try:
        yield
    except redis.RedisError as error:
        raise StateAway(str(error)[:200] or type(error).__name__) from error


def text(value: Any) -> str:
    """Returns what Redis answered as text."""
    return value.decode("utf-8") if isinstance(value, bytes) else str(value)
