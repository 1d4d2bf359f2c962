"""Remembers that a shared store did not answer in time, so that nobody in this process waits for it again at once.

Also tells whoever watches when a store goes and when it is back: once each, however many ask for it meanwhile.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from urllib.parse import urlsplit

FIRST, LONGEST = 1.0, 4.0


class Outage:
    """The while doubles each time the store does not answer, up to LONGEST, and starts small again after an answer."""

    def __init__(self, name: str = "the shared state") -> None:
        self._name = name
        self._until = 0.0
        self._seconds = FIRST
        self._gone: float | None = None
        self._lock = threading.Lock()

    @property
    def lasts(self) -> bool:
        """Whether to do without the store for now."""
        return time.monotonic() < self._until

    def note(self, error: BaseException | None) -> None:
        """Note a failure. Only a timeout begins an outage: a refused connection fails at once and may be back soon."""
        if any(kind.__name__ in ("TimeoutError", "ConnectionTimeout") for kind in type(error).__mro__):
            self._until = time.monotonic() + self._seconds
            self._seconds = min(self._seconds * 2, LONGEST)
        with self._lock:
            is_new, self._gone = self._gone is None, time.monotonic() if self._gone is None else self._gone
        if is_new:
            why = " ".join(str(error or "").split())[:200]
            _tell(f"warning: {self._name} does not answer{f': {why}' if why else ''}")

    def end(self) -> None:
        """Note an answer."""
        self._seconds = FIRST
        if self._gone is not None:
            self._tell_return()

    def _tell_return(self) -> None:
        with self._lock:
            gone, self._gone = self._gone, None
        if gone is not None:  # another thread may have told it meanwhile
            _tell(f"{self._name} answers again, after {time.monotonic() - gone:.0f} s")


_outages: dict[str, Outage] = {}
_watchers: list[Callable[[str], None]] = []


def find_outage(address: str) -> Outage:
    """Returns the outage of this address, one for all its users: when one waited in vain, the others need not."""
    return _outages.setdefault(address, Outage(_describe(address)))


def watch_outages(tell: Callable[[str], None]) -> Callable[[], None]:
    """Call `tell` with a sentence when a store goes and when it is back. Returns a function that stops that."""
    _watchers.append(tell)
    return lambda: _watchers.remove(tell)


def _tell(sentence: str) -> None:
    for tell in tuple(_watchers):
        tell(sentence)


def _describe(address: str) -> str:
    """Returns where the store is, without the password."""
    parts = urlsplit(address)
    kind = "PostgreSQL" if parts.scheme.startswith("postgres") else "Redis"
    return f"{kind} at {parts.netloc.rpartition('@')[2] or 'this machine'}"
