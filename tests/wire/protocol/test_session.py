"""The session as a state machine: what it takes, what it refuses, how batches are answered."""

from __future__ import annotations

from typing import Any

import pytest

from postil.wire.protocol.session import IN_FLIGHT
from tests.wire.talk import Talk

pytestmark = pytest.mark.anyio


ERAS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")


async def test_ping_shutdown_and_unknown_methods() -> None:
    talk = Talk()
    assert (await talk.ask("ping"))["result"] == {}
    assert (await talk.ask("nope/nope"))["error"] == {"code": -32601, "message": "Method not found"}
    assert (await talk.ask("shutdown"))["result"] is None
    assert talk.runner.session.ended


async def test_both_spellings_of_initialized_are_silent() -> None:
    talk = Talk()
    for method in ("initialized", "notifications/initialized", "notifications/unheard-of"):
        assert talk.send({"jsonrpc": "2.0", "method": method}) is False
    assert talk.frames == []


async def test_batches_exist_only_where_the_era_has_them() -> None:
    batch: list[Any] = [
        {"jsonrpc": "2.0", "id": 1, "method": "ping"},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "count"}},
        7,
    ]
    for version in ERAS:
        talk = Talk()
        await talk.initialize(version)
        talk.frames.clear()
        talk.send(batch)
        if version == "2025-03-26":
            answers = await talk.until(lambda frame: isinstance(frame, list))
            assert [answer["id"] for answer in answers] == [1, 2, None]
        else:
            assert talk.frames[0]["error"]["code"] == -32600


async def test_a_batch_of_notifications_is_not_answered() -> None:
    talk = Talk()
    await talk.initialize("2025-03-26")
    talk.frames.clear()
    assert talk.send([{"jsonrpc": "2.0", "method": "notifications/initialized"}]) is False
    assert talk.frames == []


async def test_an_id_still_in_use_is_refused() -> None:
    talk = Talk()
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "sleep"}}
    talk.send(call)
    talk.send(call)
    assert talk.frames[0]["error"]["code"] == -32600
    await talk.runner.close(0)


async def test_more_calls_than_fit_are_refused() -> None:
    talk = Talk()
    for number in range(IN_FLIGHT + 1):
        talk.send({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": "sleep"}})
    assert talk.runner.session.is_full
    assert talk.frames[0]["id"] == IN_FLIGHT
    assert talk.frames[0]["error"]["code"] == -32000
    await talk.runner.close(0)
