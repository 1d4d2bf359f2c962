"""Whether a write to the state would succeed now, without making one."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from postil.core.effects.joining import alone
from postil.storage.failures import StateFull, StateUnwritable

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


def check_creatable(path: str) -> None:
    """Raises a Failure where a state that does not exist yet could not be made. Nothing is made."""
    folder = os.path.dirname(path) or "."
    while not os.path.lexists(folder) and os.path.dirname(folder) not in ("", folder):
        folder = os.path.dirname(folder)
    if not os.path.isdir(folder):
        raise StateUnwritable(path, f"{folder} is no folder")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise StateUnwritable(path, f"nothing can be made in {folder}")
    if is_full(folder):
        raise StateFull(path)


def is_full(folder: str) -> bool:
    """Returns whether so little is free on the disk of a folder that writes fail, or will soon."""
    room = os.statvfs(folder)
    return room.f_bavail * room.f_frsize < LEAST_FREE
