"""Writes of one connection happen in the order they were sent."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from postil.core.operation import Mark
from postil.wire.runtime.write_order import WriteOrder
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
    assert read["result"]["metadata"] == {"count": 50}
    counts = {frame["id"]: frame["result"]["metadata"]["count"] for frame in talk.frames if frame["id"] != "read"}
    assert counts == {number: number + 1 for number in range(50)}


async def test_a_write_that_gives_up_its_turn_lets_nobody_overtake_the_one_before() -> None:
    turns = WriteOrder()
    first, second, third = (turns.take(Mark("note", "writes")) for _ in range(3))
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
    assert turns.take(Mark("total", "reads")) is None


async def test_a_write_that_fails_or_is_cancelled_lets_the_next_one_go() -> None:
    talk = Talk()
    talk.send({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "note", "arguments": {"text": 1}}})
    talk.send({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "count"}})
    talk.send({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "count"}})
    talk.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}})
    assert "result" in await talk.call("count")
