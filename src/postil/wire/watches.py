"""Who waits for which resource: one watch per address in the whole process, shared by all connections.

Updates are cues: several changes in one turn of the loop become one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from postil.wire.server import Server

Heard = Callable[[str], None]
MOST_WATCHES = 1024


class Watches:
    """The watched addresses of one server on one event loop."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._listeners: dict[str, list[Heard]] = {}
        self._stops: dict[str, Callable[[], None]] = {}
        self._due: set[str] = set()

    async def add(self, uri: str, heard: Heard) -> None:
        """Call `heard(uri)` on the loop after each change. The first listener of an address starts its watch."""
        listeners = self._listeners.setdefault(uri, [])
        listeners.append(heard)
        if len(listeners) > 1:
            return
        loop = asyncio.get_running_loop()

        def changed() -> None:
            loop.call_soon_threadsafe(self._changed, uri)

        try:
            stop = await loop.run_in_executor(self._server.pool, self._server.registry.watch, uri, changed)
        except BaseException:
            self._listeners.pop(uri, None)
            raise
        if self._listeners.get(uri):
            self._stops[uri] = stop
        else:  # everyone left while it was starting
            await loop.run_in_executor(self._server.pool, stop)

    def remove(self, uri: str, heard: Heard) -> None:
        """Stop listening; the last one to leave ends the watch."""
        listeners = self._listeners.get(uri, [])
        if heard in listeners:
            listeners.remove(heard)
        if not listeners:
            self._listeners.pop(uri, None)
            stop = self._stops.pop(uri, None)
            if stop is not None:
                self._server.pool.submit(stop)

    def close(self) -> None:
        """End every watch."""
        for stop in self._stops.values():
            stop()
        self._stops.clear()
        self._listeners.clear()

    def _changed(self, uri: str) -> None:
        if uri not in self._due:
            self._due.add(uri)
            asyncio.get_running_loop().call_soon(self._tell, uri)

    def _tell(self, uri: str) -> None:
        self._due.discard(uri)
        for heard in list(self._listeners.get(uri, ())):
            heard(uri)
