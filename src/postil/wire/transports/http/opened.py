"""What is open over HTTP in this process, counted over all its endpoints.

A view that sees less, or one more workspace, has an endpoint of its own: it is no more room for anybody.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from postil.wire.runtime.watches import Held
from postil.wire.transports.http.event_log import Budget

if TYPE_CHECKING:
    from postil.wire.transports.http.sessions import Sessions


class Opened:
    """The calls, streams, sessions and subscriptions of all endpoints of a process, and what is kept of streams."""

    def __init__(self) -> None:
        self.calls = self.streams = 0
        self.kept = Budget()
        self.watched = Held()
        self.sessions: list[Sessions] = []
        """Those of each endpoint that has any."""
        self._streams_of: dict[str, int] = {}

    def count_streams(self, principal: str) -> int:
        """Returns how many streams of one caller are open."""
        return self._streams_of.get(principal, 0)

    @contextmanager
    def stream(self, principal: str) -> Generator[None]:
        """Count a stream of a caller while it is open."""
        self.streams += 1
        self._streams_of[principal] = self.count_streams(principal) + 1
        try:
            yield
        finally:
            self.streams -= 1
            self._streams_of[principal] -= 1
            if not self._streams_of[principal]:
                del self._streams_of[principal]
