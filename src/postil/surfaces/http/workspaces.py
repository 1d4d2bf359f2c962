"""Many workspaces at one gateway: `/w/NAME/mcp`. Each has members of its own; to anybody else it does not exist."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from postil.core.call import LOCAL
from postil.core.failure import Failure
from postil.surfaces.gateway.refused import OutcomeUnknown, Refused, Unavailable
from postil.surfaces.gateway.visitor import View, Visitor, tighten
from postil.surfaces.http.endpoints import Endpoints
from postil.surfaces.http.forward import MOVED, PeerGone, forward
from postil.surfaces.http.seals import Seals
from postil.wire.protocol import jsonrpc
from postil.wire.protocol.dialects import direct_methods
from postil.wire.protocol.session import KEY
from postil.wire.server import Server
from postil.wire.transports.http import body as http_body
from postil.wire.transports.http.asked import Asked
from postil.wire.transports.http.endpoint import Endpoint

if TYPE_CHECKING:
    from postil.core.catalogue import OperationEntry
    from postil.settings.model import WorkspaceSettings
    from postil.surfaces.composition import ServedWorkspace
    from postil.surfaces.gateway.quotas import Incoming

_PATH = re.compile(r"/w/([A-Za-z0-9][A-Za-z0-9._-]{0,62})/mcp/?")
PATIENCE = 20.0
"""Seconds in which a workspace is looked for that is between two replicas."""
PAUSE = 0.2


class Room:
    """One workspace, and whom it is open to."""

    def __init__(self, served: ServedWorkspace, settings: WorkspaceSettings) -> None:
        self.served = served
        self._members, self._readers = frozenset(settings.members), frozenset(settings.readers)
        self._endpoints: Endpoints | None = None
        self.beside: Endpoint | None = None
        """An endpoint of this process, with which it shares threads and bounds: many workspaces are no more room."""
        self._closing: set[asyncio.Task[None]] = set()

    def view_for(self, visitor: Visitor) -> View | None:
        """Returns how much of it a visitor sees; None where that is nothing."""
        if visitor.caller.principal == LOCAL:
            return View()
        names = {*visitor.names, "*"} if visitor.names else visitor.names
        if not self._members.isdisjoint(names):
            return View(writes=visitor.view.writes)
        return View(writes=False) if not self._readers.isdisjoint(names) else None

    def endpoint(self, server: Server, view: View, principal: str = "") -> Endpoint:
        """Returns where to speak to this server of it. Those of an earlier turn are closed."""
        if self._endpoints is None or self._endpoints.server is not server:
            if self._endpoints is not None:
                task = asyncio.ensure_future(self._endpoints.close(0.0))
                self._closing.add(task)
                task.add_done_callback(self._closing.discard)
            self._endpoints = Endpoints(server, beside=self.beside)
        return self._endpoints.find(view, principal)

    def endpoints(self) -> Iterable[Endpoint]:
        """Returns its endpoints, for the metrics."""
        return self._endpoints.all() if self._endpoints is not None else ()

    async def close(self, patience: float) -> None:
        """End streams with their results, give calls in flight some seconds, let another replica have it."""
        if self._endpoints is not None:
            await self._endpoints.close(patience)
        await asyncio.to_thread(self.served.close)


class Workspaces:
    """All of them. `key`, which replicas share, seals what is forwarded to others."""

    def __init__(
        self,
        rooms: Mapping[str, Room],
        key: bytes,
        find_operation: Callable[[str], OperationEntry | None],
    ) -> None:
        self.rooms, self._seals, self._find_operation = rooms, Seals(key), find_operation

    def find(self, path: str) -> Room | None:
        """Returns the workspace that a path leads to."""
        found = _PATH.fullmatch(path)
        return self.rooms.get(found[1]) if found is not None else None

    def find_turn(self, method: str, path: str, asked: Asked) -> int | None:
        """Returns the turn for which another replica let this request in and handed it on; None where none did."""
        return self._seals.take(method, path, asked.headers, asked.body)

    async def serve_here(self, room: Room, view: View, asked: Asked, turn: int) -> Endpoint:
        """Returns the endpoint for what was handed on to this turn. Raises Refused where another one serves it now."""
        server = room.served.current or await self._look(room)
        if not isinstance(server, Server) or room.served.turn != turn:
            raise Refused(503, "Another replica serves this workspace now", headers=[(MOVED, b"1")])
        return room.endpoint(server, tighten(view, asked.headers), asked.caller.principal)

    async def serve(
        self, room: Room, view: View, asked: Asked, method: str, path: str, incoming: Incoming | None
    ) -> Endpoint | None:
        """Returns the endpoint if the workspace is served here; None after another replica has answered."""
        end = time.monotonic() + PATIENCE
        while True:
            place = room.served.current or await self._look(room)
            if isinstance(place, Server):
                return room.endpoint(place, tighten(view, asked.headers), asked.caller.principal)
            address, number = place

            async def serves_still(number: int = number) -> bool:
                now = room.served.current or await self._look(room)
                return not isinstance(now, Server) and now[1] == number

            try:
                seal = self._seals.make(number, method, path, asked.headers, asked.body)
                await forward(address, seal, method, path, asked, serves_still)
                return None
            except PeerGone as gone:
                if gone.started:  # half an answer: the client sees its connection end
                    raise http_body.ClientLeft from None
                if gone.sent and not self._is_repeatable(asked, incoming):
                    raise OutcomeUnknown(
                        "The replica that serves this workspace fell silent: whether this was done is not known. "
                        "Look whether it was; a call with an Idempotency-Key may be repeated with it"
                    ) from None
            if time.monotonic() > end:
                raise Unavailable("No replica serves this workspace just now: nothing was changed, try again", 2)
            await asyncio.sleep(PAUSE)

    def _is_repeatable(self, asked: Asked, incoming: Incoming | None) -> bool:
        """Returns whether a request may be sent a second time without a second effect."""
        if incoming is None or isinstance(incoming, jsonrpc.Notification):
            return True
        if not isinstance(incoming, jsonrpc.Request):
            return False
        meta = incoming.params.get("_meta")
        if asked.key or incoming.params.get(direct_methods.KEY) or (isinstance(meta, dict) and KEY in meta):
            return True
        named = incoming.params.get("name") if incoming.method == "tools/call" else incoming.method
        if incoming.method != "tools/call" and not direct_methods.is_direct(incoming.method):
            return True
        entry = self._find_operation(named) if isinstance(named, str) else None
        return entry is None or entry.effect == "reads"

    async def _look(self, room: Room) -> Server | tuple[str, int]:
        try:
            return await asyncio.to_thread(room.served.find)
        except Failure as failure:
            raise Unavailable(f"{failure.message}. Nothing was changed: try again") from None

    async def close(self, patience: float) -> None:
        """End all of them."""
        await asyncio.gather(*(room.close(patience) for room in self.rooms.values()))
