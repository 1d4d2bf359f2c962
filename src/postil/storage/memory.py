"""The state in this process's memory, for tests and for servers that keep nothing. Gone when the process ends."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager

from postil.core.effects.joining import join
from postil.core.ports import Changes, Records
from postil.storage.listeners import ChangeListeners

_Value = tuple[bytes, float | None]


class MemoryState:
    """The State port over dictionaries."""

    def __init__(self) -> None:
        self._spaces: dict[str, dict[str, _Value]] = {}
        self._counters: dict[str, int] = {}
        self._version = 0
        self._lock = threading.Lock()
        self._listeners = ChangeListeners()

    @contextmanager
    def reading(self) -> Generator[Records]:
        """Give a consistent view of the records."""
        with self._lock:
            yield _Records(self._spaces, self._counters)

    @contextmanager
    def writing(self) -> Generator[Changes]:
        """Change records: all at the end of the block, nothing when it raises."""
        with self._lock:
            spaces = {name: dict(records) for name, records in self._spaces.items()}
            counters = dict(self._counters)
            changes = _Records(spaces, counters)
            yield changes
            join(changes)
            self._spaces, self._counters = spaces, counters
            self._version += 1
        self._listeners.notify()

    def version(self) -> int:
        """Returns a number that grows with every write."""
        return self._version

    def wait(self, beyond: int, timeout: float) -> bool:
        """Wait until the version is greater than `beyond`. Returns False when the time is over first."""
        return self._listeners.wait_until(lambda: self._version > beyond, timeout)

    def on_change(self, changed: Callable[[], None]) -> Callable[[], None]:
        """Call `changed` after every write. Returns a function that stops this."""
        return self._listeners.add(changed)

    def close(self) -> None:
        """Do nothing: no file and no thread is held."""


class _Records:
    def __init__(self, spaces: dict[str, dict[str, _Value]], counters: dict[str, int]) -> None:
        self._spaces = spaces
        self._counters = counters
        self._now = time.time()

    def get(self, space: str, key: str) -> bytes | None:
        value, expires = self._spaces.get(space, {}).get(key, (None, None))
        return None if expires is not None and expires <= self._now else value

    def range(self, space: str, after: str = "", limit: int | None = None) -> list[tuple[str, bytes]]:
        keys = sorted(key for key in self._spaces.get(space, {}) if key > after)
        found = [(key, value) for key in keys if (value := self.get(space, key)) is not None]
        return found if limit is None else found[:limit]

    def count(self, space: str) -> int:
        return len(self.range(space))

    def put(self, space: str, key: str, value: bytes, expires: float | None = None) -> None:
        self._spaces.setdefault(space, {})[key] = (value, expires)

    def delete(self, space: str, key: str) -> None:
        self._spaces.get(space, {}).pop(key, None)

    def next(self, counter: str) -> int:
        self._counters[counter] = self._counters.get(counter, 0) + 1
        return self._counters[counter]
