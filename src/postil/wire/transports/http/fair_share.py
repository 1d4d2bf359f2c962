"""A fair share of the event loop: a caller with many requests at once does not slow down the calls of the others.

Whatever the loop does for a request is short, but sixty requests of one caller at once are not, and a call of somebody
else needs about ten rounds of the loop. So a caller takes a turn before each such piece of work. Who is alone never
waits; while others call too, a caller has so many turns a second, and some saved up for several requests at once.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable

from postil.wire.runtime.pool import RecentCallers

A_SECOND = 250
"""Turns that a caller has a second while others call, too. A small request takes two, a large one some more."""
SAVED = 16
"""Turns that a caller has saved up who has not called for a moment."""
MOST_CALLERS = 10_000
MOST_WAITING = 1000
"""Requests of one caller that wait: four seconds of turns. Each takes 10 kB, also when its client has gone."""


class TooManyWait(Exception):
    """So many requests of this caller wait that another one would only take memory."""


class _Line:
    """What a caller has saved up, and those of its requests that wait."""

    __slots__ = ("at", "saved", "waiting")

    def __init__(self, now: float) -> None:
        self.at, self.saved = now, float(SAVED)
        self.waiting: deque[asyncio.Future[None]] = deque()

    def pay(self, now: float) -> bool:
        """Returns whether a turn could be paid."""
        self.saved = min(SAVED, self.saved + (now - self.at) * A_SECOND)
        self.at = now
        if self.saved < 1:
            return False
        self.saved -= 1
        return True


class FairShare:
    """The turns of all callers, on one event loop."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._callers = RecentCallers(clock)
        self._lines: dict[str, _Line] = {}
        self._waiting: set[str] = set()
        """Those callers of whom something waits; a timer runs while there are any."""

    async def take(self, caller: str) -> None:
        """Wait until this caller may do a piece of work. Raises TooManyWait."""
        self._callers.note(caller)
        now, line = self._clock(), self._lines.get(caller)
        if line is None:
            line = self._add(caller, now)
        if not line.waiting and (line.pay(now) or self._callers.is_alone(caller)):
            return
        if len(line.waiting) >= MOST_WAITING:
            raise TooManyWait
        loop = asyncio.get_running_loop()
        turn: asyncio.Future[None] = loop.create_future()
        line.waiting.append(turn)
        if not self._waiting:
            loop.call_later(1 / A_SECOND, self._go_on)
        self._waiting.add(caller)
        await turn

    def _go_on(self) -> None:
        """Let those go on whose turn has come."""
        now = self._clock()
        for caller in tuple(self._waiting):
            line = self._lines[caller]
            while line.waiting:
                if not line.waiting[0].done():  # else it was given up
                    if not line.pay(now):
                        break
                    line.waiting[0].set_result(None)
                line.waiting.popleft()
            if not line.waiting:
                self._waiting.discard(caller)
        if self._waiting:
            asyncio.get_running_loop().call_later(1 / A_SECOND, self._go_on)

    def _add(self, caller: str, now: float) -> _Line:
        if len(self._lines) >= MOST_CALLERS:
            self._lines = {name: line for name, line in self._lines.items() if line.waiting}
        line = self._lines[caller] = _Line(now)
        return line
