"""Streams over HTTP: listening, leaving, signs of life, and the graceful end of everything."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from tests.wire.http_client import BOTH, META, STATELESS, Connection, Running, process, request, running, until


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    with running(ping_every=0.2) as server:
        yield server


def stateless(connection: Connection, method: str, params: dict[str, object], request_id: object = 1) -> None:
    headers = {"MCP-Protocol-Version": STATELESS, "Mcp-Method": method, "Accept": BOTH}
    if "name" in params:
        headers["Mcp-Name"] = str(params["name"])
    body = json.dumps(request(method, {"_meta": META, **params}, request_id)).encode()
    connection.ask("POST", "/mcp", body, {**headers, "Content-Type": "application/json"})


def test_a_listener_is_acknowledged_first_and_then_hears_updates(server: Running) -> None:
    connection = server.connect()
    stateless(connection, "subscriptions/listen", {"notifications": {"resourceSubscriptions": ["echo://note"]}}, 5)
    assert connection.head()[0] == 200
    events = connection.events()
    acknowledged = next(events)
    assert acknowledged["method"] == "notifications/subscriptions/acknowledged"
    until(lambda: bool(server.echo.changed))
    server.post(request("note", {"text": "changed"}))
    update = next(events)
    assert update["method"] == "notifications/resources/updated"
    assert update["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"] == 5
    connection.close()


def test_a_listener_that_leaves_is_forgotten(server: Running) -> None:
    for _ in range(20):
        connection = server.connect()
        stateless(connection, "subscriptions/listen", {"notifications": {"resourceSubscriptions": ["echo://note"]}})
        next_head = connection.head()
        assert next_head[0] == 200
        connection.close()
    until(lambda: server.endpoint.streams == 0)
    until(lambda: not server.echo.changed)


def test_a_listener_must_accept_streams(server: Running) -> None:
    answer = server.call("subscriptions/listen", {"notifications": {}}, Accept="application/json")
    assert answer.status == 406


def test_a_quiet_stream_shows_signs_of_life(server: Running) -> None:
    connection = server.connect()
    stateless(connection, "tools/call", {"name": "sleep", "arguments": {"seconds": 1}})
    status, headers = connection.head()
    assert (status, headers["content-type"]) == (200, "text/event-stream")
    text = b"".join(connection.chunks())
    assert text.count(b": ping\n\n") >= 2
    assert b'"result"' in text.split(b"data: ")[1]
    connection.close()


def test_closing_the_request_cancels_the_call(server: Running) -> None:
    connection = server.connect()
    stateless(connection, "tools/call", {"name": "sleep"})
    until(lambda: server.endpoint.calls == 1)
    connection.close()
    until(lambda: server.endpoint.calls == 0)


def test_a_session_lives_on_when_the_request_is_closed(server: Running) -> None:
    session = server.initialize()
    connection = server.connect()
    body = json.dumps(request("tools/call", {"name": "sleep"}, 3)).encode()
    headers = {"Mcp-Session-Id": session, "Accept": BOTH, "Content-Type": "application/json"}
    connection.ask("POST", "/mcp", body, headers)
    until(lambda: server.endpoint.calls == 1)
    connection.close()
    until(lambda: server.endpoint.calls == 0)
    again = server.in_session(session, request("tools/call", {"name": "sleep"}, 3))
    assert again.json()["error"]["message"].endswith("still in use")  # the first call goes on
    assert server.ask("DELETE", "/mcp", Mcp_Session_Id=session).status == 204


def test_the_longest_idle_session_makes_room() -> None:
    with running(most=2) as server:
        first, second = server.initialize(), server.initialize()
        server.in_session(first, request("ping"))
        third = server.initialize()
        statuses = [server.in_session(one, request("ping")).status for one in (first, second, third)]
        assert statuses == [200, 404, 200]


def test_an_idle_session_ends() -> None:
    with running(idle=0.05) as server:
        session = server.initialize()
        until(lambda: len(server.endpoint.sessions) == 0)
        assert server.in_session(session, request("ping")).status == 404


# -- the end ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_ends_it_and_open_streams_get_their_result(number: int, status: int) -> None:
    with process() as (started, port):
        streams = [Connection(port) for _ in range(5)]
        heard: list[Iterator[dict[str, Any]]] = []
        for connection in streams:
            stateless(connection, "subscriptions/listen", {"notifications": {"toolsListChanged": True}}, "s")
            assert connection.head()[0] == 200
            heard.append(connection.events())
            next(heard[-1])
        begun = time.monotonic()
        os.kill(started.pid, number)
        for events in heard:
            last = list(events)[-1]
            assert last["id"] == "s"
            assert last["result"]["resultType"] == "complete"
        assert started.wait(5) == status
        assert time.monotonic() - begun < 5
        assert started.stderr
        assert started.stderr.read() == b""
        for connection in streams:
            connection.close()


def test_a_signal_gives_calls_in_flight_a_moment() -> None:
    with process() as (started, port), closing(Connection(port)) as short, closing(Connection(port)) as long:
        for connection, seconds in ((short, 0.5), (long, 60)):
            meta = {**META, "progressToken": "t"}
            stateless(connection, "tools/call", {"name": "sleep", "arguments": {"seconds": seconds}, "_meta": meta})
            assert connection.head()[0] == 200  # its first progress opened the stream: the call has begun
        begun = time.monotonic()
        os.kill(started.pid, signal.SIGTERM)
        assert "result" in next(event for event in short.events() if "id" in event)
        assert started.wait(6) == 143
        assert time.monotonic() - begun < 5
        assert started.stderr
        assert started.stderr.read() == b""
