"""Requests that came while too many were open: they wait a moment for room, and are refused when nothing moves.

A client that sends faster than it is served loses nothing; one whose calls are all stuck hears that it is too much,
and its cancellations, pings and its end are read all the while.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import TypeAlias

from postil.wire.protocol import jsonrpc

MOST = 2048
MOST_BYTES = 4 << 20
STALL = 1.0
"""Seconds without any call ending after which those that wait are refused."""
Frame: TypeAlias = jsonrpc.Incoming | list[jsonrpc.Incoming]


class Waiting:
    """The requests of one connection that wait for room, in order."""

    def __init__(self, refuse: Callable[[Frame], None], can_refuse: Callable[[], bool]) -> None:
        """`can_refuse` says whether refusals can be written: to a client that reads nothing they cannot."""
        self._refuse = refuse
        self._can_refuse = can_refuse
        self._frames: deque[tuple[Frame, int]] = deque()
        self._bytes = 0
        self._stalled: asyncio.TimerHandle | None = None

    def __bool__(self) -> bool:
        return bool(self._frames)

    @property
    def is_full(self) -> bool:
        """Whether nothing more is kept."""
        return len(self._frames) >= MOST or self._bytes >= MOST_BYTES

    def add(self, frame: Frame, size: int) -> None:
        """Keep a request until there is room; refuse it at once where too many wait already."""
        if self.is_full and self._can_refuse():
            self._refuse(frame)
            return
        self._frames.append((frame, size))
        self._bytes += size
        if self._stalled is None:
            self._watch()

    def take(self) -> Frame:
        """Returns the next request: there is room for it."""
        frame, size = self._frames.popleft()
        self._bytes -= size
        self._watch()
        return frame

    def give_up(self, request_id: object) -> None:
        """Forget the request of this id: its client gave it up."""
        for entry in self._frames:
            if isinstance(entry[0], jsonrpc.Request) and entry[0].id == request_id:
                self._frames.remove(entry)
                self._bytes -= entry[1]
                return

    def _watch(self) -> None:
        if self._stalled is not None:
            self._stalled.cancel()
        self._stalled = None
        if self._frames:
            self._stalled = asyncio.get_running_loop().call_later(STALL, self._refuse_all)

    def _refuse_all(self) -> None:
        self._stalled = None
        if not self._can_refuse():
            self._watch()
            return
        refused = list(self._frames)
        self._frames.clear()
        self._bytes = 0
        for frame, _ in refused:
            self._refuse(frame)
