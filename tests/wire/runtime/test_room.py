"""Room for what is large: bounded, caller by caller, and small calls never wait for it."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Coroutine
from itertools import count
from pathlib import Path

import pytest
from msgspec import Struct

from postil.core import call, limits
from postil.core.operation import reads, writes
from postil.core.registry import Registry
from postil.wire.runtime.room import NeedsRoom, Room, Stay
from postil.wire.server import UNITED, Face, Server
from postil.workspace.spawn import run
from tests.wire.talk import Talk

pytestmark = pytest.mark.anyio
PATIENCE = 20
NUMBERS = count()


class Held(Struct, frozen=True):
    """How many held something at once."""

    most: int


class Files:
    """A part that reads large things."""

    def __init__(self) -> None:
        self.begun = self.at_once = self.most = 0
        self.full = threading.Semaphore(0)
        self.go_on = threading.Event()
        self._lock = threading.Lock()

    @reads("read")
    def read(self, size: int, grows: bool = False) -> Held:
        """Read something of a size"""
        with self._lock:
            self.begun += 1
        call.hold(size, grows=grows)
        with self._lock:
            self.at_once += 1
            self.most = max(self.most, self.at_once)
        self.full.release()
        assert self.go_on.wait(PATIENCE)
        with self._lock:
            self.at_once -= 1
        return Held(self.most)

    @reads("read_parts")
    def read_parts(self, size: int) -> Held:
        """Read several things of a size, and say how far it is"""
        self.begun += 1
        for part in range(4):
            call.current().progress(part, 4)
            call.hold(size)
        return Held(0)

    @reads("run")
    def run(self, script: str) -> Held:
        """Run a program that prints much"""
        with self._lock:
            self.begun += 1
        status, out, _ = run(["sh", "-c", script], {"PATH": os.environ["PATH"]}, b"", 60)
        assert status == 0
        return Held(len(out))

    @writes("write")
    def write(self, size: int) -> Held:
        """Write something of a size"""
        with self._lock:
            self.begun += 1
        call.hold(size)
        return Held(0)


def open_files() -> tuple[Files, Server]:
    files = Files()
    return files, Server(Registry.of([("files", files)], outputs=True), Face("files", "1", UNITED))


def ask(talk: Talk, tool: str, **arguments: object) -> Coroutine[None, None, object]:
    return talk.ask("tools/call", {"name": tool, "arguments": arguments}, next(NUMBERS))


async def test_what_is_large_is_read_one_after_another_and_what_is_small_at_once() -> None:
    files, server = open_files()
    talk = Talk(server)
    await talk.initialize()
    large = [asyncio.ensure_future(ask(talk, "read", size=limits.AT_WORK - 1)) for _ in range(5)]
    assert await asyncio.to_thread(files.full.acquire, timeout=PATIENCE)
    small = [asyncio.ensure_future(ask(talk, "read", size=limits.LARGE)) for _ in range(2)]
    for _ in small:
        assert await asyncio.to_thread(files.full.acquire, timeout=PATIENCE)
    assert files.at_once == 3
    files.go_on.set()
    await asyncio.gather(*large, *small)
    assert files.most == 3


async def test_what_grows_has_all_the_room_and_begins_again_once() -> None:
    files, server = open_files()
    files.go_on.set()
    talk = Talk(server)
    await talk.initialize()
    await ask(talk, "read", size=limits.LARGE + 1, grows=True)
    assert files.begun == 2


async def test_what_is_larger_than_all_room_is_read_alone() -> None:
    files, server = open_files()
    files.go_on.set()
    talk = Talk(server)
    await talk.initialize()
    await asyncio.gather(*(ask(talk, "read", size=9 * limits.AT_WORK) for _ in range(3)))
    assert files.most == 1


async def test_a_call_that_writes_is_never_begun_twice() -> None:
    files, server = open_files()
    talk = Talk(server)
    await talk.initialize()
    await ask(talk, "write", size=limits.AT_WORK)
    assert files.begun == 1


async def test_who_gives_up_keeps_the_room_until_the_thread_has_ended() -> None:
    """Else a client that asks and leaves would have as many at work as there are threads."""
    files, server = open_files()
    talk = Talk(server)
    await talk.initialize()
    given_up = asyncio.ensure_future(ask(talk, "read", size=limits.AT_WORK))
    assert await asyncio.to_thread(files.full.acquire, timeout=PATIENCE)
    for request_id in list(talk.runner.running):
        talk.runner.cancel(request_id)
    given_up.cancel()
    next_one = asyncio.ensure_future(ask(talk, "read", size=limits.AT_WORK))
    await talk.eventually(lambda: files.begun == 3)  # it has begun once, and waits
    assert files.at_once == 1
    files.go_on.set()
    await next_one
    assert files.most == 1
    assert await server.pool.room.take("anybody", limits.AT_WORK) == limits.AT_WORK


async def test_a_program_that_prints_slowly_has_no_room_meanwhile_and_is_run_once(tmp_path: Path) -> None:
    """It had all the room until it ended, up to a minute, and every other large call waited for it."""
    files, server = open_files()
    files.go_on.set()
    talk = Talk(server)
    await talk.initialize()
    begun, gate = tmp_path / "begun", tmp_path / "gate"
    os.mkfifo(gate)
    script = f"head -c 3000000 /dev/zero; echo x >>{begun}; cat {gate} >/dev/null; head -c 1000000 /dev/zero"
    slow = asyncio.ensure_future(ask(talk, "run", script=script))
    await talk.eventually(begun.exists)
    async with asyncio.timeout(PATIENCE):
        await ask(talk, "read", size=limits.AT_WORK)
    assert not slow.done()
    await asyncio.to_thread(gate.write_bytes, b"")
    answered = await slow
    assert "4000000" in str(answered)
    assert files.begun == 4  # two of each: the first run of each finds out how much it holds
    assert begun.read_text() == "x\n"
    assert server.pool.room.on_disk == 0


async def test_what_is_kept_on_the_disk_is_bounded_and_goes_with_the_call() -> None:
    room = Room()
    one, other = Stay(room, "ann"), Stay(room, "bob")
    one.keep("a", "large", limits.ON_DISK)
    other.keep("b", "small", 1)
    assert (one.recall("a"), one.recall("a"), other.recall("b")) == ("large", None, None)
    one.keep("a", "again", 10)
    one.leave()
    assert (one.recall("a"), room.on_disk) == (None, 0)


async def test_callers_take_turns() -> None:
    room, order = Room(10), list[str]()
    held = await room.take("ann", 10)

    async def come(principal: str) -> None:
        taken = await room.take(principal, 10)
        order.append(principal)
        room.give_back(taken)

    waiting = [asyncio.ensure_future(come(who)) for who in ("ann", "ann", "ann", "bob", "eve")]
    await asyncio.sleep(0)
    room.give_back(held)
    await asyncio.gather(*waiting)
    assert order == ["ann", "bob", "eve", "ann", "ann"]


async def test_who_leaves_the_line_lets_those_behind_in() -> None:
    room = Room(10)
    held = await room.take("ann", 6)
    large = asyncio.ensure_future(room.take("bob", 10))
    small = asyncio.ensure_future(room.take("eve", 4))
    await asyncio.sleep(0)
    assert not small.done()  # nobody goes past: else what is large would wait for ever
    large.cancel()
    assert await small == 4
    room.give_back(held)
    room.give_back(4)
    held = await room.take("ann", 10)
    last = asyncio.ensure_future(room.take("ann", 10))
    await asyncio.sleep(0)
    room.give_back(held)
    last.cancel()  # its turn had come
    with pytest.raises(asyncio.CancelledError):
        await last
    assert await room.take("bob", 10) == 10


async def test_room_is_given_past_those_who_are_just_giving_up() -> None:
    """At the end of a connection, calls that have room and calls that wait are given up at once."""
    room = Room(10)
    held = await room.take("ann", 10)
    given_up = [asyncio.ensure_future(room.take(who, 6)) for who in ("bob", "bob", "eve")]
    patient = asyncio.ensure_future(room.take("eve", 10))
    await asyncio.sleep(0)
    for each in given_up:
        each.cancel()
    room.give_back(held)  # before they have heard it
    async with asyncio.timeout(PATIENCE):
        assert await patient == 10
    told = await asyncio.gather(*given_up, return_exceptions=True)
    assert [type(each) for each in told] == 3 * [asyncio.CancelledError]
    room.give_back(10)
    assert await room.take("bob", 10) == 10


async def test_a_call_that_begins_again_does_not_tell_its_progress_anew() -> None:
    files, server = open_files()
    files.go_on.set()
    talk = Talk(server)
    await talk.initialize()
    params = {"name": "read_parts", "arguments": {"size": limits.LARGE}, "_meta": {"progressToken": "t"}}
    await talk.ask("tools/call", params, next(NUMBERS))
    told = [frame["params"]["progress"] for frame in talk.frames if frame.get("method") == "notifications/progress"]
    assert files.begun == 3
    assert told == [0, 1, 2, 3]


def test_to_need_room_is_no_failure_that_somebody_answers() -> None:
    assert not issubclass(NeedsRoom, Exception)
