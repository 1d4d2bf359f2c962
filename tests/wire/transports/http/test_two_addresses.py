"""The transport of 2024-11-05: a stream that names where to post, and carries every answer."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from mcp.client.session import ClientSession
from mcp.client.sse import sse_client

from tests.surfaces.gateway.gateways import Named, gateway_of
from tests.wire.http_client import Connection, Running, request, running


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    with running(gateway_of(ways=[Named()]), two_addresses=True) as server:
        yield server


@contextmanager
def stream(server: Running, who: str = "ann") -> Generator[tuple[Connection, Iterator[dict[str, Any]], str]]:
    connection = server.connect()
    headers = {"Accept": "text/event-stream", "Authorization": f"Bearer {who}"}
    connection.ask("GET", "/sse", headers=headers)
    assert connection.head()[0] == 200
    chunks = connection.chunks()
    text = b""
    while b"\n\n" not in text:
        text += next(chunks)
    first, text = text.split(b"\n\n", 1)
    assert first.startswith(b"event: endpoint\ndata: /messages?sessionId=")

    def messages() -> Iterator[dict[str, Any]]:
        nonlocal text
        while True:
            while b"\n\n" in text:
                event, text = text.split(b"\n\n", 1)
                if b"data: " in event:
                    yield json.loads(event.partition(b"data: ")[2])
            text += next(chunks)

    try:
        yield connection, messages(), first.partition(b"data: ")[2].decode()
    finally:
        connection.close()


def post(server: Running, address: str, message: object, who: str = "ann") -> int:
    body = json.dumps(message).encode()
    return server.ask("POST", address, body, Content_Type="application/json", Authorization=f"Bearer {who}").status


def test_a_request_that_asks_to_change_nothing_changes_nothing(server: Running) -> None:
    """Nor does a token that may only read, of a person whose session was opened with another."""
    with stream(server) as (_, messages, address):
        params: dict[str, Any] = {"protocolVersion": "2024-11-05", "capabilities": {}}
        assert post(server, address, request("initialize", params, 1)) == 202
        before = server.echo.count
        body = json.dumps(request("tools/call", {"name": "count"}, 2)).encode()
        headers = {"Content_Type": "application/json", "Authorization": "Bearer ann"}
        assert server.ask("POST", address, body, X_MCP_Readonly="true", **headers).status == 404
        assert post(server, address, request("ping", {}, 3)) == 202
        assert [next(messages)["id"], next(messages)["id"]] == [1, 3]
        assert server.echo.count == before


def test_who_reads_nothing_is_told_to_by_the_bytes_as_well(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("postil.wire.transports.http.two_addresses.MOST_BYTES", -1)
    with stream(server) as (_, _, address):
        assert post(server, address, request("ping", {}, 1)) == 503


def test_answers_come_on_the_stream(server: Running) -> None:
    with stream(server) as (_, messages, address):
        params: dict[str, Any] = {"protocolVersion": "2024-11-05", "capabilities": {}}
        assert post(server, address, request("initialize", params, 1)) == 202
        assert next(messages)["result"]["protocolVersion"] == "2024-11-05"
        for number in (2, 3):  # the same answer twice is two answers
            assert post(server, address, request("tools/call", {"name": "total"}, number)) == 202
            assert next(messages)["id"] == number
        assert post(server, address, request("tools/call", {"name": "wait", "_meta": {"progressToken": 1}}, 4)) == 202
        assert [next(messages).get("id") for _ in range(4)] == [None, None, None, 4]


def test_updates_come_on_the_stream(server: Running) -> None:
    with stream(server) as (_, messages, address):
        post(server, address, request("initialize", {"protocolVersion": "2024-11-05", "capabilities": {}}, 1))
        next(messages)
        post(server, address, request("resources/subscribe", {"uri": "echo://note"}, 2))
        assert next(messages)["id"] == 2
        server.post(request("note", {"text": "new"}), Authorization="Bearer ann")
        assert next(messages)["method"] == "notifications/resources/updated"


def test_bad_frames_are_answered_on_the_stream(server: Running) -> None:
    with stream(server) as (_, messages, address):
        assert post(server, address, {"jsonrpc": "2.0", "id": 5, "method": 1}) == 202
        assert next(messages)["error"]["code"] == -32600


def test_nobody_else_can_post_to_it(server: Running) -> None:
    with stream(server) as (_, _messages, address):
        assert post(server, address, request("tools/list"), who="bob") == 404
        assert post(server, "/messages?sessionId=nosuch", request("tools/list")) == 404
        assert post(server, "/messages", request("tools/list")) == 404
        session = address.partition("=")[2]
        answer = server.in_session(session, request("tools/list"), Authorization="Bearer ann")
        assert answer.status == 404  # it is no session of the newer transport


def test_the_session_ends_with_its_stream(server: Running) -> None:
    with stream(server) as (connection, _, address):
        before = len(server.endpoint.sessions)
        connection.close()
        while len(server.endpoint.sessions) >= before:  # bounded by the test's own timeout
            server.ask("GET", "/healthz")
        assert post(server, address, request("tools/list")) == 404


def test_the_addresses_take_nothing_else(server: Running) -> None:
    assert post(server, "/sse", request("tools/list")) == 405  # so a newer client goes on with the stream
    assert server.ask("GET", "/messages", Authorization="Bearer ann").status == 405
    assert server.ask("DELETE", "/sse", Authorization="Bearer ann").status == 405
    assert server.ask("GET", "/sse").status == 401


def test_without_the_setting_they_are_not_there() -> None:
    with running() as server:
        assert server.ask("GET", "/sse").status == 404
        assert server.ask("POST", "/messages", b"{}", Content_Type="application/json").status == 404


def test_the_official_client_speaks_it(server: Running) -> None:
    async def visit() -> list[str]:
        url = f"http://127.0.0.1:{server.port}/sse"
        async with (
            sse_client(url, headers={"Authorization": "Bearer ann"}) as (read, write),
            ClientSession(read, write) as session,
        ):
            await session.initialize()
            return [tool.name for tool in (await session.list_tools()).tools]

    import anyio

    assert "echo" in anyio.run(visit)
