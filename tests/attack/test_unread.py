"""Callers that ask for the largest answers and never read them: what that costs the server, and everybody else."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.attack.test_own_memory import MOST_GROWTH, needs_proc, read_peak
from tests.surfaces.programs import BIN, run
from tests.surfaces.served import Served
from tests.workspace.repositories import new_repository

SOCKETS, CALLERS = 120, 12
EXPORT = {"jsonrpc": "2.0", "id": 1, "method": "export_comments", "params": {"format": "json"}}
SMALL = {"jsonrpc": "2.0", "id": 1, "method": "git_mile_list", "params": {"entity": "issue"}}


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[Served, int, list[str]]]:
    """A server with comments of four megabytes, its process, and the keys of its callers."""
    root = new_repository(tmp_path / "r", a__txt="one\n")
    (tmp_path / "postil.toml").write_text("[limits]\nper_minute = 0\n")
    own = {f"XDG_{name}_HOME": str(tmp_path / name) for name in ("STATE", "CACHE")}
    own["POSTIL_CONFIG"] = str(tmp_path / "postil.toml")
    said = run("postil", "comments", "add", "a.txt", "1", "word", cwd=root, **own)
    assert said.returncode == 0, said.stderr
    kept = root / "a.txt.comments"
    held = json.loads(kept.read_text())
    ((comment,), (marker,)) = held["comments"], held["ghostMarkers"]
    held["comments"] = [{**comment, "id": f"c_{n}", "ghostMarkerId": f"gm_{n}", "text": "y" * 9000} for n in range(450)]
    held["ghostMarkers"] = [{**marker, "id": f"gm_{n}", "commentIds": [f"c_{n}"]} for n in range(450)]
    kept.write_text(json.dumps(held))
    keys = [
        run("postil", "key", "create", f"k{n}", "--workspace", cwd=root, **own).stdout.strip()
        for n in range(CALLERS + 1)
    ]
    command = [BIN / "postil", "serve", "--http", "127.0.0.1:0", "--auth", "key"]
    with subprocess.Popen(command, cwd=root, stderr=subprocess.PIPE, text=True, env={**os.environ, **own}) as process:
        assert process.stderr is not None
        where = re.search(r"serving (\S+)", process.stderr.readline())
        assert where is not None
        try:
            yield Served(where[1], ""), process.pid, keys
        finally:
            process.kill()


@needs_proc
@pytest.mark.timeout(180)
def test_callers_who_read_nothing_hold_little_and_are_left_for_who_reads(
    served: tuple[Served, int, list[str]],
) -> None:
    """120 of them took 264 MB, and others waited for more than five seconds."""
    server, pid, (good, *hostile) = served
    for _ in range(2):
        status, answer = server.ask(EXPORT, good)
        assert (status.status, len(answer["result"]["document"]) > 4_000_000) == (200, True)
    before = read_peak(pid)
    where = urlsplit(server.url)
    body = json.dumps(EXPORT).encode()
    with ExitStack() as open_sockets:
        for number in range(SOCKETS):
            one = open_sockets.enter_context(socket.socket())
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            one.connect((where.hostname, where.port))
            head = (
                f"POST /mcp HTTP/1.1\r\nHost: {where.netloc}\r\nAuthorization: Bearer {hostile[number % CALLERS]}\r\n"
                f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
            )
            one.sendall(head.encode() + body)
        begun, worst = time.monotonic(), 0.0
        read: list[int] = []
        while time.monotonic() - begun < 30 and read.count(200) < 3:
            asked = time.monotonic()
            assert server.ask(SMALL, good)[0].status == 200
            worst = max(worst, time.monotonic() - asked)
            read.append(server.ask(EXPORT, good)[0].status)
        assert read.count(200) == 3, "who reads what it asks for is answered, though all the room was taken"
        assert worst < 4.0
        assert read_peak(pid) - before <= MOST_GROWTH
