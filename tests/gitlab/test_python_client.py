"""The Python client on bad connections: what is asked anew, what is not, and how many are kept."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Awaitable, Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress

import pytest
from mcp_gitlab import AsyncMcpGitlabClient, McpGitlabClient, McpGitlabError, Result

ANSWER = b'{"jsonrpc":"2.0","id":1,"result":{"id":7}}'
REPLY = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(ANSWER), ANSWER)


class Server:
    """Answers so many requests on each connection, then closes it without a word."""

    def __init__(self, answers: int) -> None:
        self.answers = answers
        self.heard: list[bytes] = []
        self.connections = 0
        self.together = threading.Barrier(1)
        self.reply = REPLY

    def serve(self, connection: socket.socket) -> None:
        with suppress(ConnectionError), connection, connection.makefile("rb") as lines:
            for turn in range(self.answers + 1):
                length = 0
                while (line := lines.readline()).strip():
                    name, _, value = line.partition(b":")
                    length = int(value) if name.lower() == b"content-length" else length
                if not line:
                    return
                self.heard.append(lines.read(length))
                if turn == self.answers:
                    return
                try:
                    self.together.wait(10)
                except threading.BrokenBarrierError:
                    return
                connection.sendall(self.reply)


@contextmanager
def serving(answers: int) -> Generator[tuple[str, Server]]:
    server = Server(answers)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(20)

        def accept() -> None:
            while True:
                try:
                    connection, _ = listening.accept()
                except OSError:
                    return
                server.connections += 1
                threading.Thread(target=server.serve, args=(connection,), daemon=True).start()

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/mcp", server
        listening.shutdown(socket.SHUT_RDWR)
    thread.join(10)


def test_a_read_on_a_kept_connection_that_was_closed_is_asked_anew() -> None:
    with serving(1) as (endpoint, server), McpGitlabClient(endpoint, "t") as client:
        assert client.get_project(project_id=1).id == 7
        assert client.get_project(project_id=2).id == 7
    assert len(server.heard) == 3  # the second was lost once
    assert server.connections == 2


def test_a_write_on_a_kept_connection_that_was_closed_is_not_sent_twice() -> None:
    with serving(1) as (endpoint, server), McpGitlabClient(endpoint, "t") as client:
        assert client.create_issue(project_id=1, title="first").id == 7
        with pytest.raises(McpGitlabError) as caught:
            client.create_issue(project_id=1, title="second")
    assert caught.value.data == {"status": 503, "outcome": "unknown"}
    assert sum(b"second" in body for body in server.heard) == 1


def test_a_read_that_takes_too_long_is_not_asked_anew() -> None:
    with serving(1000) as (endpoint, server), McpGitlabClient(endpoint, "t", timeout=0.3) as client:
        assert client.get_project(project_id=1).id == 7
        server.together = threading.Barrier(2)  # nobody else comes
        with pytest.raises(McpGitlabError) as caught:
            client.get_project(project_id=2)
        server.together.abort()
    assert "did not answer (timed out)" in str(caught.value)
    assert (len(server.heard), server.connections) == (2, 1)


def test_calls_at_once_have_a_connection_each_and_later_ones_use_them_again() -> None:
    with serving(1000) as (endpoint, server), McpGitlabClient(endpoint, "t") as client:
        server.together = threading.Barrier(4)
        with ThreadPoolExecutor(4) as pool:
            calls = [pool.submit(client.get_project, project_id=number) for number in range(4)]
            assert [call.result(10).id for call in calls] == [7] * 4
        server.together = threading.Barrier(1)
        for number in range(8):  # each in a thread of its own, which ends
            with ThreadPoolExecutor(1) as pool:
                pool.submit(client.get_project, project_id=number).result(10)
        assert server.connections == 4


def test_what_cannot_be_reached_says_why_and_was_not_sent() -> None:
    with pytest.raises(McpGitlabError) as caught:
        McpGitlabClient("http://127.0.0.1:1/mcp", "t").create_issue(project_id=1, title="x")
    assert "did not answer (Connection refused)" in str(caught.value)
    assert "outcome" not in caught.value.data


# -- the same of the asynchronous client -----------------------------------------------------------------------------


def visit(endpoint: str, use: Callable[[AsyncMcpGitlabClient], Awaitable[None]], **options: float) -> None:
    async def run() -> None:
        async with AsyncMcpGitlabClient(endpoint, "t", **options) as client:  # type: ignore[arg-type]
            await use(client)

    asyncio.run(run())


def test_asynchronously_a_lost_read_is_asked_anew_and_a_lost_write_is_not() -> None:
    async def use(client: AsyncMcpGitlabClient) -> None:
        assert (await client.get_project(project_id=1)).id == 7
        assert (await client.get_project(project_id=2)).id == 7
        with pytest.raises(McpGitlabError) as caught:
            await client.create_issue(project_id=1, title="second")
        assert caught.value.data == {"status": 503, "outcome": "unknown"}

    with serving(1) as (endpoint, server):
        visit(endpoint, use)
    assert sum(b"second" in body for body in server.heard) <= 1  # the kept connection may be known to be closed


def test_asynchronously_a_read_that_takes_too_long_is_not_asked_anew() -> None:
    async def use(client: AsyncMcpGitlabClient) -> None:
        with pytest.raises(McpGitlabError, match=r"did not answer \(timed out\)"):
            await client.get_project(project_id=2)

    with serving(1000) as (endpoint, server):
        server.together = threading.Barrier(2)  # nobody else comes
        visit(endpoint, use, timeout=0.3)
        server.together.abort()
    assert len(server.heard) == 1


CHUNKS = (
    b"".join(b"%x;x=y\r\n%s\r\n" % (len(piece), piece) for piece in (ANSWER[:5], ANSWER[5:], b"")) + b"A: b\r\n\r\n"
)
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + CHUNKS.replace(b"0;x=y\r\n\r\n", b"0;x=y\r\n")
READABLE = {
    "in chunks": CHUNKED,
    "after a 103": b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + REPLY,
    "of HTTP/1.0": b"HTTP/1.0 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(ANSWER), ANSWER),
}
UNREADABLE = {
    "another protocol": b"SSH-2.0-OpenSSH_9.2\r\n\r\n",
    "a giant head": b"HTTP/1.1 200 OK\r\nX: " + b"x" * 200_000 + b"\r\n\r\n",
    "a giant length": b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n",
    "no length": b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
    "a bad chunk": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    "a negative chunk": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\n",
    "compressed": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
    "a redirect": b"HTTP/1.1 307 Moved\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n",
    "deep JSON": b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n" + b"[" * 100_000,
}


@pytest.mark.parametrize("reply", READABLE.values(), ids=list(READABLE))
def test_asynchronously_every_form_of_an_answer_is_read(reply: bytes) -> None:
    async def use(client: AsyncMcpGitlabClient) -> None:
        assert (await client.get_project(project_id=1)).id == 7
        assert (await client.get_project(project_id=1)).id == 7

    with serving(1000) as (endpoint, server):
        server.reply = reply
        visit(endpoint, use)


@pytest.mark.parametrize("reply", UNREADABLE.values(), ids=list(UNREADABLE))
def test_what_is_no_answer_is_an_error_of_both_clients(reply: bytes) -> None:
    async def use(client: AsyncMcpGitlabClient) -> None:
        with pytest.raises(McpGitlabError) as caught:
            await client.get_project(project_id=1)
        assert caught.value.code == -32603

    with serving(1000) as (endpoint, server):
        server.reply = reply
        visit(endpoint, use, timeout=5.0)
        with McpGitlabClient(endpoint, "t", timeout=1.0) as client, pytest.raises(McpGitlabError) as caught:
            client.get_project(project_id=1)
        assert caught.value.code == -32603


def test_a_result_without_an_object_is_a_value() -> None:
    with serving(1) as (endpoint, server), McpGitlabClient(endpoint, "t") as client:
        server.reply = REPLY.replace(b'{"id":7}', b"[1, 2,3]")
        assert client.call("x", {}) == Result(value=[1, 2, 3])
