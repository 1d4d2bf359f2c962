"""Small writes that could not be made now, tried again in the background until they succeed or their time is over.

For what follows an effect that has happened: the answer under an idempotency key, the closing record of the audit. The
caller is answered meanwhile; when the process dies first, the opening record says that the outcome is not known.
"""

from __future__ import annotations

import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from postil.core.failure import Failure

MOST = 10_000
LONGEST = 24 * 3600.0
PAUSE, LONGEST_PAUSE = 0.1, 2.0


class _Task(NamedTuple):
    act: Callable[[], object]
    until: float


class Later:
    """A queue with one thread, which exists while there is something to do."""

    def __init__(self, most: int = MOST) -> None:
        self._tasks: deque[_Task] = deque()
        self._most = most
        self._condition = threading.Condition()
        self._worker: threading.Thread | None = None
        self.dropped = 0
        """How many were given up, because too many waited or their time was over."""

    def add(self, act: Callable[[], object], seconds: float = LONGEST) -> None:
        """Call this until it raises no Failure, for at most that long."""
        with self._condition:
            self._tasks.append(_Task(act, time.monotonic() + seconds))
            while len(self._tasks) > self._most:
                self._tasks.popleft()
                self.dropped += 1
            if self._worker is None:
                self._worker = threading.Thread(target=self._work, name="postil-later", daemon=True)
                self._worker.start()

    def wait_empty(self, timeout: float) -> bool:
        """Wait until nothing is left to do. Returns False when the time is over first."""
        with self._condition:
            return self._condition.wait_for(lambda: not self._tasks, timeout)

    def _work(self) -> None:
        pause = PAUSE
        while True:
            with self._condition:
                if not self._tasks:
                    self._worker = None
                    return
                task = self._tasks[0]
            done = True
            try:
                task.act()
                pause = PAUSE
            except Failure:
                done = time.monotonic() > task.until
                self.dropped += done
            except Exception as bug:  # noqa: BLE001 - the top of a thread: one bug must not keep the others waiting
                sys.stderr.write(f"postil: bug in what follows a write: {bug!r}\n")
                self.dropped += 1
            with self._condition:
                if self._tasks and self._tasks[0] is task:  # unless it was given up meanwhile
                    self._tasks.popleft()
                    if not done:
                        self._tasks.append(task)  # behind the others: one that cannot be made keeps nobody waiting
                    self._condition.notify_all()
            if not done:
                time.sleep(pause)
                pause = min(pause * 2, LONGEST_PAUSE)


LATER = Later()
"""The one queue of this process."""
