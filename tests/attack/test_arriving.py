"""A thousand clients that send as much as a server reads of them, and nobody knows one of them: what that costs it."""

from __future__ import annotations

import re
import resource
import socket
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from tests.attack.test_ending import serve
from tests.attack.test_own_memory import MOST_GROWTH, needs_proc, read_peak
from tests.workspace.repositories import new_repository

HEAD = b"POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
GET = b"GET /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
KINDS = {
    "heads of many lines": (300, HEAD % b"/mcp" + b"".join(b"x%d:\r\n" % number for number in range(7000))),
    "heads that do not end": (1000, HEAD % b"/mcp" + b"x: %s\r\n" % (b"a" * 1000) * 60),
    "requests behind each other": (100, GET * 5000),
    "trailers": (300, HEAD % b"/mcp" + b"Transfer-Encoding: chunked\r\n\r\n0\r\n" + b"x:y\r\n" * 40_000),
    "bodies that do not end": (1000, HEAD % b"/mcp" + b"Content-Length: 65536\r\n\r\n" + b" " * 65_535),
    "large bodies": (300, HEAD % b"/mcp" + b"Content-Length: 4000000\r\n\r\n" + b" " * 1_000_000),
    "forms": (1000, HEAD % b"/open" + b"Content-Length: 16384\r\n\r\n" + b" " * 16_383),
    "bodies of one who is known": (
        1000, HEAD % b"/mcp" + b"Authorization: Bearer TOKEN\r\nContent-Length: 65536\r\n\r\n" + b" " * 65_535
    ),
}  # fmt: skip


@pytest.fixture(autouse=True)
def _many_files() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < 2000:
        if hard != resource.RLIM_INFINITY and hard < 2000:
            pytest.skip("this system allows too few open files")
        resource.setrlimit(resource.RLIMIT_NOFILE, (2000, hard))


@needs_proc
@pytest.mark.parametrize("kind", KINDS)
def test_clients_nobody_knows_make_the_server_hold_little(tmp_path: Path, kind: str) -> None:
    count, sent = KINDS[kind]
    root = new_repository(tmp_path / "r")
    with serve(tmp_path, root, "--http", "127.0.0.1:0") as server, ExitStack() as open_:
        assert server.stderr is not None
        where = re.search(r"http://127.0.0.1:(\d+)/", server.stderr.readline().decode())
        token = re.search(r"token (\S+)", server.stderr.readline().decode())
        assert where is not None
        assert token is not None
        port, sent = int(where[1]), sent.replace(b"TOKEN", token[1].encode())
        ask(port)
        before = read_peak(server.pid)
        clients = [open_.enter_context(socket.create_connection(("127.0.0.1", port), timeout=30)) for _ in range(count)]
        for client in clients:
            client.setblocking(False)
        for _ in range(3):  # as much as goes, then whether anybody else is answered
            for client in clients:
                with suppress(OSError):
                    client.send(sent)
            ask(port)
        grown = read_peak(server.pid) - before
        assert grown <= MOST_GROWTH, f"{grown >> 20} MB"


def ask(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=60) as client:
        client.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
        said = b""
        while piece := client.recv(4096):
            said += piece
        assert said.startswith(b"HTTP/1.1 200")
