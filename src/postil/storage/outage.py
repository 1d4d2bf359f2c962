"""Remembers that a shared store did not answer in time, so that nobody in this process waits for it again at once."""

from __future__ import annotations

import time

FIRST, LONGEST = 1.0, 4.0


class Outage:
    """The while doubles each time the store does not answer, up to LONGEST, and starts small again after an answer."""

    def __init__(self) -> None:
        self._until = 0.0
        self._seconds = FIRST

    @property
    def lasts(self) -> bool:
        """Whether to do without the store for now."""
        return time.monotonic() < self._until

    def note(self, error: BaseException | None) -> None:
        """Note a failure. Only a timeout begins an outage: a refused connection fails at once and may be back soon."""
        if any(kind.__name__ in ("TimeoutError", "ConnectionTimeout") for kind in type(error).__mro__):
            self._until = time.monotonic() + self._seconds
            self._seconds = min(self._seconds * 2, LONGEST)

    def end(self) -> None:
        """Note an answer."""
        self._seconds = FIRST


_outages: dict[str, Outage] = {}


def find_outage(address: str) -> Outage:
    """Returns the outage of this address, one for all its users: when one waited in vain, the others need not."""
    return _outages.setdefault(address, Outage())
