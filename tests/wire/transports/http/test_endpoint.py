"""The endpoint: which era a request speaks, which status its answer has, single and in batches."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from postil.core.failure import StorageFailed
from postil.core.operation import writes
from tests.wire.http_client import BOTH, META, STATELESS, Running, request, running


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    with running() as server:
        yield server


def test_a_stateless_call_is_answered_with_json(server: Running) -> None:
    answer = server.call("tools/call", {"name": "echo", "arguments": {"text": "hi"}})
    assert (answer.status, answer.headers["content-type"]) == (200, "application/json")
    assert answer.json()["result"]["structuredContent"] == {"text": "hi", "times": 1}
    assert answer.json()["result"]["resultType"] == "complete"
    assert "mcp-session-id" not in answer.headers


def test_discovery_needs_no_handshake(server: Running) -> None:
    assert STATELESS in server.call("server/discover").json()["result"]["supportedVersions"]


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


def test_a_direct_call_needs_no_header_but_its_type(server: Running) -> None:
    answer = server.post(request("echo", {"text": "hi"}))
    assert (answer.status, answer.headers["content-type"]) == (200, "application/json")
    assert answer.json() == {"jsonrpc": "2.0", "id": 1, "result": {"text": "hi", "times": 1}}


def test_a_direct_call_answers_json_whatever_is_accepted(server: Running) -> None:
    answer = server.post(request("wait"), Accept="text/event-stream")
    assert (answer.status, answer.headers["content-type"]) == (200, "application/json")


@pytest.mark.parametrize(
    ("message", "code"),
    [
        (request("no_such_method"), -32601),
        (request("echo", {"text": [1]}), -32602),
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


class Away:
    """A part whose storage is away for a moment."""

    @writes("store")
    def store(self) -> str:
        """Store something"""
        raise StorageFailed("The storage is away", status=503)


def test_storage_that_is_away_is_503_for_a_single_call_and_each_items_own_error_in_a_batch() -> None:
    with running(gitlab=Away()) as server:
        for single in (server.post(request("store")), server.call("tools/call", {"name": "store"})):
            assert (single.status, single.headers["retry-after"]) == (503, "1")
            assert single.json()["error"]["data"]["status"] == 503
            assert single.json()["error"]["data"]["retry_after"] == 1
        batch = server.post([request("store", request_id=1), request("count", request_id=2)])
        assert (batch.status, batch.headers["retry-after"]) == (200, "1")
        assert [("error" in answer, "result" in answer) for answer in batch.json()] == [(True, False), (False, True)]
        assert batch.json()[0]["error"]["data"]["retry_after"] == 1


def test_a_full_or_ending_server_says_when_to_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("postil.wire.transports.http.endpoint.MOST_CALLS", 0)
    with running() as server:
        busy = server.post(request("count"))
        assert (busy.status, busy.headers["retry-after"]) == (503, "1")
        said = "The server is busy: try again in a second"
        assert busy.json()["error"]["data"] == {"status": 503, "message": said, "retry_after": 1}
        assert server.echo.count == 0


def test_streams_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("postil.wire.transports.http.endpoint.MOST_STREAMS", 0)
    with running() as server:
        assert server.call("subscriptions/listen", {"notifications": {}}).status == 503
        session = server.initialize()
        assert server.ask("GET", "/mcp", Accept=BOTH, Mcp_Session_Id=session).status == 503
