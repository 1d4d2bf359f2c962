"""Sessions over HTTP: what they agree on, how they end, what their stream carries."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from typing import ClassVar

import pytest

from postil.storage.ephemeral import MemoryEphemeralStore
from postil.wire.transports.http import sessions
from tests.surfaces.gateway.gateways import Named, gateway_of
from tests.wire.http_client import BOTH, Answer, Running, request, running


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    with running() as server:
        yield server


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


def test_a_subscription_needs_a_session(server: Running) -> None:
    assert server.post(request("resources/subscribe", {"uri": "echo://note"})).status == 400


def test_the_stream_of_a_session_carries_updates(server: Running) -> None:
    session = server.initialize()
    assert server.in_session(session, request("resources/subscribe", {"uri": "echo://note"})).status == 200
    connection = server.connect()
    connection.ask("GET", "/mcp", headers={"Mcp-Session-Id": session, "Accept": "text/event-stream"})
    assert connection.head()[0] == 200
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


def test_a_new_stream_replaces_a_dead_one_and_hears_what_that_did_not(server: Running) -> None:
    """A client whose network broke was refused with 409 until the server noticed."""
    session = server.initialize()
    server.in_session(session, request("resources/subscribe", {"uri": "echo://note"}))
    first, second = server.connect(), server.connect()
    for connection in (first, second):
        connection.ask("GET", "/mcp", headers={"Mcp-Session-Id": session, "Accept": "text/event-stream"})
        assert connection.head()[0] == 200
    server.post(request("note", {"text": "new"}))
    assert next(second.events())["method"] == "notifications/resources/updated"
    assert list(first.events()) == []  # it ended
    first.close()
    second.close()


def test_of_one_callers_sessions_an_idle_one_makes_room_and_busy_ones_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "MOST_OF_ONE", 2)
    with running(gateway_of(ways=[Named()])) as server:

        def begin(who: str) -> Answer:
            params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
            return server.post(request("initialize", params), Authorization=f"Bearer {who}", Accept=BOTH)

        def asks(who: str, session: str) -> int:
            return server.in_session(session, request("tools/list"), Authorization=f"Bearer {who}").status

        theirs = begin("bob").headers["mcp-session-id"]
        mine = [begin("ann").headers["mcp-session-id"] for _ in range(3)]
        assert [asks("ann", session) for session in mine] == [404, 200, 200]
        assert asks("bob", theirs) == 200, "others keep theirs"
        assert asks("bob", mine[2]) == 404, "nobody is in another's session"
        streams = [server.connect() for _ in range(2)]
        for stream, session in zip(streams, mine[1:], strict=True):
            stream.ask(
                "GET",
                "/mcp",
                headers={"Mcp-Session-Id": session, "Accept": "text/event-stream", "Authorization": "Bearer ann"},
            )
            assert stream.head()[0] == 200
        assert begin("ann").status == 503, "both have an open stream"
        for stream in streams:
            stream.close()


def test_a_session_goes_on_at_another_replica_for_its_own_caller_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "LOOK_EVERY", 0.0)  # nothing is believed for a while
    store = MemoryEphemeralStore()
    ways = [Named()]
    with running(gateway_of(ways=ways), shared=store) as here, running(gateway_of(ways=ways), shared=store) as there:
        session = here.initialize(Authorization="Bearer ann")

        def asks(server: Running, who: str) -> int:
            return server.in_session(session, request("tools/list"), Authorization=f"Bearer {who}").status

        assert [asks(there, "bob"), asks(there, "ann"), asks(here, "ann"), asks(there, "bob")] == [404, 200, 200, 404]
        assert here.ask("DELETE", "/mcp", Mcp_Session_Id=session, Authorization="Bearer ann").status == 204
        assert [asks(here, "ann"), asks(there, "ann")] == [404, 404]


def test_other_replicas_are_told_of_a_session_when_it_changed_and_of_nothing_twice() -> None:
    class Noting(MemoryEphemeralStore):
        told: ClassVar[list[bytes]] = []
        changed = threading.Event()

        async def keep(self, values: Mapping[str, bytes], seconds: float) -> bool:
            self.told.extend(values.values())
            if any(b"error" in value for value in values.values()):
                self.changed.set()
            return await super().keep(values, seconds)

    store = Noting()
    with running(shared=store) as server:
        session = server.initialize()
        assert server.in_session(session, {"jsonrpc": "2.0", "method": "notifications/initialized"}).status == 202
        for _ in range(5):
            assert server.in_session(session, request("tools/list")).status == 200
        assert server.in_session(session, request("logging/setLevel", {"level": "error"})).status == 200
        assert store.changed.wait(30)
    assert len(store.told) == len(set(store.told))
