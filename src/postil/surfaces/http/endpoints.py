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
"""Views that are kept at once, of those that requests ask for by toolsets. What tokens may not see are a few more."""
OF_ONE = 16
"""The same, that one caller was the first to ask for."""


class Endpoints:
    """Where a server is spoken to, by how much of it is seen."""

    def __init__(self, server: Server, endpoint: Endpoint | None = None, beside: Endpoint | None = None) -> None:
        """`beside` is an endpoint of another server in this process: they share threads and bounds."""
        if beside is not None:
            server.work_beside(beside.server)
        self.server = server
        self.whole = View()
        """The view of all of it; known without being compared with others."""
        self._widest = endpoint or Endpoint(server, opened=beside.opened if beside is not None else None)
        self._known = {self.whole: self._widest}
        self._asked_for: dict[View, str] = {}
        """The views that requests ask for, and who was the first to; the one that was used last is the last."""

    def find(self, view: View, principal: str = "") -> Endpoint:
        """Returns the endpoint for callers who see this much. Raises Refused."""
        known = self._widest if view is self.whole else self._known.get(view)
        if known is not None:
            if view.toolsets:
                self._asked_for[view] = self._asked_for.pop(view)
            return known
        every = self.server.registry.operations.values()
        there = {entry.part for entry in every} | {entry.toolset for entry in every if entry.toolset}
        unknown = {*view.toolsets} - there
        if unknown:
            named = ", ".join(sorted(there))
            raise Refused(400, f"Bad Request: no toolset {min(unknown)!r}; there are {named}", codes.INVALID_REQUEST)
        if view.toolsets:
            self._make_room(principal)
            self._asked_for[view] = principal
        parts = {entry.part for entry in every if entry.toolset in view.toolsets}
        narrow = self.server.registry.narrowed(view.shows, lambda entry: view.lists(entry, parts))
        endpoint = self._known[view] = Endpoint(self.server.narrow(narrow), opened=self._widest.opened)
        return endpoint

    def _make_room(self, principal: str) -> None:
        """Forget the view that was used longest ago of those in which nothing is open. Raises Unavailable.

        It is made anew when somebody asks for it: nobody misses it.
        """
        mine = [view for view, owner in self._asked_for.items() if owner == principal]
        views = mine if len(mine) >= OF_ONE else list(self._asked_for) if len(self._asked_for) >= NARROWED else None
        if views is None:
            return
        unused = next((view for view in views if self._known[view].is_empty), None)
        if unused is None:
            raise Unavailable("Too many different views are in use: ask with other toolsets, or without")
        del self._asked_for[unused]
        self._known.pop(unused).retire()

    def all(self) -> Iterable[Endpoint]:
        """Returns every endpoint, for the metrics."""
        return self._known.values()

    async def close(self, patience: float) -> None:
        """End streams with their results, give calls in flight some seconds."""
        await asyncio.gather(*(endpoint.close(patience) for endpoint in self._known.values()))
