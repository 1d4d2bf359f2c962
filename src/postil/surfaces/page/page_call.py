"""Calling an operation for a person at the page: as the wire does it for a client, and with its notes and limits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from postil.core import call as core_call
from postil.core.call import Caller
from postil.core.failure import UnknownOperation
from postil.wire.protocol import jsonrpc
from postil.wire.protocol.eras.era import FIRST
from postil.wire.protocol.events import Work
from postil.wire.runtime.runner import Connection, Runner
from postil.wire.runtime.watches import Watches
from postil.wire.runtime.wire_call import WireCall
from postil.wire.runtime.work import run_operation
from postil.wire.server import Server


class PageCall(WireCall):
    """A call that a person made at the page."""

    def __init__(self, runner: Runner, work: Work, caller: Caller) -> None:
        super().__init__(runner, work, Nowhere(), caller)
        self.person = True

    def when_delivered(self, confirmed: Callable[[], None], lost: Callable[[], None]) -> None:
        confirmed()


class Nowhere:
    """Takes what a call would tell its client beside the answer: a page shows none of it."""

    is_heard = True

    def send(self, frame: bytes) -> None:
        """Take a message."""

    def answer(self, frame: bytes, code: int) -> None:
        """Take the answer."""

    def end(self) -> None:
        """Hear that no answer will come."""

    def tell(self, name: str, value: str) -> None:
        """Take what a call says beside its answer."""


async def run_for_person(
    server: Server, watches: Watches, caller: Caller, peer: str, name: str, arguments: Mapping[str, Any]
) -> object:
    """Run an operation that this server offers. Raises UnknownOperation, and whatever the operation raises."""
    entry = server.registry.find(name)
    if entry is None:
        raise UnknownOperation(f"This is not offered here: {name}", advice="Ask the one who runs this server")
    given = dict(arguments)
    request = jsonrpc.Request(1, entry.name, given)
    work = Work("direct", request, FIRST, entry.name, given, lambda _, __, value: value, entry)
    call = PageCall(Runner(server, watches, Connection(caller, peer)), work, caller)
    core_call.enter(call)
    try:
        return await run_operation(call)
    finally:
        call.stay.leave()
