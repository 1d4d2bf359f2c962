"""The order of writes: a client that sends several calls at once finds them done as if it had waited.

Writes of one connection run in the order they came, and a read sees every write sent before it; reads run side by side.
Operations that wait (`async def`: long-polls, other hosts) take no turn, or one of them would hold up all others.
"""

from __future__ import annotations

import asyncio

from postil.core.operation import Mark


class Turn:
    """One call's place in the order."""

    def __init__(self, before: asyncio.Future[None] | None, done: asyncio.Future[None] | None) -> None:
        self._before = before
        self._done = done

    async def wait(self) -> None:
        """Wait for the write before this call."""
        if self._before is not None:
            await asyncio.shield(self._before)  # others wait for it too

    def end(self) -> None:
        """Let the next call go. Where this one gave up waiting, the next one still waits for the write before."""
        before, done = self._before, self._done
        if done is None:
            return
        if before is None or before.done():
            done.set_result(None)
        else:
            before.add_done_callback(lambda _: done.set_result(None))


class WriteOrder:
    """The order of one connection's calls."""

    def __init__(self) -> None:
        self._last_write: asyncio.Future[None] | None = None

    def take(self, mark: Mark) -> Turn | None:
        """Returns a place for this call; None when nothing that matters is before or behind it."""
        before = self._last_write
        if before is not None and before.done():
            before = self._last_write = None
        if mark.effect == "reads":
            return None if before is None else Turn(before, None)
        self._last_write = asyncio.get_running_loop().create_future()
        return Turn(before, self._last_write)
