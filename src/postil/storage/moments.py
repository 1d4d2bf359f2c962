"""The Moments port in this process's memory: bounded, gone with the process. For one server; replicas use Redis."""

from __future__ import annotations

import time
from collections import OrderedDict, deque
from collections.abc import Callable

from postil.core.ports import Taken

MOST_WINDOWS = 10_000
MOST_NAMES = 200_000
MOST_BYTES = 64 * 1024 * 1024


class MemoryMoments:
    """Rolling windows, names seen once and kept answers, each bounded; the least recently used go first."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._windows: OrderedDict[str, deque[float]] = OrderedDict()
        self._names: OrderedDict[str, float] = OrderedDict()
        self._kept: OrderedDict[str, tuple[float, bytes]] = OrderedDict()
        self._size = 0

    async def take(self, window: str, cost: int, limit: int, seconds: float) -> Taken:
        """Take up to `cost` places in a rolling window that has `limit` of them."""
        now = self._clock()
        taken = self._windows.get(window)
        if taken is None:
            taken = self._windows[window] = deque()
            if len(self._windows) > MOST_WINDOWS:
                self._windows.popitem(last=False)
        else:
            self._windows.move_to_end(window)
        while taken and taken[0] <= now - seconds:
            taken.popleft()
        granted = max(0, min(cost, limit - len(taken)))
        for _ in range(granted):
            taken.append(now)
        return Taken(granted, max(0, limit - len(taken)), (taken[0] if taken else now) + seconds)

    async def first(self, name: str, seconds: float) -> bool:
        """Whether this name is new."""
        now = self._clock()
        while self._names and next(iter(self._names.values())) <= now:
            self._names.popitem(last=False)
        if self._names.get(name, 0) > now:
            return False
        self._names[name] = now + seconds
        if len(self._names) > MOST_NAMES:
            self._names.popitem(last=False)
        return True

    async def recall(self, name: str) -> bytes | None:
        """What was kept under this name, if it still is."""
        expires, value = self._kept.get(name, (0.0, b""))
        if expires <= self._clock():
            self._drop(name)
            return None
        self._kept.move_to_end(name)
        return value

    async def keep(self, name: str, value: bytes, seconds: float) -> None:
        """Keep a value for at most that long."""
        self._drop(name)
        self._kept[name] = (self._clock() + seconds, value)
        self._size += len(value)
        while self._size > MOST_BYTES:
            self._drop(next(iter(self._kept)))

    async def forget(self, prefix: str) -> None:
        """Drop everything kept under names that begin so."""
        for name in [name for name in self._kept if name.startswith(prefix)]:
            self._drop(name)

    def _drop(self, name: str) -> None:
        _, value = self._kept.pop(name, (0.0, b""))
        self._size -= len(value)
