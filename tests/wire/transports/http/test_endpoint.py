"""The endpoint: which era a request speaks, which status its answer has, single and in batches."""

from __future__ import annotations

import asyncio
import gc
import json
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest

from postil.core import call
from postil.core.call import LOCAL, Caller
from postil.core.failure import StorageFailed
from postil.core.operation import reads, writes
from postil.core.registry import Registry
from postil.core.resource import ResourceNotFound, resource
from postil.storage.ephemeral import MemoryEphemeralStore
from postil.wire.protocol import jsonrpc
from postil.wire.server import UNITED, Face, Hooks, Server
from postil.wire.transports.http.asked import Asked
from postil.wire.transports.http.endpoint import Endpoint
from postil.wire.transports.http.event_log import Budget, SessionLogs
from postil.wire.transports.http.sse import ReplyStream
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


def test_the_streams_of_one_caller_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("postil.wire.transports.http.endpoint.STREAMS_OF_ONE", 0)
    with running() as server:
        assert server.call("subscriptions/listen", {"notifications": {}}).status == 503
        session = server.initialize()
        assert server.ask("GET", "/mcp", Accept=BOTH, Mcp_Session_Id=session).status == 503
        assert server.post(request("count")).status == 200


def test_an_answer_that_was_sent_is_held_by_nothing() -> None:
    """Large answers must not wait for the collector of cycles, which comes once in a thousand calls."""
    with running() as server:
        gc.collect()
        gc.disable()
        try:
            for _ in range(10):
                server.post(request("count"))
            held = [one for one in gc.get_objects() if isinstance(one, ReplyStream)]
            assert len(held) < 5
        finally:
            gc.enable()


# ----- an endpoint without a connection ------------------------------------------------------------------------------


