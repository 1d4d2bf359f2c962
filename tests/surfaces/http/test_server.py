"""uvicorn with what it leaves out: heads that are bounded, clients that are waited for only so long, an end."""

from __future__ import annotations

import socket
from contextlib import suppress
from itertools import pairwise
from types import SimpleNamespace
from typing import Any, cast

import pytest

from postil.core import limits
from postil.surfaces.http.server import (
    ALWAYS_TAKEN,
    BODY_PATIENCE,
    HEADER_PATIENCE,
    LARGEST_HEAD,
    MOST_QUEUED,
    READ_AT_LEAST,
    READ_PATIENCE,
    PatientProtocol,
)
from postil.wire.transports.http.headers import MOST_HEADERS
from tests.wire.http_client import Connection, running, until


@pytest.mark.parametrize(
    ("head_received", "waited", "overdue"),
    [
        (False, HEADER_PATIENCE, False),
        (False, HEADER_PATIENCE + 0.001, True),
        (True, HEADER_PATIENCE + 0.001, False),
        (True, BODY_PATIENCE, False),
        (True, BODY_PATIENCE + 0.001, True),
    ],
)
def test_a_head_and_a_body_are_waited_for_only_so_long(head_received: bool, waited: float, overdue: bool) -> None:
    client: Any = SimpleNamespace(waiting_since=100.0, head_received=head_received)
    assert PatientProtocol.is_overdue(client, 100.0 + waited) is overdue


def test_a_client_that_owes_nothing_is_never_overdue() -> None:
    client: Any = SimpleNamespace(waiting_since=None, head_received=True)
    assert not PatientProtocol.is_overdue(client, 1e9)


def test_a_client_that_does_not_read_is_waited_for_only_so_long() -> None:
    sizes = [0, 500_000, 500_000, 500_000 - READ_AT_LEAST, 400_000, 400_000]
    client: Any = SimpleNamespace(
        transport=SimpleNamespace(get_write_buffer_size=lambda: sizes.pop(0)), _unread=0, _read_at=0.0
    )
    moments = (1000.0, 2000.0, 2000.0 + READ_PATIENCE, 3000.0, 4000.0, 4000.1 + READ_PATIENCE)
    assert [PatientProtocol.is_unread(client, now) for now in moments] == [False] * 5 + [True]


def test_a_client_that_reads_next_to_nothing_is_not_reading() -> None:
    size = 500_000
    client: Any = SimpleNamespace(
        transport=SimpleNamespace(get_write_buffer_size=lambda: size), _unread=0, _read_at=0.0
    )
    ended: list[bool] = []
    for second in range(int(READ_PATIENCE) + 3):
        size -= 1
        ended.append(PatientProtocol.is_unread(client, 100.0 + second))
    assert (ended[:-5], ended[-1]) == ([False] * (len(ended) - 5), True)


