"""The order of writes: a client that sends several calls at once finds them done as if it had waited.

Writes to one thing run in the order they came, and a read sees every write to it that was sent before; what concerns
other things runs side by side, so that a stuck write holds up only what needs it.
Operations that wait (`async def`: long-polls, other hosts) take no turn, or one of them would hold up all others.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from typing import cast

from msgspec import Struct

from postil.core.catalogue import OperationEntry
from postil.core.operation import EVERYTHING

_NAME = re.compile(r"[\w./@+-]+")


class Thing(Struct, frozen=True):
    """What a call is about: a part, or one thing in it, named by an argument."""

    part: str
    kind: str = ""
    name: str = ""

    def touches(self, other: Thing) -> bool:
        """Returns whether both may be about the same: true where that is not known."""
        if EVERYTHING in (self.kind, other.kind):
            return True
        if self.part != other.part:
            return False
        if not self.name or not other.name or self.kind != other.kind:
            return True
        return self.name.startswith(other.name) or other.name.startswith(self.name)  # ids may be shortened

    def covers(self, other: Thing) -> bool:
        """Returns whether whatever touches the other touches this as well."""
        if self.kind == EVERYTHING:
            return True
        if self.part != other.part or other.kind == EVERYTHING:
            return False
        return not self.name or (self.kind == other.kind and other.name.startswith(self.name))


def thing_of(entry: OperationEntry, arguments: object) -> Thing:
    """Returns what a call of this operation is about, from its arguments as they came."""
    kind = entry.thing
    if not kind or kind == EVERYTHING or not isinstance(arguments, dict):
        return Thing(entry.part, EVERYTHING if kind == EVERYTHING else "")
    given = str(cast("dict[str, object]", arguments).get(kind, ""))
    if not _NAME.fullmatch(given):  # a title, or nothing: it may be anything
        return Thing(entry.part)
    return Thing(entry.part, kind, given.rpartition("/")[2].casefold())  # a file has many paths and one name


class Turn:
    """One call's place in the order."""

    def __init__(self, before: Sequence[asyncio.Future[None]], done: asyncio.Future[None] | None) -> None:
        self.before = before
        """The writes to wait for; those that one of them waits for are not among them."""
        self._done = done

    async def wait(self) -> None:
        """Wait for the writes before this call."""
        for write in self.before:
            if not write.done():
                await hear(write)

    def end(self) -> None:
        """Let the next calls go. Where this one gave up waiting, they still wait for the writes before."""
        done = self._done
        if done is None:
            return
        missing = [write for write in self.before if not write.done()]
        if not missing:
            done.set_result(None)
            return

        def check(_: object) -> None:
            if not done.done() and all(write.done() for write in missing):
                done.set_result(None)

        for write in missing:
            write.add_done_callback(check)


def hear(write: asyncio.Future[None]) -> asyncio.Future[None]:
    """Returns a future of one's own: who gives up waiting must not end what others wait for too."""
    heard: asyncio.Future[None] = write.get_loop().create_future()
    write.add_done_callback(lambda _: heard.done() or heard.set_result(None))
    return heard


class WriteOrder:
    """The order of one connection's calls."""

    def __init__(self) -> None:
        self._writes: list[tuple[Thing, asyncio.Future[None]]] = []

    @property
    def holds_any(self) -> bool:
        """Whether a write may be under way."""
        return bool(self._writes)

    def take(self, thing: Thing, *, writes: bool) -> Turn | None:
        """Returns a place for this call; None when nothing that matters is before or behind it."""
        before: list[asyncio.Future[None]] = []
        kept: list[tuple[Thing, asyncio.Future[None]]] = []
        for entry in self._writes:
            other, write = entry
            if write.done():
                continue
            if other.touches(thing):
                before.append(write)
            if not (writes and thing.covers(other)):
                # Who would wait for a write that this one covers waits for this one, which waits for it.
                kept.append(entry)
        self._writes = kept
        if not writes:
            return Turn(before, None) if before else None
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        kept.append((thing, done))
        return Turn(before, done)
