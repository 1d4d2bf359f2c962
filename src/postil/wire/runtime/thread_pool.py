"""Threads that do one thing after another. The one that was free last goes on, and no other is woken.

The standard library's pool makes a future of every job and lets all idle threads wait for one queue: with two of them
each job wakes both. That was a tenth of the CPU of a small call.
"""

from __future__ import annotations

import sys
import threading
from collections import deque
from collections.abc import Callable
from typing import Any, TypeAlias

Job: TypeAlias = tuple[Callable[..., object], tuple[Any, ...]]


class ThreadPool:
    """At most so many threads, started when none is free. They end with the process, whatever they are doing."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.started = 0
        self._lock = threading.Lock()
        self._free: list[_Seat] = []
        self._waiting: deque[Job] = deque()

    @property
    def free(self) -> int:
        """How many of those that were started have nothing to do."""
        return len(self._free)

    def begin(self, function: Callable[..., object], *arguments: Any) -> None:
        """Have a thread do something that raises nothing, as soon as one is free."""
        job = function, arguments
        with self._lock:
            if self._free:
                seat = self._free.pop()
                seat.job = job
                seat.called.release()
                return
            if self.started >= self._most:
                self._waiting.append(job)
                return
            self.started += 1
        try:
            threading.Thread(target=self._work, args=(_Seat(job),), name=f"postil_{self.started}", daemon=True).start()
        except BaseException:
            with self._lock:
                self.started -= 1
            raise

    def _work(self, seat: _Seat) -> None:
        while True:
            if seat.job is not None:
                function, arguments = seat.job
                seat.job = None
                try:
                    function(*arguments)
                except BaseException as bug:  # noqa: BLE001 - it is told, and the thread goes on
                    sys.excepthook(type(bug), bug, bug.__traceback__)
                del function, arguments  # what they hold goes, however long this thread is free
            with self._lock:
                if self._waiting:
                    seat.job = self._waiting.popleft()
                    continue
                self._free.append(seat)
            seat.called.acquire()


class _Seat:
    """Where one of the threads gets what it does next."""

    def __init__(self, job: Job | None) -> None:
        self.called = threading.Lock()
        self.called.acquire()
        self.job = job
