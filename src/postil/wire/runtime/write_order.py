"""The order of writes: a client that sends several calls at once finds them done as if it had waited.

Writes to one thing run in the order they came, and a read sees every write to it that was sent before; what concerns
other things runs side by side, so that a stuck write holds up only what needs it.
Operations that wait (`async def`: long-polls, other hosts) take no turn, or one of them would hold up all others.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
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


def thing_of(entry: OperationEntry, arguments: object) -> Thing:
    """Returns what a call of this operation is about, from its arguments as they came."""
    kind = entry.thing
    if not kind or kind == EVERYTHING or not isinstance(arguments, Mapping):
        return Thing(entry.part, EVERYTHING if kind == EVERYTHING else "")
    given = str(cast("Mapping[str, object]", arguments).get(kind, ""))
    if not _NAME.fullmatch(given):  # a title, or nothing: it may be anything
        return Thing(entry.part)
    return Thing(entry.part, kind, given.rpartition("/")[2].casefold())  # a file has many paths and one name


class Turn:
    """One call's place in the order."""

    def __init__(self, before: Sequence[asyncio.Future[None]], done: asyncio.Future[None] | None) -> None:
        self._before = before
        self._done = done

    async def wait(self) -> None:
        """Wait for the writes before this call."""
        for write in self._before:
            await asyncio.shield(write)  # others wait for it too

    def end(self) -> None:
        """Let the next calls go. Where this one gave up waiting, they still wait for the writes before."""
        done = self._done
        if done is None:
            return
        missing = [write for write in self._before if not write.done()]
        if not missing:
            done.set_result(None)
            return

        def check(_: object) -> None:
            if not done.done() and all(write.done() for write in missing):
                done.set_result(None)

        for write in missing:
            write.add_done_callback(check)


class WriteOrder:
    """The order of one connection's calls."""

    def __init__(self) -> None:
        self._writes: list[tuple[Thing, asyncio.Future[None]]] = []

    def take(self, thing: Thing, *, writes: bool) -> Turn | None:
        """Returns a place for this call; None when nothing that matters is before or behind it."""
        if self._writes:
            self._writes = [(other, write) for other, write in self._writes if not write.done()]
        before = [write for other, write in self._writes if other.touches(thing)]
        if not writes:
            return Turn(before, None) if before else None
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._writes.append((thing, done))
        return Turn(before, done)