def test_a_head_that_is_too_large_is_refused() -> None:
    with running() as server:
        assert server.ask("GET", "/healthz", X_Long="x" * (LARGEST_HEAD // 2)).status == 200
        assert server.ask("GET", "/healthz", X_Long="x" * LARGEST_HEAD).status == 431


def test_only_paths_are_answered() -> None:
    with running() as server:
        assert server.ask("GET", "http://evil.example/healthz").status == 400


def test_a_connection_is_not_upgraded() -> None:
    with running() as server:
        assert server.ask("GET", "/healthz", Upgrade="websocket").status == 200


WISH = b"Connection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAEAAEAAAAIAAAAAAAMAAAAAAAQBAAAAAAUAAEAABgAGAAA\r\n"
HELLO = (
    b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},'
    b'"clientInfo":{"name":"java","version":"17"}}}'
)


def greet(port: int, wish: bytes, *, chunked: bool = False) -> bytes:
    length = b"Transfer-Encoding: chunked" if chunked else b"Content-Length: %d" % len(HELLO)
    body = b"%x\r\n%s\r\n0\r\n\r\n" % (len(HELLO), HELLO) if chunked else HELLO
    return (
        b"POST /mcp HTTP/1.1\r\n%s%s\r\nHost: 127.0.0.1:%d\r\nContent-Type: application/json\r\n"
        b"Accept: application/json, text/event-stream\r\n\r\n%s" % (wish, length, port, body)
    )


WISHES = [
    WISH + b"Upgrade: h2c\r\n",
    WISH + b"upgrade:h2c\r\n",
    b"Upgrade:  websocket, h2c\r\n" + WISH,
    b"Connection: upgrade\r\nUpgrade: \r\nUpgrade: TLS/1.0\r\n",
    b"Connection: upgrade, keep-alive\r\nUpgrade: websocket\r\n",
]


@pytest.mark.parametrize("wish", WISHES)
@pytest.mark.parametrize("chunked", [False, True])
def test_a_wish_for_another_protocol_costs_no_body_however_it_comes(wish: bytes, chunked: bool) -> None:
    """Java's HttpClient wishes for HTTP/2; what it sent was taken for HTTP/2 and lost, and so was what came after."""
    with running() as server:
        request = greet(server.port, wish, chunked=chunked)
        client = Connection(server.port)
        client.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        head = request.index(b"\r\n\r\n") + 4
        for cuts in ([], [head], [head - 1], [head - 2, head + 3], [30], [60, 90], [*range(1, len(request))]):
            for begin, end in pairwise([0, *cuts, len(request)]):
                client.send(request[begin:end])
            answer = client.answer()
            assert answer.status == 200, answer.body
            assert b'"serverInfo"' in answer.body
        client.close()


def test_a_wish_of_a_client_that_wants_to_leave_is_answered() -> None:
    with running() as server:
        client = Connection(server.port)
        client.send(greet(server.port, b"Connection: Upgrade, close\r\nUpgrade: h2c\r\n"))
        assert b'"serverInfo"' in client.answer().body
        assert client.is_closed()
        client.close()


def test_wishes_behind_each_other_are_all_dropped() -> None:
    with running() as server:
        client = Connection(server.port)
        client.send(b"".join(greet(server.port, wish) for wish in (*WISHES, b"")))
        for _ in (*WISHES, b""):
            assert b'"serverInfo"' in client.answer().body
        client.close()


@pytest.mark.parametrize("address", [b"/mcp", b"127.0.0.1:80"])
def test_no_connection_is_made_for_anybody(address: bytes) -> None:
    with running() as server:
        client = Connection(server.port)
        client.send(b"CONNECT %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\nGET / HTTP/1.1\r\n\r\n" % (address, server.port))
        assert read_to_the_end(client).startswith(b"HTTP/1.1 400")


def test_a_wish_does_not_make_a_head_larger_than_others() -> None:
    with running() as server:
        client = Connection(server.port)
        client.send(greet(server.port, WISHES[0] + b"x-long: %s\r\n" % (b"x" * LARGEST_HEAD)))
        assert read_to_the_end(client).startswith(b"HTTP/1.1 431")
        client = Connection(server.port)
        client.send(greet(server.port, WISHES[0] + b"x: y\r\n" * 1000))
        assert read_to_the_end(client).startswith(b"HTTP/1.1 431")


def test_no_more_requests_wait_on_a_connection_than_are_queued() -> None:
    """A packet of 64 kB can hold three thousand of them."""
    with running() as server:
        client = Connection(server.port)
        client.send(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * 1000)
        said = read_to_the_end(client)
        assert said.count(b"HTTP/1.1 200") == MOST_QUEUED + 1
        assert said.count(b"HTTP/1.1") == MOST_QUEUED + 1
        assert said.rpartition(b"HTTP/1.1")[2].count(b"connection: close") == 1
        client = Connection(server.port)
        for _ in range(30):  # who waits for answers sends as many as they like
            client.send(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * MOST_QUEUED)
            for _ in range(MOST_QUEUED):
                assert client.answer("GET").status == 200
        client.close()


def test_of_very_many_headers_only_a_few_are_held_and_then_refused() -> None:
    with running() as server:
        client = Connection(server.port)
        client.send(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n" + b"x:\r\n" * 10_000)
        until(lambda: bool(client.socket.recv(12, socket.MSG_PEEK | socket.MSG_DONTWAIT)))
        assert read_to_the_end(client).startswith(b"HTTP/1.1 431")
        for count, status in ((MOST_HEADERS - 2, 200), (MOST_HEADERS, 431)):
            client = Connection(server.port)
            lines = b"".join(b"x-%d: y\r\n" % number for number in range(count))
            client.send(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n" + lines + b"\r\n")
            assert client.answer("GET").status == status
            client.close()


def test_many_heads_that_do_not_end_leave_room_for_small_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "HEADS", 20_000)
    begun = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nx-long: "
    with running() as server:
        many = [Connection(server.port) for _ in range(8)]
        for client in many:
            client.send(begun + b"x" * 6000)
        refused = [client for client in many if client.can_be_read()]
        assert 4 <= len(refused) < 8
        small = Connection(server.port)
        small.send(begun + b"x" * (ALWAYS_TAKEN - 100))
        assert server.ask("GET", "/healthz", X_Long="x" * 20_000).status == 200  # it ends as it begins
        small.send(b"\r\n\r\n")
        assert small.answer("GET").status == 200
        for client in refused:
            assert client.answer("GET").status == 503
        for client in [*many, small]:
            client.close()
        arriving: Any = cast("Any", server.running.config.http).arriving
        until(lambda: (arriving.heads, arriving.bodies) == (0, 0))


def test_bodies_at_which_nobody_looks_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "UNSEEN", 0)
    with running() as server:
        assert server.ask("POST", "/mcp", b" " * ALWAYS_TAKEN).status == 415  # read, and no JSON
        assert server.ask("POST", "/mcp", b" " * (ALWAYS_TAKEN + 1)).status == 503
        monkeypatch.setattr(limits, "UNSEEN", 100_000)
        for _ in range(10):
            assert server.ask("POST", "/mcp", b" " * 50_000).status == 415
        arriving: Any = cast("Any", server.running.config.http).arriving
        until(lambda: arriving.bodies == 0)


def test_a_body_in_small_pieces_counts_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "UNSEEN", 0)
    with running() as server:
        client = Connection(server.port)
        client.send(HEAD % server.port + b"3e8\r\n%b\r\n" % (b" " * 1000) * 20)
        assert read_to_the_end(client).startswith(b"HTTP/1.1 503")


