"""Requests that came while too many were open: they wait a moment for room, and are refused when nothing moves.

A client that sends faster than it is served loses nothing: it is read no further until some have ended. One whose calls
are all stuck hears that it is too much, and its cancellations, pings and its end are read all the while.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import TypeAlias

from postil.wire.protocol import jsonrpc

MOST = 512
MOST_BYTES = 4 << 20
STALL = 1.0
"""Seconds between looks; where nothing has ended between two of them, those that wait are refused."""
Frame: TypeAlias = jsonrpc.Incoming | list[jsonrpc.Incoming]


class Waiting:
    """The requests of one connection that wait for room, in order."""

    def __init__(self, refuse: Callable[[Frame], None], can_refuse: Callable[[], bool]) -> None:
        """`can_refuse` says whether refusals can be written: to a client that reads nothing they cannot."""
        self._refuse = refuse
        self._can_refuse = can_refuse
        self.frames: deque[tuple[Frame, int]] = deque()
        """The requests and their sizes."""
        self._bytes = 0
        self._loop = asyncio.get_running_loop()
        self._taken = 0
        self._is_watched = False
        self._is_stuck = False

    def __bool__(self) -> bool:
        return bool(self.frames)

    @property
    def is_full(self) -> bool:
        """Whether nothing more should be read for now."""
        return len(self.frames) >= MOST or self._bytes >= MOST_BYTES

    def add(self, frame: Frame, size: int) -> None:
        """Keep a request until there is room; refuse it at once where nothing has moved for too long."""
        if self._is_stuck and self._can_refuse():
            self._refuse(frame)
            return
        self.frames.append((frame, size))
        self._bytes += size
        if not self._is_watched:
            self._watch()

    def take(self) -> Frame:
        """Returns the next request: there is room for it."""
        frame, size = self.frames.popleft()
        self._bytes -= size
        self._taken += 1
        return frame

    def tell_room(self) -> None:
        """Hear that a call has ended."""
        self._is_stuck = False

    def give_up(self, request_id: object) -> None:
        """Forget the request of this id: its client gave it up."""
        for entry in self.frames:
            if isinstance(entry[0], jsonrpc.Request) and entry[0].id == request_id:
                self.frames.remove(entry)
                self._bytes -= entry[1]
                return

    def _watch(self) -> None:
        """Look again when nothing may have moved for too long."""
        self._is_watched = True
        self._loop.call_later(STALL, self._look, self._taken)

    def _look(self, taken: int) -> None:
        self._is_watched = False
        if not self.frames:
            return
        if self._taken > taken or not self._can_refuse():
            self._watch()
        else:
            self._refuse_all()

    def _refuse_all(self) -> None:
        self._is_stuck = True
        refused = list(self.frames)
        self.frames.clear()
        self._bytes = 0
        for frame, _ in refused:
            self._refuse(frame)
