"""Clock jumps: the date is set 100 days ahead and back, again and again. What a right clock would keep is kept."""

from __future__ import annotations

import random
import time
from typing import NamedTuple
from unittest.mock import patch

from postil.core.failure import Failure
from postil.core.ports import State
from postil.storage.idempotency import IdempotencyKeys

FARTHEST = 100 * 24 * 3600.0


class Jumped(NamedTuple):
    """What a campaign found."""

    jumps: int
    kept: int
    lost: int


def jump_clocks(state: State, jumps: int, chance: random.Random) -> Jumped:
    """Write records and keys that live for a day, and jump after each. Returns how many were forgotten too early."""
    keys, real = IdempotencyKeys(state), time.time
    for n in range(jumps):
        offset = chance.choice([-FARTHEST, FARTHEST, 0.0, chance.uniform(-FARTHEST, FARTHEST)])
        with patch.object(time, "time", lambda offset=offset: real() + offset):
            keys.begin("clocks", str(n), "f")
            with state.writing() as changes:
                changes.put("clocks", f"{n:06d}", b"v", time.time() + 24 * 3600)
            keys.finish("clocks", str(n), b"answer")
    lost = 0
    for n in range(jumps):
        with state.reading() as records:
            lost += records.get("clocks", f"{n:06d}") is None
        lost += _recall(IdempotencyKeys(state), n) != b"answer"
    return Jumped(jumps, 2 * jumps - lost, lost)


def _recall(keys: IdempotencyKeys, n: int) -> bytes | None:
    try:
        return keys.begin("clocks", str(n), "f")
    except Failure:
        return None