def test_bodies_behind_each_other_count_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "UNSEEN", 12_000)
    one = b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 5000\r\n\r\n" + b" " * 5000
    with running() as server:
        client = Connection(server.port)
        client.send(one * 3)
        assert b"HTTP/1.1 503" in read_to_the_end(client)
        client = Connection(server.port)
        client.send(one)
        assert client.answer().status == 415
        client.close()


HEAD = (
    b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
)


def read_to_the_end(client: Connection) -> bytes:
    said = b""
    with suppress(ConnectionError):
        while piece := client.socket.recv(65536):
            said += piece
    client.close()
    return said


def test_trailers_are_refused() -> None:
    with running() as server:
        client = Connection(server.port)
        client.send(HEAD % server.port + b"2\r\n{}\r\n0\r\nx: y\r\n\r\n")
        assert read_to_the_end(client).startswith(b"HTTP/1.1 400")


def test_trailers_behind_an_answer_are_no_second_answer() -> None:
    with running() as server:
        client = Connection(server.port)
        client.send(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n")
        assert client.answer().status == 200
        client.send(b"0\r\nx: y\r\n\r\n")
        assert read_to_the_end(client) == b""


@pytest.mark.parametrize("beginning", [b"2\r\n{}\r\n0\r\nx: ", b"2;x=", b"2\r\n{}\r\n0;x="])
def test_what_stands_between_the_pieces_of_a_body_is_bounded(beginning: bytes) -> None:
    with running() as server:
        client = Connection(server.port)
        client.send(HEAD % server.port + beginning)
        with suppress(ConnectionError):
            for _ in range(64):  # 4 MB, of which the parser would hold all
                client.send(b"x" * 65536)
        said = read_to_the_end(client)
        assert not said or said.startswith((b"HTTP/1.1 431", b"HTTP/1.1 400"))
        assert server.ask("GET", "/healthz").status == 200


def test_pieces_that_are_mostly_what_stands_around_them_are_bounded_together() -> None:
    with running() as server:
        client = Connection(server.port)
        client.send(HEAD % server.port)
        with suppress(ConnectionError):
            for _ in range(512):  # 30 MB around 512 bytes
                client.send(b"1;" + b"x" * 60_000 + b"\r\n \r\n")
            client.send(b"0\r\n\r\n")
        said = read_to_the_end(client)
        assert not said or said.startswith(b"HTTP/1.1 413")
        assert server.ask("GET", "/healthz").status == 200


def test_a_large_body_in_pieces_of_one_byte_is_read() -> None:
    with running() as server:
        client = Connection(server.port)
        client.send(HEAD % server.port + b"1\r\n \r\n" * 500_000 + b"0\r\n\r\n")
        assert client.answer().status not in (413, 431, 503)
        client.close()


def test_a_body_in_many_small_pieces_is_read() -> None:
    with running() as server:
        client = Connection(server.port)
        body = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
        client.send(HEAD % server.port + b"".join(b"1\r\n%c\r\n" % byte for byte in body) + b"0\r\n\r\n")
        assert client.answer().status != 431
        client.close()
