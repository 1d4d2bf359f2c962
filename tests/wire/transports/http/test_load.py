"""Many at once: half-open connections, streams, and the end of all of them."""

from __future__ import annotations

import json
import os
import resource
import signal
import socket
import time
from pathlib import Path

import pytest

from tests.wire.http_client import BOTH, META, STATELESS, Connection, process, request

HALF_OPEN = 5000
STREAMS = 1000
HEADERS = {"MCP-Protocol-Version": STATELESS, "Accept": BOTH, "Content-Type": "application/json"}


@pytest.fixture(autouse=True)
def many_files() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < HALF_OPEN + 500:
        pytest.skip(f"needs {HALF_OPEN + 500} open files, the limit is {hard}")
    if soft < HALF_OPEN + 500:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def p99(connection: Connection, calls: int = 300) -> float:
    """Seconds that almost every call takes at most."""
    body = json.dumps(request("tools/call", {"name": "echo", "arguments": {"text": "x"}, "_meta": META})).encode()
    headers = {**HEADERS, "Mcp-Method": "tools/call", "Mcp-Name": "echo"}
    times: list[float] = []
    for _ in range(calls):
        begun = time.perf_counter()
        connection.ask("POST", "/mcp", body, headers)
        assert connection.answer().status == 200
        times.append(time.perf_counter() - begun)
    return sorted(times)[int(calls * 0.99)]


def is_quick(connection: Connection) -> bool:
    """Returns whether almost every call is answered at once, in one of five rounds: other tests run beside this one."""
    return any(p99(connection) <= 0.05 for _ in range(5))


def memory(pid: int) -> int:
    """Resident bytes."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.slow
def test_five_thousand_half_open_connections_slow_nobody_down_and_are_cut_off() -> None:
    with process() as (started, port):
        good = Connection(port)
        p99(good, 50)
        half_open: list[socket.socket] = []
        try:
            for _ in range(HALF_OPEN):
                one = socket.create_connection(("127.0.0.1", port))
                one.sendall(b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ")
                half_open.append(one)
            assert is_quick(good)
            end = time.monotonic() + 20
            last = half_open[-1]
            last.settimeout(15)
            assert last.recv(1) == b""  # cut off, after ten seconds and the next look
            while len(os.listdir(f"/proc/{started.pid}/fd")) > 100:
                assert time.monotonic() < end
                time.sleep(0.1)
        finally:
            for one in half_open:
                one.close()
        assert is_quick(good)
        good.close()


@pytest.mark.slow
def test_a_thousand_streams_cost_little_and_end_gracefully() -> None:
    with process() as (started, port):
        good = Connection(port)
        p99(good, 50)
        before = memory(started.pid)
        body = json.dumps(
            request("subscriptions/listen", {"notifications": {"toolsListChanged": True}, "_meta": META}, "s")
        ).encode()
        streams = [Connection(port) for _ in range(STREAMS)]
        for one in streams:
            one.ask("POST", "/mcp", body, {**HEADERS, "Mcp-Method": "subscriptions/listen"})
        heard = [one.events() for one in streams if one.head()[0] == 200]
        assert len(heard) == STREAMS
        for events in heard:
            assert next(events)["method"] == "notifications/subscriptions/acknowledged"
        assert (memory(started.pid) - before) / STREAMS < 60_000
        assert is_quick(good)
        begun = time.monotonic()
        os.kill(started.pid, signal.SIGTERM)
        for events in heard:
            assert list(events)[-1]["result"]["resultType"] == "complete"
        assert started.wait(6) == 143
        assert time.monotonic() - begun < 5
        for one in (*streams, good):
            one.close()
