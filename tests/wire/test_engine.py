"""The engine, era by era: handshake, tools, failures, cancellation, batches, subscriptions."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from postil.core import call
from postil.core.operation import Mark
from postil.core.registry import Offer, Registry
from postil.wire.protocol.session import IN_FLIGHT
from postil.wire.runtime.write_order import WriteOrder
from postil.wire.server import Face, Server
from tests.core.echo import Echo
from tests.wire.talk import META, Talk

pytestmark = pytest.mark.anyio

ERAS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")


@pytest.mark.parametrize("version", ERAS)
async def test_a_known_version_is_answered_with_itself(version: str) -> None:
    assert (await Talk().initialize(version))["protocolVersion"] == version


@pytest.mark.parametrize(
    ("asked", "answered"),
    [("2023-01-01", "2025-11-25"), ("", "2025-11-25"), (None, "2025-11-25"), ("1.0.0", "1.0.0"), (2, "2025-11-25")],
)
async def test_an_unknown_version_is_answered_with_the_newest(asked: object, answered: str) -> None:
    assert (await Talk().initialize(asked))["protocolVersion"] == answered


async def test_a_contract_face_speaks_the_first_era_to_everyone() -> None:
    face = Face("old", "1.0.0", {"tools": {}}, contract=True)
    talk = Talk(Server(Registry.of([("echo", Echo())]), face))
    assert (await talk.initialize("2025-11-25"))["protocolVersion"] == "2024-11-05"
    assert (await talk.ask("resources/list"))["error"]["code"] == -32601
    assert (await talk.ask("prompts/list"))["error"]["code"] == -32601
    assert (await talk.ask("logging/setLevel", {"level": "info"}))["result"] == {}


async def test_a_request_before_any_handshake_is_served_in_first_era_shapes() -> None:
    answer = await Talk().call("echo", {"text": "a"})
    assert answer["result"] == {"content": [{"type": "text", "text": '{"text":"a","times":1}'}], "isError": False}


async def test_structured_content_comes_with_the_eras_that_have_it() -> None:
    for version in ERAS:
        talk = Talk()
        await talk.initialize(version)
        result = (await talk.call("echo", {"text": "a"}))["result"]
        assert ("structuredContent" in result) == (version >= "2025-06-18")
        (tool,) = [t for t in (await talk.ask("tools/list"))["result"]["tools"] if t["name"] == "echo"]
        assert ("outputSchema" in tool) == (version >= "2025-06-18")
        assert ("annotations" in tool) == (version >= "2025-03-26")


@pytest.mark.parametrize("version", ERAS)
async def test_a_failure_is_an_error_or_a_result_as_the_era_wants(version: str) -> None:
    talk = Talk()
    await talk.initialize(version)
    error = {"code": -32602, "message": "No cat", "data": {"what": "cat", "suggestion": "Look elsewhere"}}
    answer = await talk.call("fail", {"what": "cat"})
    if version >= "2025-06-18":
        assert answer["result"] == {
            "content": [{"type": "text", "text": "No cat\nLook elsewhere"}],
            "structuredContent": {"error": error},
            "isError": True,
        }
    else:
        assert answer["error"] == error


@pytest.mark.parametrize("version", ERAS)
async def test_faulty_arguments_name_their_path(version: str) -> None:
    talk = Talk()
    await talk.initialize(version)
    answer = await talk.call("echo", {"text": "a", "times": 9})
    error = answer["result"]["structuredContent"]["error"] if "result" in answer else answer["error"]
    assert (error["code"], error["data"]["path"]) == (-32602, "times")


async def test_an_unknown_tool_has_the_code_of_its_era() -> None:
    for version, code in (("2024-11-05", -32601), ("2025-03-26", -32602), ("2025-11-25", -32602)):
        talk = Talk()
        await talk.initialize(version)
        assert (await talk.call("nope"))["error"]["code"] == code


async def test_a_bug_is_answered_in_general_words_and_logged_in_full(capsys: pytest.CaptureFixture[str]) -> None:
    answer = await Talk().call("break")
    assert answer["error"] == {"code": -32603, "message": "Internal error"}
    assert "secret detail" in capsys.readouterr().err


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


async def test_a_cancelled_request_is_never_answered() -> None:
    talk = Talk()
    talk.send({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "sleep"}})
    talk.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
    await talk.ask("ping")
    await talk.eventually(lambda: not talk.runner.running)
    assert [frame["id"] for frame in talk.frames] == [1000]


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


async def test_a_subscription_hears_of_changes_until_it_ends() -> None:
    talk = Talk()
    assert (await talk.ask("resources/subscribe", {"uri": "echo://note"}))["result"] == {}
    await talk.call("note", {"text": "second"})
    note = await talk.until(lambda frame: frame.get("method") == "notifications/resources/updated")
    assert note["params"] == {"uri": "echo://note"}
    await talk.ask("resources/unsubscribe", {"uri": "echo://note"})
    await talk.eventually(lambda: not talk.part.changed)
    talk.frames.clear()
    await talk.call("note", {"text": "third"})
    assert [frame for frame in talk.frames if "method" in frame] == []


async def test_an_unknown_resource_has_the_code_of_its_era() -> None:
    talk = Talk()
    for method in ("resources/read", "resources/subscribe"):
        answer = await talk.ask(method, {"uri": "echo://nothing"})
        assert answer["error"] == {"code": -32002, "message": "Resource not found", "data": {"uri": "echo://nothing"}}
    assert (await talk.stateless("resources/read", {"uri": "echo://nothing"}))["error"]["code"] == -32602


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


def sleeping(number: int) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": "sleep"}}


def giving_up(number: int) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}}


@pytest.mark.parametrize("inside", [True, False])
async def test_of_a_batch_what_was_not_given_up_is_answered(inside: bool) -> None:
    talk = Talk()
    await talk.initialize("2025-03-26")
    quick = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "count"}}
    talk.send([sleeping(1), quick, sleeping(3), *([giving_up(1), giving_up(3)] if inside else [])])
    if not inside:
        await talk.eventually(lambda: set(talk.runner.running) == {1, 3})
        talk.send(giving_up(1))
        talk.send(giving_up(3))
    answers = await talk.until(lambda frame: isinstance(frame, list))
    assert [answer["id"] for answer in answers] == [2]


async def test_a_batch_that_was_given_up_whole_is_not_answered() -> None:
    talk = Talk()
    await talk.initialize("2025-03-26")
    talk.frames.clear()
    talk.send([sleeping(1), sleeping(2), giving_up(2), giving_up(1)])
    await talk.ask("ping")
    await talk.eventually(lambda: not talk.runner.running)
    assert [frame["id"] for frame in talk.frames] == [1000]


async def test_a_batch_of_notifications_is_not_answered() -> None:
    talk = Talk()
    await talk.initialize("2025-03-26")
    talk.frames.clear()
    assert talk.send([{"jsonrpc": "2.0", "method": "notifications/initialized"}]) is False
    assert talk.frames == []


async def test_direct_methods_answer_the_plain_result_single_and_in_order() -> None:
    talk = Talk(direct=True)
    assert (await talk.ask("count", {"by": 2}))["result"] == {"counted": 2}
    assert (await talk.ask("nope"))["error"]["code"] == -32601
    talk.send([
        {"jsonrpc": "2.0", "id": "a", "method": "wait", "params": {"steps": 3}},
        {"jsonrpc": "2.0", "id": "b", "method": "fail"},
        {"jsonrpc": "2.0", "id": "c", "method": "echo", "params": {"text": "x"}},
    ])  # fmt: skip
    answers = await talk.until(lambda frame: isinstance(frame, list))
    assert [answer["id"] for answer in answers] == ["a", "b", "c"]
    assert answers[1]["error"]["data"]["suggestion"] == "Look elsewhere"


async def test_operations_are_no_methods_where_direct_calls_are_off() -> None:
    assert (await Talk().ask("count"))["error"]["code"] == -32601


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


async def test_prompts_are_listed_written_and_completed() -> None:
    talk = Talk()
    await talk.initialize()
    (listed,) = (await talk.ask("prompts/list"))["result"]["prompts"]
    assert [argument["name"] for argument in listed["arguments"]] == ["name", "tone", "times"]
    written = await talk.ask("prompts/get", {"name": "greet", "arguments": {"name": "Ada", "times": "2"}})
    text = {"type": "text", "text": "Greet Ada, warm, 2 times"}
    assert written["result"] == {"messages": [{"role": "user", "content": text}]}
    for argument, expected in (
        ({"name": "tone", "value": "w"}, ["warm"]),
        ({"name": "name", "value": "a"}, ["Ada", "Alan"]),
    ):
        done = await talk.ask(
            "completion/complete", {"ref": {"type": "ref/prompt", "name": "greet"}, "argument": argument}
        )
        assert done["result"]["completion"] == {"values": expected, "total": len(expected), "hasMore": False}


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("prompts/get", {"name": "nope"}),
        ("prompts/get", {"name": "greet"}),
        ("prompts/get", {}),
        ("resources/read", {}),
        ("resources/subscribe", {"uri": 1}),
        ("tools/call", {}),
        ("tools/list", {"cursor": "!!"}),
        ("tools/list", {"cursor": 5}),
        ("completion/complete", {}),
        ("completion/complete", {"ref": {"type": "x"}, "argument": {"name": "a", "value": ""}}),
        ("logging/setLevel", {}),
    ],
)
async def test_bad_parameters_are_invalid_params(method: str, params: dict[str, Any]) -> None:
    assert (await Talk().ask(method, params))["error"]["code"] == -32602


async def test_lists_are_paged_by_cursor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("postil.wire.protocol.methods.PAGE", 3)
    talk, names, params = Talk(), list[str](), dict[str, Any]()
    while True:
        page = (await talk.ask("tools/list", params))["result"]
        names += [tool["name"] for tool in page["tools"]]
        if "nextCursor" not in page:
            break
        params = {"cursor": page["nextCursor"]}
    assert names == [entry.name for entry in talk.server.registry.tools]


async def test_hidden_tools_can_be_neither_listed_nor_called_by_any_way() -> None:
    registry = Registry.of([("echo", Echo())], Offer(read_only=True))
    talk = Talk(Server(registry, Face("echo", "1", {"tools": {}})), direct=True)
    assert "count" not in [tool["name"] for tool in (await talk.ask("tools/list"))["result"]["tools"]]
    assert "error" in await talk.call("count")
    assert "error" in await talk.ask("count")
    assert "error" in await talk.stateless("tools/call", {"name": "count"})


async def test_an_answer_is_confirmed_by_the_next_frame_and_lost_by_a_broken_end() -> None:
    talk, heard = Talk(), list[str]()

    def settling(name: str) -> None:
        call.current().when_delivered(lambda: heard.append(f"{name} confirmed"), lambda: heard.append(f"{name} lost"))

    talk.part.forgotten = settling
    await talk.call("forget", {"name": "first"})
    assert heard == []
    await talk.ask("ping")
    await talk.eventually(lambda: heard)
    await talk.call("forget", {"name": "second"})
    await talk.runner.report_delivery(reached=False)
    assert heard == ["first confirmed", "second lost"]


async def test_the_stateless_era_needs_no_handshake_and_says_what_its_results_are() -> None:
    talk = Talk()
    found = (await talk.stateless("server/discover"))["result"]
    assert found["supportedVersions"] == ["2026-07-28"]
    assert found["resultType"] == "complete"
    assert found["cacheScope"] == "private"
    assert found["_meta"]["io.modelcontextprotocol/serverInfo"] == {"name": "echo", "version": "1.0.0"}
    listed = (await talk.stateless("tools/list"))["result"]
    assert listed["ttlMs"] >= 0
    called = (await talk.stateless("tools/call", {"name": "echo", "arguments": {"text": "a"}}))["result"]
    assert called["resultType"] == "complete"
    assert called["structuredContent"] == {"text": "a", "times": 1}


@pytest.mark.parametrize("method", ["ping", "initialize", "logging/setLevel", "resources/subscribe", "shutdown"])
async def test_what_the_stateless_era_removed_is_not_found_there(method: str) -> None:
    assert (await Talk().stateless(method))["error"]["code"] == -32601


async def test_a_stateless_request_must_carry_a_served_version_and_its_capabilities() -> None:
    talk = Talk()
    version, capabilities = META
    refused = await talk.stateless("tools/list", {}, **{version: "2030-01-01"})
    assert refused["error"]["code"] == -32022
    assert refused["error"]["data"] == {"supported": ["2026-07-28"], "requested": "2030-01-01"}
    assert (await talk.stateless("tools/list", {}, **{version: 5}))["error"]["code"] == -32602
    assert (await talk.stateless("tools/list", {}, **{capabilities: None}))["error"]["code"] == -32602


async def test_a_stateless_log_level_counts_for_its_request_alone() -> None:
    talk = Talk()
    await talk.stateless("tools/call", {"name": "wait"}, **{"io.modelcontextprotocol/logLevel": "info"})
    assert len([frame for frame in talk.frames if frame.get("method") == "notifications/message"]) == 3
    talk.frames.clear()
    await talk.stateless("tools/call", {"name": "wait"})
    assert [frame for frame in talk.frames if "method" in frame] == []


async def test_a_listen_stream_acknowledges_first_tells_changes_and_ends_gracefully() -> None:
    talk = Talk()
    wanted = {"resourceSubscriptions": ["echo://note", "echo://nothing"], "toolsListChanged": True}
    params = {"notifications": wanted, "_meta": META}
    talk.send({"jsonrpc": "2.0", "id": "s", "method": "subscriptions/listen", "params": params})
    acknowledged = await talk.until(lambda frame: "method" in frame)
    assert acknowledged["method"] == "notifications/subscriptions/acknowledged"
    assert acknowledged["params"]["notifications"] == {
        "toolsListChanged": True,
        "resourceSubscriptions": ["echo://note", "echo://nothing"],
    }
    stamp = {"io.modelcontextprotocol/subscriptionId": "s"}
    assert acknowledged["params"]["_meta"] == stamp
    await talk.eventually(lambda: talk.part.changed)
    await talk.stateless("tools/call", {"name": "note", "arguments": {"text": "new"}})
    updated = await talk.until(lambda frame: frame.get("method") == "notifications/resources/updated")
    assert updated["params"] == {"uri": "echo://note", "_meta": stamp}
    talk.server.registry.list_changed("tools")
    changed = await talk.until(lambda frame: frame.get("method") == "notifications/tools/list_changed")
    assert changed["params"] == {"_meta": stamp}
    talk.server.registry.list_changed("prompts")
    await talk.runner.close(1)
    ended = await talk.until(lambda frame: frame.get("id") == "s")
    assert ended["result"]["resultType"] == "complete"
    assert ended["result"]["_meta"]["io.modelcontextprotocol/subscriptionId"] == "s"
    assert "notifications/prompts/list_changed" not in [frame.get("method") for frame in talk.frames]


async def test_a_handshake_client_hears_that_a_list_changed_where_that_was_declared() -> None:
    talk = Talk()
    await talk.initialize()
    talk.server.registry.list_changed("tools")
    talk.server.registry.list_changed("prompts")
    await talk.until(lambda frame: frame.get("method") == "notifications/tools/list_changed")
    await talk.ask("ping")
    assert "notifications/prompts/list_changed" not in [frame.get("method") for frame in talk.frames]


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
