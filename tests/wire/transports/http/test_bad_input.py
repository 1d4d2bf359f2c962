"""What must not get in over HTTP: odd frames, odd requests, odd hosts, too much of anything."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from typing import Any

import pytest

from postil.storage.ephemeral import MemoryEphemeralStore
from postil.surfaces.gateway.auth import Bearers, LocalToken
from postil.surfaces.gateway.gateway import Gateway
from postil.surfaces.gateway.quotas import Limits
from postil.surfaces.http import server as http_server
from postil.surfaces.http.hosts import split_address
from tests.wire.http_client import BOTH, META, STATELESS, Running, request, running


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    with running() as server:
        yield server


ODD = [
    (b"", -32700, None),
    (b"nonsense", -32700, None),
    (b'{"jsonrpc":"2.0","id":1,"method":"tools/list"', -32700, 1),
    (b"42", -32600, None),
    (b"[]", -32600, None),
    (b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":"\xff"}', -32700, 1),
    (b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"x":"\\ud800"}}', -32700, 1),
    (b'{"jsonrpc":"2.0","id":null,"method":"tools/list"}', -32600, None),
    (b'{"jsonrpc":"2.0","id":1.5,"method":"tools/list"}', -32600, None),
    (b'{"jsonrpc":"2.0","id":true,"method":"tools/list"}', -32600, None),
    (b'{"jsonrpc":"2.0","id":{},"method":"tools/list"}', -32600, None),
    (b'{"id":1,"method":"tools/list"}', -32600, 1),
    (b'{"jsonrpc":"1.0","id":1,"method":"tools/list"}', -32600, 1),
    (b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":[]}', -32600, 1),
    (b'{"jsonrpc":"2.0","id":1,"method":5}', -32600, 1),
    (b'{"jsonrpc":"2.0","id":' + b"9" * 5000 + b',"method":"tools/list"}', -32700, None),
    (b'{"jsonrpc":"2.0","id":"' + b"x" * 300 + b'","method":"tools/list"}', -32600, None),
    (b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"a":NaN}}', -32700, 1),
    (b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":' + b'{"a":' * 100 + b"1" + b"}" * 101, -32600, 1),
    (b"[" * 1_000_000, -32600, None),
    (b"\xef\xbb\xbf" + b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}', -32700, 1),
    (b'{"Jsonrpc":"2.0","Id":1,"Method":"tools/list"}', -32600, None),
]


@pytest.mark.parametrize(("frame", "code", "request_id"), ODD, ids=range(len(ODD)))
def test_an_odd_frame_is_refused_with_its_code_and_id(
    server: Running, frame: bytes, code: int, request_id: Any
) -> None:
    begun = time.monotonic()
    answer = server.post(frame, MCP_Protocol_Version=STATELESS, Accept=BOTH)
    assert time.monotonic() - begun < 1
    refused = answer.json()
    assert (answer.status, refused["error"]["code"]) == (400, code)
    if request_id is not None:
        assert refused["id"] == request_id
    assert server.call("tools/list").status == 200


def test_of_two_equal_keys_the_last_wins(server: Running) -> None:
    answer = server.post(b'{"jsonrpc":"2.0","id":1,"id":2,"method":"echo","params":{"text":"a","text":"b"}}')
    assert (answer.json()["id"], answer.json()["result"]["text"]) == (2, "b")


ROUTES = ["/mcp", "/healthz", "/readyz", "/version", "/metrics", "/x/../mcp", "/nosuch"]


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:3000", "localhost:1@evil.example", "127.0.0.1.evil.com", ""]
)
def test_another_host_is_refused_on_every_route(server: Running, host: str, route: str) -> None:
    assert server.ask("GET", route, Host=host).status in (400, 403)


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://localhost:1", "http://127.0.0.1"])
def test_another_origin_is_refused_on_every_route(server: Running, origin: str, route: str) -> None:
    assert server.ask("GET", route, Origin=origin).status == 403


def test_our_own_origin_is_welcome(server: Running) -> None:
    assert server.ask("GET", "/healthz", Origin=f"http://127.0.0.1:{server.port}").status == 200
    assert server.ask("GET", "/healthz", Host=f"localhost:{server.port}").status == 200
    host = f"LOCALHOST:{server.port}"
    assert server.ask("GET", "/healthz", Host=host, Origin=f"http://localhost:{server.port}").status == 200


@pytest.mark.parametrize(
    "raw",
    [
        b"GET http://evil.example/healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: evil.example\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\n\r\n",
        b"CONNECT evil.example:80 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        b"OPTIONS * HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        b"GARBAGE\r\n\r\n",
        b"GET / HTTP/9.9\r\nHost: 127.0.0.1\r\n\r\n",
        b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: -5\r\n\r\n",
        b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef",
        b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    ],
)
def test_an_odd_request_is_refused(server: Running, raw: bytes) -> None:
    connection = server.connect(timeout=5)
    connection.send(raw)
    assert connection.head()[0] in (400, 403, 415)
    connection.close()
    assert server.call("tools/list").status == 200


@pytest.mark.parametrize("twice", ["Mcp-Method", "Authorization", "Content-Type", "Mcp-Session-Id", "Origin"])
def test_a_header_that_decides_may_not_come_twice(server: Running, twice: str) -> None:
    connection = server.connect()
    connection.send(f"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n{twice}: a\r\n{twice}: b\r\n\r\n".encode())
    assert connection.head()[0] == 400
    connection.close()


def token_door(token: str) -> Gateway:
    return Gateway(
        Bearers([LocalToken(token)], hint="a token"), limits=Limits(MemoryEphemeralStore(), per_minute=600, in_flight=9)
    )


def test_everything_but_the_three_open_routes_asks_for_the_token() -> None:
    with running(token_door("right-token")) as server:
        for route in ("/healthz", "/readyz", "/version"):
            assert server.ask("GET", route).status == 200
        for method, route in (
            ("GET", "/metrics"),
            ("GET", "/mcp"),
            ("POST", "/mcp"),
            ("DELETE", "/mcp"),
            ("GET", "/x"),
        ):
            for given in ("", "Bearer wrong", "Basic right-token"):
                answer = server.ask(method, route, Authorization=given)
                assert (answer.status, answer.json()["error"]["code"]) == (401, -32000)
                assert answer.json()["error"]["data"]["status"] == 401
                assert answer.headers["www-authenticate"].startswith("Bearer")
        right: dict[str, Any] = {"Authorization": "Bearer right-token"}
        assert server.call("tools/list", **right).status == 200
        assert b"postil_http_requests_total" in server.ask("GET", "/metrics", **right).body
        assert server.ask("GET", "/x", **right).status == 404


@pytest.mark.parametrize(
    "headers",
    [b"X-A: " + b"x" * 70_000 + b"\r\n", b"".join(b"X-%d: y\r\n" % n for n in range(10_000)), b"X: " + b"y" * 10**6],
)
def test_headers_that_are_too_large_are_refused(server: Running, headers: bytes) -> None:
    connection = server.connect()
    try:
        connection.send(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n" + headers + b"\r\n\r\n")
        assert connection.head()[0] == 431
    except ConnectionError:
        pass  # refused while it was still sending
    finally:
        connection.close()
    assert server.call("tools/list").status == 200


def test_a_client_that_never_ends_its_headers_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_server, "HEADER_PATIENCE", 0.3)
    monkeypatch.setattr(http_server, "BODY_PATIENCE", 0.3)
    with running() as server:
        silent, slow, bodiless = server.connect(), server.connect(), server.connect()
        slow.send(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n")
        bodiless.send(
            b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{"
        )
        assert server.call("tools/list").status == 200
        assert all(one.is_closed() for one in (silent, slow, bodiless))
        for one in (silent, slow, bodiless):
            one.close()


def test_leaving_at_every_byte_of_a_request_harms_nobody(server: Running, capfd: pytest.CaptureFixture[str]) -> None:
    body = json.dumps(request("tools/call", {"name": "echo", "arguments": {"text": "x"}, "_meta": META})).encode()
    head = f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
    whole = head.encode() + b"\r\n" + body
    for length in range(0, len(whole), 3):
        with socket.create_connection(("127.0.0.1", server.port)) as one:
            one.sendall(whole[:length])
    assert server.call("tools/list").status == 200
    assert capfd.readouterr().err == ""


def test_an_upgrade_is_ignored(server: Running) -> None:
    answer = server.ask("GET", "/healthz", Connection="Upgrade, close", Upgrade="websocket")
    assert answer.status == 200


@pytest.mark.parametrize(
    ("address", "split"),
    [
        ("127.0.0.1:3000", ("127.0.0.1", 3000)),
        ("[::1]:80", ("::1", 80)),
        (":8080", ("127.0.0.1", 8080)),
        ("localhost", ("localhost", 3000)),
        ("0.0.0.0:0", ("0.0.0.0", 0)),
    ],
)
def test_an_address_is_a_host_and_a_port(address: str, split: tuple[str, int]) -> None:
    assert split_address(address) == split


@pytest.mark.parametrize("address", ["host:port", "a:b:c", "1.2.3.4:99999", "[::1"])
def test_an_odd_address_is_refused(address: str) -> None:
    with pytest.raises(ValueError, match="HOST:PORT"):
        split_address(address)


@pytest.mark.parametrize("host", ["10.1.2.3", "10.1.2.3:8080", "[2001:db8::1]:3000"])
def test_a_load_balancer_asks_by_address_whether_it_is_ready_and_nothing_else(server: Running, host: str) -> None:
    assert [server.ask("GET", route, Host=host).status for route in ("/healthz", "/readyz")] == [200, 200]
    assert [server.ask("GET", route, Host=host).status for route in ("/version", "/metrics", "/mcp")] == [403] * 3
    assert server.ask("GET", "/healthz", Host=host, Origin=f"http://{host}").status == 403
