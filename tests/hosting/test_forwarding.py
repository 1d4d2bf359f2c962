"""What passes between two hosts is recorded, sent again and answered by a liar: nothing is made twice or told on."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.hosting.hosts import Hosts
from tests.storage.postgres_server import PostgresServer, postgres_server

WRITE = {"filePath": "a.py", "line": 3, "text": "write 3"}


class Relay:
    """The address of a host: hands on what comes and records it, or lies in its place."""

    def __init__(self) -> None:
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self.target = 0
        self.recorded: list[bytes] = []
        self.lie = b""
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listening.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=self._serve, args=[self._listening.accept()[0]], daemon=True).start()

    def _serve(self, one: socket.socket) -> None:
        with one, suppress(OSError):
            came = read_request(one)
            self.recorded.append(came)
            one.sendall(self.lie or send_raw(self.target, came))


def read_request(one: socket.socket) -> bytes:
    came = b""
    while b"\r\n\r\n" not in came:
        came += one.recv(65536)
    head, _, body = came.partition(b"\r\n\r\n")
    size = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
    while len(body) < size:
        body += one.recv(65536)
    return head + b"\r\n\r\n" + body


def send_raw(port: int, request: bytes) -> bytes:
    """What a host answers to these very bytes."""
    answer = b""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as one:
        one.sendall(request)
        while piece := one.recv(65536):
            answer += piece
    return answer


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresServer]:
    with postgres_server() as server:
        yield server


@pytest.fixture
def between(tmp_path: Path, postgres: PostgresServer) -> Iterator[tuple[Hosts, Relay]]:
    """Two hosts. The first has the lease; the second reaches it by the relay."""
    postgres.clear()
    relay = Relay()
    hosts = Hosts(tmp_path, postgres, 2, peers=[f"http://127.0.0.1:{relay.port}", "http://127.0.0.1:1"])
    relay.target = hosts.ports[0]
    hosts.until_done(0, "comments_list", {})
    yield hosts, relay
    hosts.close()
    relay.close()


def list_texts(hosts: Hosts) -> list[str]:
    shown: Any = hosts.until_done(0, "comments_list", {})
    return [each["text"] for each in shown["comments"]]


@pytest.mark.timeout(120)
def test_a_request_that_was_recorded_between_two_hosts_is_served_once(between: tuple[Hosts, Relay]) -> None:
    hosts, relay = between
    assert hosts.ask(1, "add_comment", WRITE)[0] == 200
    (recorded,) = relay.recorded
    assert b"x-postil-forwarded: " in recorded
    for number, status in ((0, b"404"), (1, b"503"), (0, b"404")):
        assert send_raw(hosts.ports[number], recorded).startswith(b"HTTP/1.1 %s " % status)
    assert list_texts(hosts) == ["write 3"]
    # Nor after a restart: that begins another turn, for which it was not sealed.
    hosts.end(0)
    hosts.start(0)
    hosts.until_done(0, "comments_list", {})
    assert send_raw(hosts.ports[0], recorded).startswith(b"HTTP/1.1 503 ")
    assert list_texts(hosts) == ["write 3"]


LIES = (
    b"HTTP/1.1 307 Elsewhere\r\nLocation: http://127.0.0.1:1/steal\r\nContent-Length: 0\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}",
    b"HTTP/1.1 200 OK\r\nContent-Type: a\nSet-Cookie: b=c\r\nContent-Length: 2\r\n\r\n{}",
    b"HTTP/1.1 200 OK\r\nX: " + b"x" * 2_000_000,
    b"nonsense",
)


@pytest.mark.timeout(120)
def test_who_lies_at_the_address_of_a_host_leads_nobody_elsewhere(between: tuple[Hosts, Relay]) -> None:
    hosts, relay = between
    for lie in LIES:
        relay.lie = lie
        status, answer = hosts.ask(1, "add_comment", WRITE)
        assert (status, "is not known" in answer["error"]["message"]) == (504, True), lie[:60]


@pytest.mark.timeout(120)
def test_a_session_that_is_served_by_another_host_is_for_who_opened_it(between: tuple[Hosts, Relay]) -> None:
    hosts, relay = between
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    assert hosts.ask(1, "initialize", hello)[0] == 200
    answer = send_raw(hosts.ports[0], unsealed(relay.recorded[0]))
    named = answer.partition(b"mcp-session-id: ")[2].split(b"\r\n")[0].decode()
    assert named
    for number in (0, 1):
        session = {"Mcp-Session-Id": named, "MCP-Protocol-Version": "2025-06-18"}
        assert hosts.ask(number, "tools/list", {}, headers=session)[0] == 200
        assert hosts.ask(number, "tools/list", {}, who="reader", headers=session)[0] == 404


def unsealed(recorded: bytes) -> bytes:
    """A recorded request as its caller made it."""
    head, _, body = recorded.partition(b"\r\n\r\n")
    return b"\r\n".join(line for line in head.split(b"\r\n") if b"x-postil" not in line) + b"\r\n\r\n" + body
