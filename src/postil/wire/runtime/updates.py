"""What one client hears beside its answers: changed resources, changed lists, announcements of the parts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from postil.core.announcer import Announcement
from postil.core.failure import Failure
from postil.wire.protocol import notifications
from postil.wire.protocol.methods import MOST_WATCHES

if TYPE_CHECKING:
    from postil.core.registry import Listed
    from postil.wire.runtime.runner import Runner
    from postil.wire.runtime.wire_call import WireCall


class Updates:
    """What one connection is told; all of it ends with the connection."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner
        self.uris: set[str] = set()
        self._closing = asyncio.Event()
        self._stop_announcements: Callable[[], None] | None = None
        self._stop_lists: Callable[[], None] | None = None

    def push(self, frame: bytes) -> None:
        """Send a message that belongs to no request, where there is a way for it."""
        push = self._runner.connection.push
        if frame and push is not None and not self._closing.is_set():
            push(frame)

    # -- resources --------------------------------------------------------------------------------------------------

    async def add(self, uri: str) -> None:
        """Push an update after each change of this resource."""
        if uri in self.uris:
            return
        if len(self.uris) >= MOST_WATCHES:
            raise Failure("Too many subscriptions", advice="Unsubscribe from some resources first")
        self.uris.add(uri)
        await self._runner.watches.add(uri, self._updated)

    def remove(self, uri: str) -> None:
        """Stop pushing them."""
        if uri in self.uris:
            self.uris.discard(uri)
            self._runner.watches.remove(uri, self._updated)

    async def change_to(self, uris: Iterable[str]) -> None:
        """Hear of exactly these, as the client asked on another replica."""
        wanted = set(uris)
        for uri in self.uris - wanted:
            self.remove(uri)
        for uri in wanted - self.uris:
            try:
                await self.add(uri)
            except Failure:
                continue  # gone meanwhile: it never changes
            self._updated(uri)  # it may have changed since it was asked for: an update is only a cue

    def _updated(self, uri: str) -> None:
        self.push(notifications.update(uri))

    # -- lists and announcements --------------------------------------------------------------------------------------

    def hear_lists(self) -> None:
        """Push that a list changed, from now on."""
        if self._stop_lists is None:
            self._stop_lists = self._runner.server.registry.on_list_changed(self._list_changed)

    def _list_changed(self, what: Listed) -> None:
        frame = notifications.list_change(what, self._runner.server.face)
        self._runner.loop.call_soon_threadsafe(self.push, frame)

    def hear_announcements(self) -> None:
        """Push what the parts announce, from now on."""
        if self._stop_announcements is None and self._runner.connection.push is not None:
            self._stop_announcements = _nothing
            self._runner.server.pool.submit(self._start_announcements)

    def _start_announcements(self) -> None:
        def tell(said: Announcement) -> None:
            self._runner.loop.call_soon_threadsafe(self._announced, said)

        stop = self._runner.server.registry.announce(tell)
        self._runner.loop.call_soon_threadsafe(self._keep_announcements, stop)

    def _keep_announcements(self, stop: Callable[[], None]) -> None:
        if self._closing.is_set():
            stop()
        else:
            self._stop_announcements = stop

    def _announced(self, said: Announcement) -> None:
        params = {"message": said.message, "data": said.data}
        self.push(notifications.log(self._runner.session.log_level, said.level, params))

    # -- streams of the stateless era ---------------------------------------------------------------------------------

    async def stream(self, call: WireCall) -> None:
        """Send a stream what it asked to hear of, until the client leaves or the connection closes."""
        work, watches = call.work, self._runner.watches
        watched: list[str] = []

        def updated(uri: str) -> None:
            call.send(notifications.update(uri, work))

        # The acknowledgement is the stream's first frame: it is queued before any watch can speak.
        call.send(notifications.acknowledge(work))
        server = self._runner.server
        stop_lists = server.registry.on_list_changed(
            lambda what: call.send(notifications.list_change(what, server.face, work))
        )
        try:
            for uri in work.arguments[1]:
                try:
                    await watches.add(uri, updated)
                    watched.append(uri)
                except Failure:
                    continue  # a resource that does not exist never changes
            await self._closing.wait()
        finally:
            stop_lists()
            for uri in watched:
                watches.remove(uri, updated)

    # -- the end ------------------------------------------------------------------------------------------------------

    def end_streams(self) -> None:
        """Let streams end gracefully; nothing more is pushed."""
        self._closing.set()

    def close(self) -> None:
        """End the rest."""
        for uri in list(self.uris):
            self.remove(uri)
        for stop in (self._stop_announcements, self._stop_lists):
            if stop is not None:
                stop()


def _nothing() -> None:
    return
