"""A clock that a wrong wall clock cannot push: what expires by it is not deleted because somebody set the date ahead.

While the machine runs it follows the time since boot. Over a restart it follows the wall clock, by at most a day and
never back. What it says is kept with the records, so that all processes agree.
"""

from __future__ import annotations

import time
from functools import cache
from typing import NamedTuple

LONGEST_STEP = 24 * 3600.0


class Mark(NamedTuple):
    """What the clock said at some moment: in seconds, and which boot of the machine that was, as a number."""

    time: float
    since_boot: float
    boot: int


def read_now(kept: Mark | None) -> Mark:
    """Returns what the clock says now."""
    since_boot, boot = _since_boot(), _find_boot()
    if kept is None:
        return Mark(time.time(), since_boot, boot)
    if kept.boot == boot and since_boot >= kept.since_boot:
        return Mark(kept.time + since_boot - kept.since_boot, since_boot, boot)
    step = min(max(time.time() - kept.time, 0.0), LONGEST_STEP)
    return Mark(kept.time + step, since_boot, boot)


def _since_boot() -> float:
    clock = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)  # counts while the machine sleeps, where there is one
    return time.clock_gettime(clock)


@cache
def _find_boot() -> int:
    try:
        with open("/proc/sys/kernel/random/boot_id", "rb") as file:
            return int(file.read(18).replace(b"-", b"")[:15], 16)
    except (OSError, ValueError):
        return 0
