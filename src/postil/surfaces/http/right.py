"""The right of a request that is served for long: a stream, a wait, a task. What it allowed ends when it is lost."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

RECHECK = 2.0
"""Seconds after which it is looked at again."""


class CheckedRight:
    """One credential, looked at again and again while anything is open that it allowed."""

    def __init__(self, is_good: Callable[[], Awaitable[bool]]) -> None:
        self._is_good = is_good
        self._ends: dict[object, Callable[[], object]] = {}
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._asking: asyncio.Task[None] | None = None
        self.lost = False

    def hold(self, end: Callable[[], object]) -> Callable[[], None]:
        """Call `end` when the right is lost. Returns what says that it need not be."""
        name = object()
        if self.lost:
            self._loop.call_soon(end)
            return lambda: None
        self._ends[name] = end
        if self._timer is None:
            self._timer = self._loop.call_later(RECHECK, self._begin)

        def let_go() -> None:
            if self._ends.pop(name, None) is not None and not self._ends:
                self._stop()

        return let_go

    def _begin(self) -> None:
        self._asking = self._loop.create_task(self._look())

    async def _look(self) -> None:
        try:
            is_good = await self._is_good()
        except Exception:
            # A fault of ours says nothing about the credential: it is told, and the credential is looked at again.
            self._timer = self._loop.call_later(RECHECK, self._begin)
            raise
        if is_good:
            self._timer = self._loop.call_later(RECHECK, self._begin)
            return
        self.lost = True
        ends, self._ends = [*self._ends.values()], {}
        for end in ends:
            self._loop.call_soon(end)  # what one of them raises keeps no other from its end

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._asking is not None:
            self._asking.cancel()
