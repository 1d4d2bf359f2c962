"""Whether this process should be sent requests: false while a write to its state would fail."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from postil.core.failure import Failure

REMEMBERED = 2.0
LONGEST = 5.0


class Readiness:
    """Asks the state, at most every two seconds, however often a balancer asks."""

    def __init__(self, check_writable: Callable[[], None] | None) -> None:
        self._check = check_writable
        self._known = (0.0, b"ready")
        self._asking: asyncio.Task[bytes] | None = None

    async def ask(self) -> bytes:
        """Returns `ready`, or `unwritable` where writes would fail; the reason is in `postil doctor`."""
        if self._check is None:
            return b"ready"
        until, status = self._known
        if time.monotonic() < until:
            return status
        task = self._asking = self._asking or asyncio.ensure_future(self._find_out(self._check))
        done, _ = await asyncio.wait([task], timeout=LONGEST)
        return task.result() if done else b"unwritable"

    async def _find_out(self, check: Callable[[], None]) -> bytes:
        try:
            await asyncio.to_thread(check)
            status = b"ready"
        except Failure:
            status = b"unwritable"
        self._known = (time.monotonic() + REMEMBERED, status)
        self._asking = None
        return status
