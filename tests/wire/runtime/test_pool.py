"""Threads are shared fairly: nobody's slow calls stop the others."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any

import pytest

from postil.core import call
from postil.core.operation import reads, writes
from postil.core.registry import Registry
from postil.wire.runtime.pool import (
    LONG,
    MOST_WAITING,
    OF_CONNECTION,
    OF_PRINCIPAL,
    OF_SEVERAL,
    RECENT,
    WAITING_OF_PRINCIPAL,
    Pool,
    RecentCallers,
    Share,
)
from postil.wire.server import UNITED, Face, Server
from tests.wire.talk import Talk

pytestmark = pytest.mark.anyio

PATIENCE = 20


class Gate:
    """Things that are stuck until the gate opens."""

    def __init__(self) -> None:
        self.opened = threading.Event()
        self.inside = 0
        self._lock = threading.Lock()

    def pass_through(self) -> int:
        with self._lock:
            self.inside += 1
        assert self.opened.wait(PATIENCE)
        return self.inside


def mine(connection: str = "a", principal: str = "ada") -> Share:
    return principal, connection


async def until(claim: Callable[[], object]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not claim():  # noqa: ASYNC110 - what happens in a thread sets no event here
            await asyncio.sleep(0.001)


async def start(pool: Pool, gate: Gate, count: int, share: Share) -> list[asyncio.Task[Any]]:
    tasks = [asyncio.create_task(pool.run(share, gate.pass_through)) for _ in range(count)]
    await asyncio.sleep(0)
    return tasks


async def test_a_connection_takes_no_more_than_its_share() -> None:
    pool, gate = Pool(), Gate()
    tasks = await start(pool, gate, 3 * OF_CONNECTION, mine())
    await until(lambda: gate.inside == OF_CONNECTION == 8)
    assert await pool.run(mine("b"), lambda: "served") == "served"
    assert gate.inside == OF_CONNECTION
    gate.opened.set()
    await asyncio.gather(*tasks)
    assert gate.inside == 3 * OF_CONNECTION


async def test_a_principal_with_many_connections_leaves_room_for_others() -> None:
    pool, gate = Pool(most=6, of_principal=4, of_connection=2), Gate()
    tasks = [task for name in "abcdef" for task in await start(pool, gate, 2, mine(name, "mallory"))]
    await until(lambda: gate.inside == 4)
    assert await pool.run(mine("z", "ada"), lambda: "served") == "served"
    gate.opened.set()
    await asyncio.gather(*tasks)


async def test_a_principal_has_few_slots_while_others_call() -> None:
    """Sixteen calls at work in one interpreter made every call of the others sixteen times as slow."""
    now = [0.0]
    pool, gate = Pool(clock=lambda: now[0]), Gate()
    assert await pool.run(mine("z", "ada"), lambda: "served") == "served"
    tasks = [task for name in "abcdefgh" for task in await start(pool, gate, 4, mine(name, "mallory"))]
    await until(lambda: gate.inside == 1)
    assert await pool.run(mine("z", "ada"), lambda: "served") == "served"
    assert gate.inside == 1
    gate.opened.set()
    await asyncio.gather(*tasks)


async def test_a_long_call_leaves_its_principal_one_slot_more_though_no_other_call_ends() -> None:
    now = [0.0]
    pool, long, quick = Pool(clock=lambda: now[0]), Gate(), Gate()
    assert await pool.run(mine("z", "ada"), lambda: "served") == "served"
    tasks = await start(pool, long, 1, mine("a", "bob"))
    await until(lambda: long.inside == 1)
    tasks += [task for name in "bcd" for task in await start(pool, quick, 1, mine(name, "bob"))]
    await asyncio.sleep(2 * LONG)
    assert quick.inside == 0, "by the pool's clock nothing has taken long yet"
    now[0] += LONG
    await until(lambda: quick.inside == OF_SEVERAL - 1)
    now[0] += LONG
    await asyncio.sleep(2 * LONG)
    assert quick.inside == OF_SEVERAL - 1
    quick.opened.set()
    await asyncio.gather(*tasks[1:2])
    long.opened.set()
    await asyncio.gather(*tasks)


async def test_a_principal_that_calls_alone_again_has_many_slots() -> None:
    now = [0.0]
    pool, gate = Pool(clock=lambda: now[0]), Gate()
    await pool.run(mine("z", "ada"), lambda: "served")
    now[0] += RECENT + 1
    tasks = [task for name in "abcdefgh" for task in await start(pool, gate, 4, mine(name, "mallory"))]
    await until(lambda: gate.inside == OF_PRINCIPAL == 16)  # as docs/decisions.md says
    gate.opened.set()
    await asyncio.gather(*tasks)


async def test_a_principal_cannot_take_every_place_to_wait() -> None:
    pool, mallory, ada = Pool(most=40, of_principal=40, of_connection=40), Gate(), Gate()

    def wait(share: Share, gate: Gate) -> int:
        with pool.waiting(share):
            return gate.pass_through()

    async def run(share: Share, gate: Gate) -> object:
        return await pool.run(share, lambda: wait(share, gate))

    hostile = [asyncio.create_task(run(mine("a", "mallory"), mallory)) for _ in range(MOST_WAITING)]
    await until(lambda: mallory.inside == MOST_WAITING)
    assert pool.at_work == MOST_WAITING - WAITING_OF_PRINCIPAL
    good = asyncio.create_task(run(mine("b", "ada"), ada))
    await until(lambda: ada.inside == 1)
    assert pool.at_work == MOST_WAITING - WAITING_OF_PRINCIPAL
    mallory.opened.set()
    ada.opened.set()
    await asyncio.gather(*hostile, good)


async def test_those_who_wait_are_served_in_turns() -> None:
    pool, gate, done = Pool(most=1, of_principal=1, of_connection=1), Gate(), []
    stuck = await start(pool, gate, 1, mine("first"))
    order: list[str] = done
    greedy = [asyncio.create_task(pool.run(mine("greedy"), lambda: order.append("greedy"))) for _ in range(5)]
    await asyncio.sleep(0)
    modest = asyncio.create_task(pool.run(mine("modest"), lambda: order.append("modest")))
    await asyncio.sleep(0)
    gate.opened.set()
    await asyncio.gather(*stuck, *greedy, modest)
    assert order.index("modest") == 1


async def test_a_call_that_is_given_up_while_it_waits_takes_no_slot() -> None:
    pool, gate = Pool(most=1, of_principal=1, of_connection=1), Gate()
    stuck = await start(pool, gate, 1, mine())
    waiting = await start(pool, gate, 3, mine())
    for task in waiting:
        task.cancel()
    await asyncio.wait(waiting)
    gate.opened.set()
    await asyncio.gather(*stuck)
    assert gate.inside == 1
    assert await pool.run(mine(), lambda: "free") == "free"


async def test_a_call_that_is_given_up_at_work_keeps_its_slot_until_its_thread_ends() -> None:
    pool, gate = Pool(most=1, of_principal=1, of_connection=1), Gate()
    (stuck,) = await start(pool, gate, 1, mine())
    await until(lambda: gate.inside == 1)
    stuck.cancel()
    await asyncio.wait([stuck])
    behind = asyncio.create_task(pool.run(mine(), lambda: "free"))
    for _ in range(5):
        await asyncio.sleep(0)
    assert not behind.done()
    gate.opened.set()
    assert await asyncio.wait_for(behind, PATIENCE) == "free"


async def test_who_only_waits_holds_no_slot() -> None:
    pool, gate = Pool(most=1, of_principal=1, of_connection=1), Gate()

    def wait() -> int:
        with pool.waiting(mine()):
            return gate.pass_through()

    waiting = [asyncio.create_task(pool.run(mine(), wait)) for _ in range(4)]
    await until(lambda: gate.inside == 4)
    assert await asyncio.wait_for(pool.run(mine(), lambda: "free"), PATIENCE) == "free"
    gate.opened.set()
    await asyncio.gather(*waiting)
    assert await asyncio.wait_for(pool.run(mine(), lambda: "free"), PATIENCE) == "free"


class Slow:
    """Operations that are stuck, and one that is not."""

    def __init__(self) -> None:
        self.gate = Gate()
        self.written: list[str] = []

    @reads("dig")
    def dig(self) -> str:
        """Dig until the gate opens"""
        self.gate.pass_through()
        return "dug"

    @reads("stand")
    def stand(self) -> str:
        """Wait for somebody else, as for a lock"""
        with call.current().waiting():
            self.gate.pass_through()
        return "stood"

    @writes("store", thing="name")
    def store(self, name: str) -> str:
        """Store something as soon as the gate opens"""
        self.gate.pass_through()
        self.written.append(name)
        return name

    @reads("look", thing="name")
    def look(self, name: str) -> str:
        """Look whether something is stored"""
        return str(name in self.written)

    @reads("quick")
    def quick(self) -> str:
        """Answer at once"""
        return "here"


def talks(count: int) -> tuple[Slow, list[Talk]]:
    slow = Slow()
    server = Server(Registry.of([("slow", slow)]), Face("slow", "1", UNITED))
    return slow, [Talk(server, name=f"client {number}") for number in range(count)]


def send(talk: Talk, number: int | str, tool: str, **arguments: str) -> None:
    params = {"name": tool, "arguments": arguments}
    talk.send({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params})


async def test_slow_calls_of_one_client_stop_nobody_else() -> None:
    """Eight slow plain calls stopped every client for 33 s."""
    slow, (hostile, good) = talks(2)
    for number in range(50):
        send(hostile, number, "dig")
    await until(lambda: slow.gate.inside == OF_CONNECTION)
    assert (await good.call("quick"))["result"]["content"][0]["text"] == "here"
    slow.gate.opened.set()
    await hostile.until(lambda frame: frame["id"] == 49)


async def test_calls_that_wait_for_others_stop_not_even_their_own_client() -> None:
    slow, (talk,) = talks(1)
    for number in range(OF_CONNECTION + 4):
        send(talk, number, "stand")
    await until(lambda: slow.gate.inside == OF_CONNECTION + 4)
    assert (await talk.call("quick"))["result"]["content"][0]["text"] == "here"
    slow.gate.opened.set()
    await talk.until(lambda frame: frame["id"] == 0)


async def test_a_stuck_write_holds_up_only_what_is_about_the_same() -> None:
    """A stuck write held unrelated reads of its connection for 15 s."""
    slow, (talk,) = talks(1)
    send(talk, "store", "store", name="docs/a.py")
    send(talk, "other", "look", name="b.py")
    send(talk, "same", "look", name="./docs/a.py")
    assert (await talk.until(lambda frame: frame["id"] == "other"))["result"]["content"][0]["text"] == "False"
    assert not [frame for frame in talk.frames if frame["id"] == "same"]
    slow.gate.opened.set()
    assert (await talk.until(lambda frame: frame["id"] == "same"))["result"]["content"][0]["text"] == "False"


async def test_what_no_future_takes_is_told_all_the_same() -> None:
    with pytest.raises(RuntimeError, match="StopIteration"):
        await asyncio.wait_for(Pool().run(mine(), next, iter(())), PATIENCE)


async def test_of_callers_who_have_ended_nothing_is_kept() -> None:
    pool = Pool()
    for number in range(5):
        await pool.run((f"caller-{number}", f"connection-{number}"), lambda: None)
    assert pool.at_work == 0
    assert not vars(pool)["_begun"]
    assert not vars(pool)["_taken"], "it would grow with every caller there ever was"


async def test_a_caller_counts_as_recent_until_its_time_is_over() -> None:
    now = [0.0]
    callers = RecentCallers(lambda: now[0])
    callers.note("ada")
    now[0] += RECENT
    assert not callers.is_alone("mallory")
    now[0] += 1
    assert callers.is_alone("mallory")


async def test_of_many_callers_the_last_two_are_remembered() -> None:
    callers = RecentCallers(lambda: 0.0)
    for name in ("ada", "bob", "ada", "eve"):
        callers.note(name)
    assert {*vars(callers)["_called"]} == {"ada", "eve"}


async def test_threads_that_wait_are_bounded_for_all_together() -> None:
    pool, gate = Pool(most=40, of_principal=40, of_connection=40), Gate()

    def wait(share: Share) -> int:
        with pool.waiting(share):
            return gate.pass_through()

    shares = [mine("a", f"caller {number}") for number in range(MOST_WAITING + 1)]
    tasks = [asyncio.create_task(pool.run(share, wait, share)) for share in shares]
    await until(lambda: gate.inside == MOST_WAITING + 1)
    assert pool.at_work == 1
    gate.opened.set()
    await asyncio.gather(*tasks)
    assert pool.at_work == 0
    assert not vars(pool)["_waiting"], "it would grow with every caller there ever was"


async def test_what_cannot_be_begun_holds_no_slot(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = Pool()

    def refuse(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuse)
        with pytest.raises(RuntimeError):
            await pool.run(mine(), lambda: "never")
    assert pool.at_work == 0
    assert await pool.run(mine(), lambda: "now") == "now"


async def test_a_call_that_is_given_up_just_when_its_turn_came_gives_its_slot_back() -> None:
    pool, gate = Pool(most=1, of_principal=1, of_connection=1), Gate()
    stuck = await start(pool, gate, 1, mine())
    (waiting,) = await start(pool, gate, 1, mine())
    gate.opened.set()
    end = time.monotonic() + PATIENCE
    while vars(pool)["_queues"]:  # the loop stands still meanwhile: its turn has come, and it has not heard of it
        assert time.monotonic() < end
        time.sleep(0.001)  # noqa: ASYNC251
    waiting.cancel()
    await asyncio.wait([waiting])
    await asyncio.gather(*stuck)
    assert pool.at_work == 0
    assert await asyncio.wait_for(pool.run(mine(), lambda: "free"), PATIENCE) == "free"


class Given:
    """What a call was given: it can be watched as it goes."""


async def test_what_a_failed_call_was_given_goes_with_it() -> None:
    """Its fault held its frames, and they the fault: megabytes of each call stayed until Python looked for garbage."""
    pool = Pool()

    def fail(given: Given) -> None:
        raise KeyError(type(given))

    async def call_and_fail() -> weakref.ref[Given]:
        given = Given()
        with pytest.raises(KeyError):
            await pool.run(mine(), fail, given)
        return weakref.ref(given)

    async def submit_and_fail() -> weakref.ref[Given]:
        given = Given()
        done = pool.submit(fail, given)
        await until(done.done)
        assert isinstance(done.exception(), KeyError)
        return weakref.ref(given)

    gc.disable()
    try:
        called, submitted = await call_and_fail(), await submit_and_fail()
        await until(lambda: called() is None)
        await until(lambda: submitted() is None)
    finally:
        gc.enable()
