"""Calls that want to begin, for the tests of both ephemeral stores."""

import asyncio
import time

from postil.core.ports import Entered, Entry, EphemeralStore


def entry(cost: int = 1, *, limit: int = 600, at_once: int = 100, who: str = "w") -> Entry:
    return Entry(who, cost, limit, 60.0, at_once)


async def until_admitted(ephemeral: EphemeralStore, wanted: Entry) -> Entered:
    """Landing is told at the next turn: wait for it, bounded."""
    end = time.monotonic() + 5
    while True:
        entered = await ephemeral.enter(wanted)
        if not entered.busy:
            return entered
        assert time.monotonic() < end
        await asyncio.sleep(0.01)
