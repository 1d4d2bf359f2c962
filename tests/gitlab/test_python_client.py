"""The Python client on bad connections: what is asked anew, what is not, and how many are kept."""

from __future__ import annotations

import socket
import threading
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from mcp_gitlab import McpGitlabClient, McpGitlabError

ANSWER = b'{"jsonrpc":"2.0","id":1,"result":{"id":7}}'
REPLY = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(ANSWER), ANSWER)


class Server:
    """Answers so many requests on each connection, then closes it without a word."""

    def __init__(self, answers: int) -> None:
        self.answers = answers
        self.heard: list[bytes] = []
        self.connections = 0
        self.together = threading.Barrier(1)

    def serve(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as lines:
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
                connection.sendall(REPLY)


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
