"""Progress and log messages: who hears them, and in which shape."""

from __future__ import annotations

import pytest

from tests.wire.talk import Talk

pytestmark = pytest.mark.anyio


async def test_progress_carries_the_token_and_its_message_where_the_era_has_one() -> None:
    for version, has_message in (("2024-11-05", False), ("2025-03-26", True)):
        talk = Talk()
        await talk.initialize(version)
        await talk.call("wait", {"steps": 2}, _meta={"progressToken": "t"})
        notes = [frame["params"] for frame in talk.frames if frame.get("method") == "notifications/progress"]
        assert [(note["progressToken"], note["progress"], note["total"]) for note in notes] == [
            ("t", 1, 2),
            ("t", 2, 2),
        ]
        assert all(("message" in note) == has_message for note in notes)


async def test_log_messages_go_only_to_a_client_that_asked() -> None:
    talk = Talk()
    await talk.call("wait")
    assert not [frame for frame in talk.frames if "method" in frame]
    await talk.ask("logging/setLevel", {"level": "warning"})
    await talk.call("wait")
    assert not [frame for frame in talk.frames if "method" in frame]
    await talk.ask("logging/setLevel", {"level": "debug"})
    await talk.call("wait", {"steps": 1})
    notes = [frame["params"] for frame in talk.frames if frame.get("method") == "notifications/message"]
    assert notes == [{"level": "info", "data": {"step": 1}}]
    assert (await talk.ask("logging/setLevel", {"level": "shout"}))["error"]["code"] == -32602


async def test_a_stateless_log_level_counts_for_its_request_alone() -> None:
    talk = Talk()
    await talk.stateless("tools/call", {"name": "wait"}, **{"io.modelcontextprotocol/logLevel": "info"})
    assert len([frame for frame in talk.frames if frame.get("method") == "notifications/message"]) == 3
    talk.frames.clear()
    await talk.stateless("tools/call", {"name": "wait"})
    assert [frame for frame in talk.frames if "method" in frame] == []
