"""One watch an address, whoever comes and goes while it starts."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

import pytest

from postil.core.call import Caller
from postil.core.failure import Failure
from postil.core.registry import Registry, ResourceNotFound
from postil.core.resource import resource
from postil.wire.runtime.runner import Connection, Runner
from postil.wire.runtime.watches import COST, Held, Watches
from postil.wire.server import UNITED, Face, Server

pytestmark = pytest.mark.anyio
URI = "slow://note"


class Slow:
    """A part whose watch takes its time to begin."""

    def __init__(self) -> None:
        self.may_begin = threading.Event()
        self.begun = self.ended = 0
        self.running: list[Callable[[], None]] = []

    @resource(URI, name="Note", watch="watch")
    def read(self) -> str:
        """A note"""
        return ""

    def watch(self, uri: str, changed: Callable[[], None]) -> Callable[[], None]:
        self.begun += 1
        assert self.may_begin.wait(5)
        self.running.append(changed)

        def stop() -> None:
            self.running.remove(changed)
            self.ended += 1

        return stop


def slow() -> tuple[Slow, Watches]:
    part = Slow()
    return part, Watches(Server(Registry.of([("slow", part)]), Face("slow", "1", UNITED)))


async def settled(claim: Callable[[], object]) -> None:
    async with asyncio.timeout(5):
        while not claim():  # noqa: ASYNC110 - what happens in a thread sets no event here
            await asyncio.sleep(0.001)


async def test_a_listener_that_leaves_while_the_watch_begins_leaves_nothing_behind() -> None:
    part, watches = slow()
    adding = asyncio.ensure_future(watches.add(URI, lambda _: None))
    await settled(lambda: part.begun)
    adding.cancel()
    await asyncio.wait([adding])
    part.may_begin.set()
    await settled(lambda: part.ended == 1)
    assert part.running == []


async def test_a_listener_that_leaves_early_does_not_take_the_watch_from_another() -> None:
    part, watches = slow()
    heard: list[str] = []
    first = asyncio.ensure_future(watches.add(URI, lambda _: None))
    await settled(lambda: part.begun)
    second = asyncio.ensure_future(watches.add(URI, heard.append))
    await asyncio.sleep(0)
    first.cancel()
    part.may_begin.set()
    await second
    part.running[0]()
    await settled(lambda: heard == [URI])
    assert part.begun == 1
    watches.remove(URI, heard.append)
    await settled(lambda: not part.running)


async def test_an_address_that_does_not_exist_is_forgotten_at_once() -> None:
    _, watches = slow()
    with pytest.raises(ResourceNotFound):
        await watches.add("slow://other", lambda _: None)
    with pytest.raises(ResourceNotFound):
        await watches.add("slow://other", lambda _: None)


async def test_every_watch_ends_with_its_server() -> None:
    part, watches = slow()
    part.may_begin.set()
    await watches.add(URI, lambda _: None)
    assert len(part.running) == 1
    watches.close()
    assert (part.running, part.ended) == ([], 1)


async def test_several_changes_in_one_turn_are_heard_as_one() -> None:
    part, watches = slow()
    part.may_begin.set()
    heard: list[str] = []
    await watches.add(URI, heard.append)
    for _ in range(3):
        part.running[0]()
    await settled(lambda: heard)
    await asyncio.sleep(0)
    assert heard == [URI]
    part.running[0]()
    await settled(lambda: len(heard) == 2)


def test_what_one_caller_listens_to_is_bounded_in_bytes_and_counted_until_it_leaves() -> None:
    held = Held(most=3 * COST)
    assert held.take("ann", "a" * COST)
    assert not held.take("ann", "b" * COST)
    assert held.take("bob", "b" * COST)
    held.leave("ann", "a" * COST)
    assert held.take("ann", "b" * COST)


async def test_a_caller_who_listens_to_too_much_is_refused_in_every_session() -> None:
    part, watches = slow()
    part.may_begin.set()
    watches.held = Held(most=COST + len(URI))
    server = Server(Registry.of([("slow", part)]), Face("slow", "1", UNITED))
    first, second = (Runner(server, watches, Connection(Caller("ann", "x"), name)) for name in "ab")
    await first.updates.add(URI)
    with pytest.raises(Failure, match="Too many subscriptions"):
        await second.updates.add(URI)
    first.updates.close()
    await second.updates.add(URI)
    second.updates.close()
