"""Ends connections whose server does not answer in time. One thread for all of them.

A server that is stopped, or a network that swallows packets, leaves a client waiting for ever: the kernel has the bytes
acknowledged. At its deadline a connection's socket is shut down, and the call that waits on it fails.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress


class Watchdog:
    """The connections that wait for an answer, and until when."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._deadlines: dict[int, tuple[float, int]] = {}
        """By a number of ours: the deadline, and the file descriptor."""
        self._next = 0
        self._bitten: set[int] = set()
        self._thread: threading.Thread | None = None
        self._soonest = float("inf")

    @contextmanager
    def watching(self, descriptor: int, seconds: float) -> Generator[None]:
        """Shut this socket down if the block takes longer. Raises TimeoutError where that was the reason it failed."""
        deadline = time.monotonic() + seconds
        with self._condition:
            self._next += 1
            number = self._next
            self._deadlines[number] = (deadline, descriptor)
            if self._thread is None:
                self._thread = threading.Thread(target=self._watch, name="postil-watchdog", daemon=True)
                self._thread.start()
            elif deadline < self._soonest:
                self._condition.notify()
        try:
            yield
        except Exception as error:
            if number in self._bitten:
                raise TimeoutError(f"no answer within {seconds:g} seconds") from error
            raise
        finally:
            with self._condition:
                self._deadlines.pop(number, None)
                self._bitten.discard(number)

    def _watch(self) -> None:
        with self._condition:
            while True:
                now = time.monotonic()
                for number, (deadline, descriptor) in list(self._deadlines.items()):
                    if deadline <= now:
                        del self._deadlines[number]
                        self._bitten.add(number)
                        _shut_down(descriptor)
                self._soonest = min((deadline for deadline, _ in self._deadlines.values()), default=now + 1.0)
                self._condition.wait(self._soonest - now)


def _shut_down(descriptor: int) -> None:
    with suppress(OSError), socket.socket(fileno=os.dup(descriptor)) as doomed:
        doomed.shutdown(socket.SHUT_RDWR)


WATCHDOG = Watchdog()
