"""What one client hears beside its answers: changed resources, changed lists, announcements of the parts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from postil.core.failure import Failure
from postil.wire.protocol import notifications
from postil.wire.protocol.methods import MOST_WATCHES

if TYPE_CHECKING:
    from postil.core.group import Announcement
    from postil.core.registry import Listed
    from postil.wire.protocol.events import Work
    from postil.wire.runtime.runner import Runner


class Updates:
    """The updates of a connection, or of one stream of the stateless era."""

    def __init__(self, runner: Runner, send: Callable[[bytes], None] | None, stream: Work | None = None) -> None:
        self._runner = runner
        self._principal = runner.connection.caller.principal
        self._send = send
        self._stream = stream
        self.uris: set[str] = set()
        self.closing = asyncio.Event()
        self._stop_announcements: Callable[[], None] | None = None
        self._stop_lists: Callable[[], None] | None = None

    def send(self, frame: bytes) -> None:
        """Send a message that belongs to no request, where there is a way for it; an empty one is none."""
        if frame and self._send is not None and not self.closing.is_set():
            self._send(frame)

    # -- resources --------------------------------------------------------------------------------------------------

    async def add(self, uri: str) -> None:
        """Send an update after each change of this resource."""
        if uri in self.uris:
            return
        if len(self.uris) >= MOST_WATCHES or not self._runner.watches.held.take(self._principal, uri):
            raise Failure("Too many subscriptions", advice="Unsubscribe from some resources first")
        self.uris.add(uri)
        try:
            await self._runner.watches.add(uri, self._updated)
        except BaseException:
            self.remove(uri)
            raise

    async def add_existing(self, uris: Iterable[str], *, at_once: bool = False) -> None:
        """Add those resources that exist: others never change. `at_once` sends a first update of each."""
        for uri in uris:
            try:
                await self.add(uri)
            except Failure:
                continue
            if at_once:
                self._updated(uri)

    def remove(self, uri: str) -> None:
        """Stop to send updates of this resource."""
        if uri in self.uris:
            self.uris.discard(uri)
            self._runner.watches.held.leave(self._principal, uri)
            self._runner.watches.remove(uri, self._updated)

    async def change_to(self, uris: Iterable[str]) -> None:
        """Hear of exactly these, as the client asked on another replica."""
        wanted = set(uris)
        for uri in self.uris - wanted:
            self.remove(uri)
        # Each may have changed since it was asked for: an update is only a cue.
        await self.add_existing(wanted - self.uris, at_once=True)

    def _updated(self, uri: str) -> None:
        self.send(notifications.update(uri, self._stream))

    # -- lists and announcements --------------------------------------------------------------------------------------

    def hear_lists(self) -> None:
        """Send that a list changed, from now on."""
        if self._stop_lists is None:
            self._stop_lists = self._runner.server.registry.on_list_changed(self._list_changed)

    def _list_changed(self, what: Listed) -> None:
        frame = notifications.list_change(what, self._runner.server.face, self._stream)
        self._runner.loop.call_soon_threadsafe(self.send, frame)

    def hear_announcements(self) -> None:
        """Send what the parts announce, from now on."""
        if self._stop_announcements is None and self._send is not None:
            self._stop_announcements = _nothing
            self._runner.server.pool.submit(self._start_announcements)

    def _start_announcements(self) -> None:
        def tell(said: Announcement) -> None:
            self._runner.loop.call_soon_threadsafe(self._announced, said)

        stop = self._runner.server.registry.announce(tell)
        self._runner.loop.call_soon_threadsafe(self._keep_announcements, stop)

    def _keep_announcements(self, stop: Callable[[], None]) -> None:
        if self.closing.is_set():
            stop()
        else:
            self._stop_announcements = stop

    def _announced(self, said: Announcement) -> None:
        params = {"message": said.message, "data": said.data}
        self.send(notifications.log(self._runner.session.log_level, said.level, params))

    # -- the end ------------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Send nothing more."""
        self.closing.set()
        for uri in list(self.uris):
            self.remove(uri)
        for stop in (self._stop_announcements, self._stop_lists):
            if stop is not None:
                stop()


def _nothing() -> None:
    return
