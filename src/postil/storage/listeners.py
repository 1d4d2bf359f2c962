"""Who wants to know of changes: threads that wait for one, and functions to call after each. For every State."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress


class ChangeListeners:
    """Counts changes, wakes the threads that wait for one, and calls the functions that were added."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._changes = 0
        self._functions: list[Callable[[], None]] = []

    def add(self, changed: Callable[[], None]) -> Callable[[], None]:
        """Call `changed` after every change. Returns a function that stops this."""
        with self._condition:
            self._functions.append(changed)

        def stop() -> None:
            with self._condition, suppress(ValueError):
                self._functions.remove(changed)

        return stop

    def notify(self) -> None:
        """Something changed."""
        with self._condition:
            self._changes += 1
            self._condition.notify_all()
            functions = list(self._functions)
        for changed in functions:
            changed()

    def wait_until(self, holds: Callable[[], bool], timeout: float, longest_pause: float = 3600.0) -> bool:
        """Ask `holds` now, after every change and after every `longest_pause` seconds, until it is true.

        Returns False when the time is over first.
        """
        deadline = time.monotonic() + timeout
        while True:
            with self._condition:
                seen = self._changes
            if holds():
                return True
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            with self._condition:
                self._condition.wait_for(lambda seen=seen: self._changes != seen, min(left, longest_pause))
