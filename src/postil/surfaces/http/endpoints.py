"""The endpoints of one server: one for each view that callers have of it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from postil.core import codes
from postil.surfaces.gateway.refused import Refused, Unavailable
from postil.surfaces.gateway.visitor import View
from postil.wire.server import Server
from postil.wire.transports.http.endpoint import Endpoint

NARROWED = 64
"""Views that are kept at once: narrowed by a token's rights, and by what a request asks to see less."""


class Endpoints:
    """Where a server is spoken to, by how much of it is seen."""

    def __init__(self, server: Server, endpoint: Endpoint | None = None) -> None:
        self.server = server
        self.whole = View()
        """The view of all of it; known without being compared with others."""
        self._widest = endpoint or Endpoint(server)
        self._known = {self.whole: self._widest}

    def find(self, view: View) -> Endpoint:
        """Returns the endpoint for callers who see this much. Raises Refused."""
        known = self._widest if view is self.whole else self._known.get(view)
        if known is not None:
            return known
        every = self.server.registry.operations.values()
        there = {entry.part for entry in every} | {entry.toolset for entry in every if entry.toolset}
        unknown = {*view.toolsets} - there
        if unknown:
            named = ", ".join(sorted(there))
            raise Refused(400, f"Bad Request: no toolset {min(unknown)!r}; there are {named}", codes.INVALID_REQUEST)
        if len(self._known) >= NARROWED:
            raise Unavailable("Too many different views are in use: ask with other toolsets, or without")
        parts = {entry.part for entry in every if entry.toolset in view.toolsets}
        narrow = self.server.registry.narrowed(view.shows, lambda entry: view.lists(entry, parts))
        endpoint = Endpoint(self.server.narrow(narrow))
        self._known[view] = endpoint
        return endpoint

    def all(self) -> Iterable[Endpoint]:
        """Returns every endpoint, for the metrics."""
        return self._known.values()

    async def close(self, patience: float) -> None:
        """End streams with their results, give calls in flight some seconds."""
        await asyncio.gather(*(endpoint.close(patience) for endpoint in self._known.values()))
