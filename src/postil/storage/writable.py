"""Whether a write to the state would succeed now, without making one."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from postil.core.effects.joining import alone
from postil.storage.failures import StateFull

if TYPE_CHECKING:
    from postil.core.ports import State

LEAST_FREE = 4 * 1024 * 1024
"""Bytes that must be free on a disk that is written to."""


class _Enough(Exception):
    pass


def check_writable(state: State, address: str) -> None:
    """Raises a Failure where a write would fail: the state is away, busy, read-only, damaged or its disk is full."""
    try:
        with alone(), state.writing() as changes:
            changes.put("health", "probe", b"")
            raise _Enough
    except _Enough:
        pass
    if "://" not in address and is_full(os.path.dirname(address) or "."):
        raise StateFull(address)


def is_full(folder: str) -> bool:
    """Returns whether so little is free on the disk of a folder that writes fail, or will soon."""
    room = os.statvfs(folder)
    return room.f_bavail * room.f_frsize < LEAST_FREE
