"""Room for what is large: calls that read hold a bounded number of bytes together, and take turns, caller by caller.

How much a call will hold is known when it comes to a large file, an output of git or a long comment (`call.hold`). It
then waits here, on the loop and without a thread, and begins again: so small calls never stand behind large ones. What
calls that write hold is not counted: they cannot begin again, and those of a workspace are made one after another.
An output of git waits on the disk for its room, however slowly it comes.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from functools import cache
from typing import Any

from postil.core import call, limits


class NeedsRoom(BaseException):
    """A call that reads has come to something larger than its room. No failure: nobody who catches those answers it."""

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self.size = size


class Room:
    """The bytes that large calls may hold, on one event loop."""

    def __init__(self, total: int = limits.AT_WORK) -> None:
        self.total = total
        self._taken = self.on_disk = 0
        self._waiting: dict[str, deque[tuple[asyncio.Future[None], int]]] = {}
        """Those who wait, by principal; the first one is the next."""

    async def take(self, principal: str, size: int) -> int:
        """Wait for room for so many bytes. Returns what was taken: who needs more than there is has all, alone."""
        return_large_blocks()
        size = min(size, self.total)
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(principal, deque()).append((turn, size))
        self._let_in()
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.give_back(size)
            else:
                self._leave_line(principal, turn)
                self._let_in()
            raise
        return size

    def give_back(self, size: int) -> None:
        """Let others have it."""
        self._taken -= size
        self._let_in()

    def _let_in(self) -> None:
        while self._waiting:
            principal, line = next(iter(self._waiting.items()))
            turn, size = line[0]
            if turn.cancelled():  # its call was given up, and has not left the line yet
                self._leave_line(principal, turn)
                continue
            if self._taken + size > self.total:
                return  # nobody goes past it: else it would never have room
            del self._waiting[principal]
            line.popleft()
            if line:
                self._waiting[principal] = line  # behind the others
            self._taken += size
            turn.set_result(None)

    def _leave_line(self, principal: str, turn: asyncio.Future[None]) -> None:
        left = deque(each for each in self._waiting.get(principal, ()) if each[0] is not turn)
        if left:
            self._waiting[principal] = left
        else:
            self._waiting.pop(principal, None)


class Stay:
    """The room that one call has, and what it holds of large things."""

    __slots__ = ("_at_work", "_farthest", "_has_left", "_held", "_kept", "_loop", "_principal", "_room", "size")

    def __init__(self, room: Room, principal: str) -> None:
        self._room, self._principal = room, principal
        self._loop: asyncio.AbstractEventLoop | None = None
        self.size = self._held = 0
        self._at_work = self._has_left = False
        self._farthest = -1.0
        self._kept: dict[object, tuple[object, int]] = {}

    def is_farther(self, done: float) -> bool:
        """Hear how far the call is. Returns whether a client hears of it: when it begins again, it goes back."""
        is_new, self._farthest = done > self._farthest, max(done, self._farthest)
        return is_new

    async def move(self, size: int) -> None:
        """Wait for a larger room: what was held is gone."""
        self._give_back()
        self._loop = asyncio.get_running_loop()
        self._held, self._has_left = 0, False
        self.size = await self._room.take(self._principal, size)

    def hold(self, size: int, grows: bool) -> None:
        """Hear in its thread what the call is about to hold. Raises NeedsRoom, and Cancelled where it was given up."""
        call.current().check()
        self._held += size
        if max(limits.LARGE, self.size) < self._held and self.size < self._room.total:
            # All of it: so a call begins again at most twice.
            raise NeedsRoom(self._room.total if grows or self.size else self._held)

    def keep(self, name: object, value: object, size: int) -> None:
        """Take something of the disk, as far as there is room for it; without, it is made again."""
        self.recall(name)
        if self._room.on_disk + size <= limits.ON_DISK:
            self._room.on_disk += size
            self._kept[name] = value, size

    def recall(self, name: object) -> object | None:
        """Returns what was kept under a name, once."""
        value, size = self._kept.pop(name, (None, 0))
        self._room.on_disk -= size
        return value

    def work(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Run it in this thread, whose the room is: a caller who gives up leaves a thread behind that works on."""
        if not self.size or self._loop is None:
            return function(*arguments)
        self._at_work = True
        try:
            return function(*arguments)
        finally:
            self._loop.call_soon_threadsafe(self._end_work)

    def _end_work(self) -> None:
        self._at_work = False
        if self._has_left:
            self.leave()

    def leave(self) -> None:
        """Hear that all it held was answered or given up."""
        self._has_left = True
        for name in list(self._kept):
            self.recall(name)
        self._give_back()

    def _give_back(self) -> None:
        if self.size and not self._at_work:
            size, self.size = self.size, 0
            self._room.give_back(size)


OUTSIDE = Stay(Room(), "")
"""Of calls that hold nothing large."""


@cache
def return_large_blocks() -> None:
    """Have the C library give large blocks back to the system when they are freed, from now on.

    It would keep them for later, in a heap for each thread: twenty readings of 14 MB left 400 MB behind.
    """
    import ctypes  # only servers that hold something large

    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # glibc's; others give them back by themselves
    if mallopt is not None:
        mallopt(_MMAP_THRESHOLD, limits.LARGE)


_MMAP_THRESHOLD = -3
