"""Writes of one connection happen in the order they were sent."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from postil.core.arguments.published import describe
from postil.core.operation import EVERYTHING, writes
from postil.core.prompt import prompt
from postil.core.registry import Registry
from postil.core.resource import resource
from postil.wire.runtime.write_order import Thing, WriteOrder, thing_of
from postil.wire.server import UNITED, Face, Server
from tests.wire.talk import Talk

pytestmark = pytest.mark.anyio


def giving_up(number: int) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}}


async def test_calls_sent_at_once_are_done_as_if_the_client_had_waited() -> None:
    talk = Talk()
    for number in range(50):
        talk.send({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": "count"}})
    talk.send({"jsonrpc": "2.0", "id": "read", "method": "tools/call", "params": {"name": "total"}})
    read = await talk.until(lambda frame: frame.get("id") == "read")
    assert read["result"]["_meta"]["postil/metadata"] == {"count": 50}
    counts = {
        frame["id"]: frame["result"]["_meta"]["postil/metadata"]["count"]
        for frame in talk.frames
        if frame["id"] != "read"
    }
    assert counts == {number: number + 1 for number in range(50)}


async def test_a_write_that_gives_up_its_turn_lets_nobody_overtake_the_one_before() -> None:
    turns = WriteOrder()
    first, second, third = (turns.take(Thing("notes"), writes=True) for _ in range(3))
    assert first is not None
    assert second is not None
    assert third is not None
    giving_up, waiting = asyncio.create_task(second.wait()), asyncio.create_task(third.wait())
    await asyncio.sleep(0)
    giving_up.cancel()
    second.end()
    for _ in range(5):
        await asyncio.sleep(0)
    assert not waiting.done()
    first.end()
    await asyncio.wait_for(waiting, 5)
    third.end()
    assert turns.take(Thing("notes"), writes=False) is None


async def test_a_write_that_fails_or_is_cancelled_lets_the_next_one_go() -> None:
    talk = Talk()
    talk.send({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "note", "arguments": {"text": 1}}})
    talk.send({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "count"}})
    talk.send({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "count"}})
    talk.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}})
    assert "result" in await talk.call("count")


@pytest.mark.parametrize(
    ("one", "other", "related"),
    [
        (Thing("a"), Thing("a"), True),
        (Thing("a"), Thing("b"), False),
        (Thing("a", "file", "x.py"), Thing("a"), True),
        (Thing("a", "file", "x.py"), Thing("a", "file", "x.py"), True),
        (Thing("a", "file", "x.py"), Thing("a", "file", "y.py"), False),
        (Thing("a", "id", "1f2e3d"), Thing("a", "id", "1f2"), True),
        (Thing("a", "id", "1f2"), Thing("a", "file", "y.py"), True),
        (Thing("a", "file", "x.py"), Thing("b", EVERYTHING), True),
    ],
)
def test_calls_wait_for_each_other_unless_they_are_surely_about_other_things(
    one: Thing, other: Thing, related: bool
) -> None:
    assert one.touches(other) is related
    assert other.touches(one) is related


THINGS = [
    Thing(part, kind, name)
    for part in ("a", "b")
    for kind, name in (("", ""), ("id", ""), ("id", "1f"), ("id", "1f2"), ("id", "9"), ("file", "1f"), (EVERYTHING, ""))
]


def test_what_covers_a_thing_is_touched_by_all_that_touches_it() -> None:
    covering = [(one, other) for one in THINGS for other in THINGS if one.covers(other)]
    assert len(covering) > len(THINGS)
    for one, other in covering:
        assert all(one.touches(third) for third in THINGS if other.touches(third)), (one, other)


async def test_a_long_line_of_writes_costs_each_of_them_one_wait() -> None:
    """Each waited for all before it: 2,000 writes sent at once took nine times their time."""
    order = WriteOrder()
    turns = [order.take(Thing("notes", "file", f"{number % 2}.md"), writes=True) for number in range(500)]
    assert all(turn is not None and len(turn.before) <= 2 for turn in turns)
    whole = order.take(Thing("notes"), writes=True)
    assert whole is not None
    assert len(whole.before) == 2
    after = order.take(Thing("notes", "file", "1.md"), writes=False)
    assert after is not None
    assert len(after.before) == 1


async def test_a_document_and_a_prompt_show_the_writes_that_were_sent_before() -> None:
    """`resources/read` and `prompts/get` took no turn: stale 40 of 40."""
    held = Held()
    talk = Talk(Server(Registry.of([("held", held)]), Face("held", "1", UNITED)))
    talk.send({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "keep_text"}})
    talk.send({"jsonrpc": "2.0", "id": 2, "method": "resources/read", "params": {"uri": "held://text"}})
    talk.send({"jsonrpc": "2.0", "id": 3, "method": "prompts/get", "params": {"name": "say_text"}})
    await talk.eventually(held.begun.is_set)
    assert talk.frames == []
    held.go.set()
    read = await talk.until(lambda frame: frame["id"] == 2)
    assert read["result"]["contents"][0]["text"] == "new"
    said = await talk.until(lambda frame: frame["id"] == 3)
    assert said["result"]["messages"][0]["content"]["text"] == "new"


class Held:
    """A text that is written slowly."""

    def __init__(self) -> None:
        self.begun, self.go = threading.Event(), threading.Event()
        self.text = "old"

    @writes("keep_text")
    def keep(self) -> str:
        """Keep the new text"""
        self.begun.set()
        assert self.go.wait(20)
        self.text = "new"
        return self.text

    @resource("held://text", name="text")
    def read(self) -> str:
        """The text"""
        return self.text

    @prompt("say_text")
    def say(self) -> str:
        """Say the text"""
        return self.text


async def test_the_first_use_of_a_part_does_not_hold_up_the_loop() -> None:
    """Making a group imports its part: half a second in which nobody was answered."""
    catalogue = describe([("held", "Held", Held)])
    making, go = threading.Event(), threading.Event()

    def make(part: str, name: str) -> object:
        making.set()
        assert go.wait(20)
        return Held()

    talk = Talk(Server(Registry(catalogue, make), Face("held", "1", UNITED)))
    for number, (method, params) in enumerate(
        (("tools/call", {"name": "keep_text"}), ("resources/read", {"uri": "held://text"}),
         ("prompts/get", {"name": "say_text"}))
    ):  # fmt: skip
        talk.send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
    await talk.eventually(making.is_set)
    assert (await talk.ask("ping"))["result"] == {}
    talk.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 0}})
    go.set()
    await talk.until(lambda frame: frame.get("id") == 2)


class Notes:
    """A write that is about a file."""

    @writes("write_note", thing="file")
    def write(self, file: str = "") -> str:
        """Write"""
        return file


@pytest.mark.parametrize(
    ("arguments", "thing"),
    [
        ({"file": "docs/Read-me.md"}, Thing("notes", "file", "read-me.md")),
        ({"file": "my notes of today"}, Thing("notes")),  # no name: it may be anything
        ({"file": ""}, Thing("notes")),
        ({}, Thing("notes")),
        (None, Thing("notes")),
        (["docs/readme.md"], Thing("notes")),
    ],
)
def test_a_write_is_about_what_its_arguments_name(arguments: object, thing: Thing) -> None:
    entry = Registry.of([("notes", Notes())]).find("write_note")
    assert entry is not None
    assert thing_of(entry, arguments) == thing
