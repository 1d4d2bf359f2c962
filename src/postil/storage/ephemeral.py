"""The EphemeralStore port in this process's memory: bounded, and gone with the process. Replicas share one in Redis."""

from __future__ import annotations

import time
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping, Sequence

from postil.core.ports import Entered, Entry, Taken

MOST_WINDOWS = 10_000
MOST_NAMES = 200_000
MOST_BYTES = 64 * 1024 * 1024
OVERHEAD = 256
"""Bytes that a kept value costs beside itself."""


class MemoryEphemeralStore:
    """Windows, running calls, names seen once and kept answers, bounded; the least recently used go first."""

    def __init__(self, clock: Callable[[], float] = time.time, most_bytes: int = MOST_BYTES) -> None:
        self._clock, self._most_bytes = clock, most_bytes
        self._windows: OrderedDict[str, deque[float]] = OrderedDict()
        self._running: dict[str, int] = {}
        self._names: dict[str, OrderedDict[str, float]] = {}
        self._count = 0
        self._kept: OrderedDict[str, tuple[float, bytes]] = OrderedDict()
        self._size = 0

    async def enter(self, entry: Entry) -> Entered:
        """Take places in a rolling window and among the running calls, in one step."""
        running = self._running.get(entry.who, 0)
        # Alone, a batch that is larger than the bound may begin: otherwise it never could.
        busy = bool(entry.at_once and running and running + entry.cost > entry.at_once)
        granted, remaining, reset = entry.cost, 0, 0.0
        if entry.limit:
            taken = self._take(entry.who, 0 if busy else entry.cost, entry.limit, entry.seconds)
            granted, remaining, reset = taken.granted, taken.remaining, taken.reset
        if busy:
            return Entered(0, remaining, reset, busy=True)
        if not entry.at_once or not granted:
            return Entered(granted, remaining, reset)
        self._running[entry.who] = running + granted
        return Entered(granted, remaining, reset, ticket=str(granted))

    def leave(self, who: str, ticket: str) -> None:
        """Count the calls of this ticket as ended."""
        left = self._running.pop(who, 0) - int(ticket)
        if left > 0:
            self._running[who] = left

    async def take(self, window: str, cost: int, limit: int, seconds: float) -> Taken:
        """Take up to `cost` places in a rolling window that has `limit` of them."""
        return self._take(window, cost, limit, seconds)

    def _take(self, window: str, cost: int, limit: int, seconds: float) -> Taken:
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
        taken.extend([now] * granted)
        return Taken(granted, max(0, limit - len(taken)), (taken[0] if taken else now) + seconds)

    async def first(self, name: str, seconds: float, whose: str = "") -> bool:
        """Returns whether this name is new. Who has the most loses theirs first: nobody pushes out another's."""
        now = self._clock()
        mine = self._names.setdefault(whose, OrderedDict())
        while mine and next(iter(mine.values())) <= now:
            mine.popitem(last=False)
            self._count -= 1
        if mine.get(name, 0) > now:
            return False
        self._count += name not in mine
        mine[name] = now + seconds
        if self._count > MOST_NAMES:
            self._forget_expired(now)
        if self._count > MOST_NAMES:
            max(self._names.values(), key=len).popitem(last=False)
            self._count -= 1
        return True

    def _forget_expired(self, now: float) -> None:
        """Forget the names of all whose last one has expired: of who is gone nobody else would."""
        for whose in [
            whose for whose, names in self._names.items() if not names or next(reversed(names.values())) <= now
        ]:
            self._count -= len(self._names.pop(whose))

    async def recall(self, *names: str) -> Sequence[bytes | None]:
        """Returns what is kept under each of these names."""
        return [self._recall(name) for name in names]

    def _recall(self, name: str) -> bytes | None:
        expires, value = self._kept.get(name, (0.0, b""))
        if expires <= self._clock():
            self._drop(name)
            return None
        self._kept.move_to_end(name)
        return value

    async def keep(self, values: Mapping[str, bytes], seconds: float) -> bool:
        """Keep values for at most that long; what was longest unused makes room."""
        for name, value in values.items():
            self._drop(name)
            self._kept[name] = (self._clock() + seconds, value)
            self._size += len(value) + OVERHEAD
        while self._size > self._most_bytes:
            self._drop(next(iter(self._kept)))
        return True

    async def forget(self, name: str) -> None:
        """Drop what is kept under this name."""
        self._drop(name)

    def _drop(self, name: str) -> None:
        found = self._kept.pop(name, None)
        if found is not None:
            self._size -= len(found[1]) + OVERHEAD
