"""Who waits for which resource: one watch per address in the whole process, shared by all connections.

Updates are cues: several changes in one turn of the loop become one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from postil.wire.server import Server

HELD_OF_ONE = 8 * 1024 * 1024
"""Bytes of the addresses that one caller listens to, in all its sessions and streams."""
COST = 1024
"""What listening to one takes beside its address."""
Heard = Callable[[str], None]
Stop = Callable[[], None]


class Held:
    """How much each caller listens to, over all endpoints of a process."""

    def __init__(self, most: int = HELD_OF_ONE) -> None:
        self._most = most
        self._of: dict[str, int] = {}

    def take(self, principal: str, uri: str) -> bool:
        """Returns whether a caller may listen to one more address, which is then counted."""
        mine = self._of.get(principal, 0) + len(uri) + COST
        if mine > self._most:
            return False
        self._of[principal] = mine
        return True

    def leave(self, principal: str, uri: str) -> None:
        """Count it no more."""
        self._of[principal] -= len(uri) + COST
        if not self._of[principal]:
            del self._of[principal]


class Watches:
    """The watched addresses of one server on one event loop."""

    def __init__(self, server: Server, held: Held | None = None) -> None:
        self.held = held or Held()
        self._server = server
        self._listeners: dict[str, list[Heard]] = {}
        self._started: dict[str, asyncio.Future[Stop]] = {}
        self._due: set[str] = set()

    async def add(self, uri: str, heard: Heard) -> None:
        """Call `heard(uri)` on the loop after each change. The first listener of an address starts its watch."""
        self._listeners.setdefault(uri, []).append(heard)
        started = self._started.get(uri) or self._start(uri)
        try:
            # Shielded: one listener that leaves early must neither take the watch from others nor lose its end.
            await asyncio.shield(started)
        except BaseException:
            self.remove(uri, heard)
            raise

    def _start(self, uri: str) -> asyncio.Future[Stop]:
        loop = asyncio.get_running_loop()

        def changed() -> None:
            loop.call_soon_threadsafe(self._changed, uri)

        started = asyncio.wrap_future(self._server.pool.submit(self._server.registry.watch, uri, changed))
        self._started[uri] = started
        return started

    def remove(self, uri: str, heard: Heard) -> None:
        """Stop listening; the last one to leave ends the watch, as soon as it has begun."""
        listeners = self._listeners.get(uri, [])
        if heard not in listeners:
            return
        listeners.remove(heard)
        if not listeners:
            del self._listeners[uri]
            self._started.pop(uri).add_done_callback(self._end)

    def _end(self, started: asyncio.Future[Stop]) -> None:
        if not started.cancelled() and started.exception() is None:
            self._server.pool.submit(started.result())

    def close(self) -> None:
        """End every watch."""
        for started in self._started.values():
            if started.done() and not started.cancelled() and started.exception() is None:
                started.result()()
        self._started.clear()
        self._listeners.clear()

    def _changed(self, uri: str) -> None:
        if uri not in self._due:
            self._due.add(uri)
            asyncio.get_running_loop().call_soon(self._tell, uri)

    def _tell(self, uri: str) -> None:
        self._due.discard(uri)
        for heard in list(self._listeners.get(uri, ())):
            heard(uri)