class Cellar:
    """Things that take a turn of the loop, in threads."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    @reads("cellar_fetch")
    def fetch(self) -> str:
        """Fetch a bottle, which may not arrive"""
        call.current().when_delivered(lambda: self.heard.append("confirmed"), lambda: self.heard.append("lost"))
        return "a bottle"

    @reads("cellar_climb")
    async def climb(self) -> str:
        """Say how far it is"""
        call.current().progress(1, 2, "half")
        await asyncio.sleep(0)
        return "down"

    @resource("cellar://{name}", name="Bottle")
    def read(self, name: str) -> str:
        """A bottle that is not there"""
        raise ResourceNotFound(f"There is no {name}")


class Exchange:
    """One request and what was sent for it."""

    def __init__(self, message: object, at_first: Callable[[bytes], Awaitable[None]] | None = None, **headers: str):
        self.message = jsonrpc.parse(json.dumps(message).encode())
        given = {"Accept": BOTH, "Content-Type": "application/json"} | headers
        self.headers = {name.lower().replace("_", "-").encode(): value.encode() for name, value in given.items()}
        self.sent: list[Any] = []
        self._at_first = at_first

    async def receive(self) -> Any:
        await asyncio.Event().wait()

    async def send(self, message: Any) -> None:
        self.sent.append(message)
        if self._at_first is not None and message.get("body"):
            at_first, self._at_first = self._at_first, None
            await at_first(message["body"])

    async def post(self, endpoint: Endpoint, principal: str = LOCAL) -> Any:
        """The answer as JSON; None where it was a stream."""
        asked = Asked(self.headers, Caller(principal, "test"), self.receive, self.send)
        await asyncio.wait_for(endpoint.post(asked, self.message), 30)
        body = b"".join(each.get("body", b"") for each in self.sent)
        return json.loads(body) if self.header(b"content-type") == b"application/json" else None

    @property
    def status(self) -> int:
        return self.sent[0]["status"]

    def header(self, name: bytes) -> bytes:
        return dict(self.sent[0]["headers"]).get(name, b"")


def cellar(**hooks: Any) -> tuple[Endpoint, Cellar]:
    part = Cellar()
    return Endpoint(Server(Registry.of([("cellar", part)]), Face("cellar", "1", UNITED), hooks=Hooks(**hooks))), part


async def open_session(endpoint: Endpoint) -> str:
    begun = Exchange(request("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}}))
    await begun.post(endpoint)
    return begun.header(b"mcp-session-id").decode()


def climbing(**params: Any) -> dict[str, Any]:
    return request("tools/call", {"name": "cellar_climb", "_meta": {"progressToken": 1, **params}}, 7)


@pytest.mark.anyio
async def test_a_failure_that_takes_its_time_has_the_status_of_its_code() -> None:
    endpoint, _ = cellar()
    named: dict[str, Any] = {
        "MCP_Protocol_Version": STATELESS,
        "Mcp_Method": "resources/read",
        "Mcp_Name": "cellar://old",
    }
    exchange = Exchange(request("resources/read", {"uri": "cellar://old", "_meta": META}), **named)
    assert (await exchange.post(endpoint))["error"]["message"] == "There is no old"
    assert exchange.status == 400
    in_session = Exchange(
        request("resources/read", {"uri": "cellar://old"}), Mcp_Session_Id=await open_session(endpoint)
    )
    assert "error" in await in_session.post(endpoint)
    assert in_session.status == 200


@pytest.mark.anyio
async def test_direct_methods_are_never_answered_by_a_stream() -> None:
    endpoint, _ = cellar()
    item = request("cellar_climb", {"_meta": {"progressToken": 1}}, 7)
    assert (await Exchange(item).post(endpoint))["id"] == 7
    assert [answer["id"] for answer in await Exchange([item]).post(endpoint)] == [7]


@pytest.mark.anyio
async def test_in_a_session_an_answer_is_confirmed_by_the_next_request() -> None:
    endpoint, part = cellar()
    session = await open_session(endpoint)
    await Exchange(request("tools/call", {"name": "cellar_fetch"}), Mcp_Session_Id=session).post(endpoint)
    assert part.heard == []
    await Exchange(request("ping"), Mcp_Session_Id=session).post(endpoint)
    async with asyncio.timeout(30):
        while part.heard != ["confirmed"]:  # noqa: ASYNC110 - it is told in a thread
            await asyncio.sleep(0.001)


@pytest.mark.anyio
async def test_without_a_session_an_answer_is_confirmed_when_it_was_sent() -> None:
    endpoint, part = cellar()
    await Exchange(request("tools/call", {"name": "cellar_fetch"})).post(endpoint)
    assert part.heard == ["confirmed"]


@pytest.mark.anyio
async def test_a_session_is_in_use_while_its_answer_is_sent() -> None:
    endpoint, _ = cellar()
    session = await open_session(endpoint)
    found = await endpoint.sessions.find(session, Caller(LOCAL, "test"))
    assert found is not None
    idle: list[bool] = []

    async def look(_: bytes) -> None:
        idle.append(found.is_idle)

    await Exchange(request("ping"), look, Mcp_Session_Id=session).post(endpoint)
    assert [*idle, found.is_idle] == [False, True]


@pytest.mark.anyio
async def test_another_replica_knows_a_stream_before_its_client_does() -> None:
    store = MemoryEphemeralStore()
    endpoint, _ = cellar(shared=store)
    session = await open_session(endpoint)
    found: list[object] = []

    async def look_elsewhere(first: bytes) -> None:
        event_id = first.split(b"\n")[0].removeprefix(b"id: ").decode()
        found.append(await SessionLogs(session, Budget(), store).find(event_id))

    await Exchange(climbing(), look_elsewhere, Mcp_Session_Id=session).post(endpoint)
    assert found
    assert found[0] is not None


@pytest.mark.anyio
async def test_names_of_tools_that_do_not_exist_are_not_remembered() -> None:
    endpoint, _ = cellar()
    for name in ("nosuch", "cellar_fetch"):
        named: dict[str, Any] = {"MCP_Protocol_Version": STATELESS, "Mcp_Method": "tools/call", "Mcp_Name": name}
        await Exchange(request("tools/call", {"name": name, "_meta": META}), **named).post(endpoint)
    assert {*vars(endpoint)["_mirrored"]} == {"cellar_fetch"}


@pytest.mark.anyio
async def test_what_a_stream_said_is_whole_and_its_calls_are_counted() -> None:
    endpoint, _ = cellar()
    counted: list[tuple[int, int]] = []

    async def look(_: bytes) -> None:
        counted.append((endpoint.calls, endpoint.streams))

    named: dict[str, Any] = {"MCP_Protocol_Version": STATELESS, "Mcp_Method": "tools/call", "Mcp_Name": "cellar_climb"}
    exchange = Exchange(climbing(**META), look, **named)
    assert await exchange.post(endpoint) is None
    told = b"".join(each.get("body", b"") for each in exchange.sent)
    assert told.count(b"data: ") == 2
    assert b'"progress":1' in told
    assert exchange.sent[-1]["more_body"] is False
    assert counted == [(1, 0)]
    assert (endpoint.calls, endpoint.streams) == (0, 0)


@pytest.mark.anyio
async def test_a_stream_that_has_ended_leaves_nothing_running(monkeypatch: pytest.MonkeyPatch) -> None:
    part = Cellar()
    endpoint = Endpoint(Server(Registry.of([("cellar", part)]), Face("cellar", "1", UNITED)), ping_every=0.001)
    woken: list[object] = []
    wake = ReplyStream.wake

    def count(stream: ReplyStream) -> None:
        woken.append(stream)
        wake(stream)

    monkeypatch.setattr(ReplyStream, "wake", count)
    before = asyncio.all_tasks()
    named: dict[str, Any] = {"MCP_Protocol_Version": STATELESS, "Mcp_Method": "tools/call", "Mcp_Name": "cellar_climb"}
    await Exchange(climbing(**META), **named).post(endpoint)
    assert woken
    for _ in range(5):
        await asyncio.sleep(0)
    assert asyncio.all_tasks() == before
    woken.clear()
    await asyncio.sleep(0.02)
    assert woken == [], "no sign of life is due any more"
