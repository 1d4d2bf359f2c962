"""The present and fresh ids, as sidecars write them: the only clock and the only chance behind comments."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import cache
from itertools import count


def now() -> str:
    """Returns the present as JavaScript writes it: UTC, milliseconds, `Z`."""
    seconds, milliseconds = divmod(time.time_ns() // 1_000_000, 1000)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{milliseconds:03d}Z"


def new_id(prefix: str) -> str:
    """Returns a prefix and 19 digits: milliseconds, then six that begin by chance, so that writers do not collide.

    They are counted on: of the thousands that an import makes in a millisecond no two are alike.
    """
    return f"{prefix}{time.time_ns() // 1_000_000:013d}{next(_count()) % 1_000_000:06d}"


@cache
def _count() -> Iterator[int]:
    import secrets  # who only reads needs none

    return count(secrets.randbelow(1_000_000))
