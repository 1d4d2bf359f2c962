"""MCP over HTTP: the stateless era, sessions of the handshake eras, direct methods."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.wire.http_client import BOTH, META, STATELESS, Running, request, running


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    with running() as server:
        yield server


# -- the stateless era ------------------------------------------------------------------------------------------------


def test_a_stateless_call_is_answered_with_json(server: Running) -> None:
    answer = server.call("tools/call", {"name": "echo", "arguments": {"text": "hi"}})
    assert (answer.status, answer.headers["content-type"]) == (200, "application/json")
    assert answer.json()["result"]["structuredContent"] == {"text": "hi", "times": 1}
    assert answer.json()["result"]["resultType"] == "complete"
    assert "mcp-session-id" not in answer.headers


def test_discovery_needs_no_handshake(server: Running) -> None:
    assert STATELESS in server.call("server/discover").json()["result"]["supportedVersions"]


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({"MCP_Protocol_Version": "2025-06-18"}, -32020),
        ({"Mcp_Method": "tools/list"}, -32020),
        ({"Mcp_Method": "TOOLS/CALL"}, -32020),
        ({"Mcp_Name": "other"}, -32020),
        ({"Mcp_Name": "=?base64?!!?="}, -32020),
    ],
)
def test_headers_that_disagree_with_the_body_are_refused(server: Running, headers: dict[str, str], code: int) -> None:
    answer = server.call("tools/call", {"name": "echo", "arguments": {"text": "hi"}}, 7, **headers)
    assert (answer.status, answer.json()["error"]["code"], answer.json()["id"]) == (400, code, 7)


@pytest.mark.parametrize("missing", ["MCP-Protocol-Version", "Mcp-Method", "Mcp-Name"])
def test_headers_that_are_missing_are_refused(server: Running, missing: str) -> None:
    headers = {"MCP-Protocol-Version": STATELESS, "Mcp-Method": "tools/call", "Mcp-Name": "echo"}
    del headers[missing]
    message = request("tools/call", {"name": "echo", "arguments": {"text": "a"}, "_meta": META})
    answer = server.post(message, **{name.replace("-", "_"): value for name, value in headers.items()})
    assert (answer.status, answer.json()["error"]["code"]) == (400, -32020)


def test_a_name_may_come_wrapped_in_base64(server: Running) -> None:
    params = {"name": "echo", "arguments": {"text": "hi"}}
    assert server.call("tools/call", params, Mcp_Name="=?base64?ZWNobw==?=").status == 200


def test_white_space_around_a_header_is_no_part_of_it(server: Running) -> None:
    assert server.call("tools/list", Mcp_Method="  tools/list\t ").status == 200


def test_an_unknown_version_is_named_after_the_headers_are_checked(server: Running) -> None:
    meta = {**META, "io.modelcontextprotocol/protocolVersion": "2099-01-01"}
    headers = {"MCP_Protocol_Version": "2099-01-01", "Mcp_Method": "tools/list"}
    answer = server.post(request("tools/list", {"_meta": meta}), **headers)
    assert (answer.status, answer.json()["error"]["code"]) == (400, -32022)
    assert answer.json()["error"]["data"]["supported"] == [STATELESS]
    answer = server.post(request("tools/list", {"_meta": meta}), MCP_Protocol_Version="2099-01-01")
    assert answer.json()["error"]["code"] == -32020


def test_a_request_without_its_meta_is_refused(server: Running) -> None:
    answer = server.post(request("tools/list"), MCP_Protocol_Version=STATELESS, Mcp_Method="tools/list")
    assert (answer.status, answer.json()["error"]["code"]) == (400, -32602)


@pytest.mark.parametrize("method", ["ping", "resources/subscribe", "no/such", "list_things"])
def test_a_method_this_era_does_not_have_is_404(server: Running, method: str) -> None:
    answer = server.call(method)
    assert (answer.status, answer.json()["error"]["code"]) == (404, -32601)


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "PATCH", "OPTIONS"])
def test_only_post_is_answered_without_a_session(server: Running, method: str) -> None:
    answer = server.ask(method, "/mcp", MCP_Protocol_Version=STATELESS, Accept="text/event-stream")
    assert answer.status == 405
    assert "POST" in answer.headers["allow"]
    assert not [name for name in answer.headers if name.startswith("access-control")]


def test_progress_upgrades_the_answer_to_a_stream(server: Running) -> None:
    connection = server.connect()
    meta = {**META, "progressToken": "p"}
    message = json.dumps(request("tools/call", {"name": "wait", "arguments": {"steps": 3}, "_meta": meta})).encode()
    headers = {"MCP-Protocol-Version": STATELESS, "Mcp-Method": "tools/call", "Mcp-Name": "wait", "Accept": BOTH}
    connection.ask("POST", "/mcp", message, {**headers, "Content-Type": "application/json"})
    status, answered = connection.head()
    assert (status, answered["content-type"], answered["x-accel-buffering"]) == (200, "text/event-stream", "no")
    *notes, result = connection.events()
    assert [note["params"]["progress"] for note in notes] == [1, 2, 3]
    assert result["result"]["resultType"] == "complete"
    connection.close()


def test_a_client_without_streams_gets_the_answer_alone(server: Running) -> None:
    params = {"name": "wait", "_meta": {**META, "progressToken": 1}}
    answer = server.call("tools/call", params, Accept="application/json")
    assert (answer.status, answer.headers["content-type"]) == (200, "application/json")


def test_a_posted_notification_is_accepted(server: Running) -> None:
    note = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
    assert server.post(note, MCP_Protocol_Version=STATELESS).status == 202


def test_batches_do_not_exist_in_the_stateless_era(server: Running) -> None:
    answer = server.post([request("tools/list", {"_meta": META})], MCP_Protocol_Version=STATELESS)
    assert (answer.status, answer.json()["error"]["code"]) == (400, -32600)


# -- sessions ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
def test_a_session_speaks_the_version_it_agreed_on(server: Running, version: str) -> None:
    session = server.initialize(version)
    assert len(session) >= 32
    note = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    assert server.in_session(session, note).status == 202
    params = {"name": "fail"}
    answer = server.in_session(session, request("tools/call", params), MCP_Protocol_Version=version).json()
    assert ("error" in answer) == (version < "2025-06-18")


def test_an_unknown_session_is_404(server: Running) -> None:
    assert server.in_session("nosuch", request("tools/list")).status == 404
    assert server.ask("GET", "/mcp", Mcp_Session_Id="nosuch", Accept="text/event-stream").status == 404
    assert server.ask("DELETE", "/mcp", Mcp_Session_Id="nosuch").status == 404


def test_an_ended_session_is_404(server: Running) -> None:
    session = server.initialize()
    assert server.ask("DELETE", "/mcp", Mcp_Session_Id=session).status == 204
    assert server.in_session(session, request("tools/list")).status == 404


def test_shutdown_ends_the_session_alone(server: Running) -> None:
    session, other = server.initialize(), server.initialize()
    assert server.in_session(session, request("shutdown")).json()["result"] is None
    assert server.in_session(session, request("tools/list")).status == 404
    assert server.in_session(other, request("tools/list")).status == 200


def test_a_protocol_version_nobody_speaks_is_400(server: Running) -> None:
    session = server.initialize()
    assert server.in_session(session, request("tools/list"), MCP_Protocol_Version="1999-01-01").status == 400


@pytest.mark.parametrize("accept", ["application/json", "text/event-stream", "text/html", "application/json;q=0, */*"])
def test_a_session_needs_a_client_that_takes_both_types(server: Running, accept: str) -> None:
    session = server.initialize()
    assert server.in_session(session, request("tools/list"), Accept=accept).status == 406


@pytest.mark.parametrize("accept", ["*/*", "application/*, text/*", "text/event-stream,application/json;q=0.9"])
def test_wildcards_accept_both_types(server: Running, accept: str) -> None:
    session = server.initialize()
    assert server.in_session(session, request("tools/list"), Accept=accept).status == 200


def test_batches_live_in_one_version_only(server: Running) -> None:
    batch = [request("ping", request_id=1), request("tools/list", request_id=2)]
    answer = server.in_session(server.initialize("2025-03-26"), batch)
    assert [one["id"] for one in answer.json()] == [1, 2]
    answer = server.in_session(server.initialize("2025-06-18"), batch)
    assert answer.json()["error"]["code"] == -32600


def test_without_a_handshake_the_first_version_is_spoken(server: Running) -> None:
    answer = server.post(request("tools/call", {"name": "nosuch"}))
    assert (answer.status, answer.json()["error"]["code"]) == (200, -32601)
    tools = server.post(request("tools/list"), MCP_Protocol_Version="2025-06-18").json()["result"]["tools"]
    assert "outputSchema" in tools[0]


def test_a_subscription_needs_a_session(server: Running) -> None:
    assert server.post(request("resources/subscribe", {"uri": "echo://note"})).status == 400


def test_the_stream_of_a_session_carries_updates(server: Running) -> None:
    session = server.initialize()
    assert server.in_session(session, request("resources/subscribe", {"uri": "echo://note"})).status == 200
    connection = server.connect()
    connection.ask("GET", "/mcp", headers={"Mcp-Session-Id": session, "Accept": "text/event-stream"})
    assert connection.head()[0] == 200
    second = server.ask("GET", "/mcp", Mcp_Session_Id=session, Accept="text/event-stream")
    assert second.status == 409
    server.post(request("note", {"text": "new"}))
    heard = next(connection.events())
    assert (heard["method"], heard["params"]) == ("notifications/resources/updated", {"uri": "echo://note"})
    connection.close()


def test_what_happened_before_the_stream_opened_is_heard(server: Running) -> None:
    session = server.initialize()
    server.in_session(session, request("resources/subscribe", {"uri": "echo://note"}))
    server.post(request("note", {"text": "early"}))
    connection = server.connect()
    connection.ask("GET", "/mcp", headers={"Mcp-Session-Id": session, "Accept": "text/event-stream"})
    connection.head()
    assert next(connection.events())["method"] == "notifications/resources/updated"
    connection.close()


def test_a_call_cancelled_in_its_session_ends_its_request(server: Running) -> None:
    session = server.initialize()
    connection = server.connect()
    body = json.dumps(request("tools/call", {"name": "sleep"}, 9)).encode()
    headers = {"Mcp-Session-Id": session, "Accept": BOTH, "Content-Type": "application/json"}
    connection.ask("POST", "/mcp", body, headers)
    note = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 9}}
    while server.endpoint.calls == 0:
        pass
    assert server.in_session(session, note).status == 202
    assert connection.answer().body == b""
    connection.close()


def test_of_a_batch_in_a_session_what_was_not_given_up_is_answered(server: Running) -> None:
    session = server.initialize("2025-03-26")
    note = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 9}}
    sleep, count = request("tools/call", {"name": "sleep"}, 9), request("tools/call", {"name": "count"}, 10)
    answer = server.in_session(session, [sleep, count, note])
    assert (answer.status, [one["id"] for one in answer.json()]) == (200, [10])
    assert server.in_session(session, [sleep, note]).status == 202


# -- direct methods ---------------------------------------------------------------------------------------------------


def test_a_direct_call_needs_no_header_but_its_type(server: Running) -> None:
    answer = server.post(request("echo", {"text": "hi"}))
    assert (answer.status, answer.headers["content-type"]) == (200, "application/json")
    assert answer.json() == {"jsonrpc": "2.0", "id": 1, "result": {"text": "hi", "times": 1}}


def test_a_direct_call_answers_json_whatever_is_accepted(server: Running) -> None:
    answer = server.post(request("wait"), Accept="text/event-stream")
    assert (answer.status, answer.headers["content-type"]) == (200, "application/json")


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "application/json; charset=latin1"]
)
def test_another_type_of_request_is_415(server: Running, kind: str) -> None:
    answer = server.post(request("echo", {"text": "hi"}), Content_Type=kind)
    assert (answer.status, answer.json()["error"]["code"]) == (415, -32600)


def test_json_may_name_its_charset(server: Running) -> None:
    assert server.post(request("count"), Content_Type='application/json; charset="UTF-8"').status == 200


@pytest.mark.parametrize(
    ("message", "code"),
    [
        (request("no_such_method"), -32601),
        (request("echo", {"text": 1}), -32602),
        (request("fail"), -32602),
        (b"{not json", -32700),
        (b'{"jsonrpc":"1.0","id":1,"method":"echo"}', -32600),
        ([], -32600),
    ],
)
def test_errors_of_direct_calls_come_with_200(server: Running, message: Any, code: int) -> None:
    answer = server.post(message)
    assert (answer.status, answer.json()["error"]["code"]) == (200, code)


def test_a_batch_of_direct_calls_is_answered_in_order(server: Running) -> None:
    batch = [request("wait", request_id="a"), request("nosuch", request_id=2), 5, request("echo", {"text": "x"}, 3)]
    answers = server.post(batch).json()
    assert [one["id"] for one in answers] == ["a", 2, None, 3]
    assert [one.get("error", {}).get("code") for one in answers] == [None, -32601, -32600, None]


def test_a_batch_of_notifications_has_no_answer(server: Running) -> None:
    answer = server.post([{"jsonrpc": "2.0", "method": "count"}, {"jsonrpc": "2.0", "method": "count"}])
    assert (answer.status, answer.body) == (202, b"")


def test_a_batch_of_a_hundred_and_one_is_refused(server: Running) -> None:
    answer = server.post([request("count", request_id=n) for n in range(101)])
    assert answer.json()["error"]["code"] == -32600
    assert len(server.post([request("echo", {"text": "x"}, n) for n in range(100)]).json()) == 100
