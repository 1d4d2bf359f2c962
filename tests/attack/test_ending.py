"""SIGTERM while a hostile source is parsed: the server ends at once, and so does what it started."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.surfaces.programs import BIN
from tests.workspace.repositories import new_repository
from tests.workspace.workers.test_parsing import DEAR

PATIENCE = 60.0
TRIES = 20


def list_children(pid: int) -> list[int]:
    """The processes that one has started and that live."""
    found: list[int] = []
    for thread in Path(f"/proc/{pid}/task").iterdir():
        with suppress(OSError):  # it has ended meanwhile
            found += map(int, (thread / "children").read_text().split())
    return found


def send(server: subprocess.Popen[bytes], name: str, method: str, params: dict[str, Any]) -> None:
    assert server.stdin is not None
    server.stdin.write(json.dumps({"jsonrpc": "2.0", "id": name, "method": method, "params": params}).encode() + b"\n")
    server.stdin.flush()


def wait_for_child(pid: int) -> int:
    until = time.monotonic() + 5.0
    while time.monotonic() < until:
        for child in list_children(pid):
            with suppress(OSError):  # it has ended meanwhile
                if b"python" in Path(f"/proc/{child}/cmdline").read_bytes():  # git is no worker
                    return child
        time.sleep(0.001)
    return 0


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="needs /proc to see a process's children")
def test_a_server_that_parses_a_hostile_source_ends_when_told(tmp_path: Path) -> None:
    """It ignored the signal for 40 s."""
    root = new_repository(tmp_path / "r")
    environ = {**os.environ, **{f"XDG_{name}_HOME": str(tmp_path / name) for name in ("STATE", "CACHE", "CONFIG")}}
    with subprocess.Popen(
        [BIN / "postil", "serve"], cwd=root, env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as server:
        client = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
        send(server, "hello", "initialize", client)
        for number in range(TRIES):  # a worker may be over before it is seen: then the next text
            (root / f"A{number}.go").write_text(f"// {number}\n{DEAR}")
            arguments = {"filePath": f"A{number}.go", "line": 1, "text": "x"}
            send(server, f"call {number}", "tools/call", {"name": "add_comment", "arguments": arguments})
            if worker := wait_for_child(server.pid):
                break
        else:
            pytest.fail("no worker was seen")
        server.send_signal(signal.SIGTERM)
        assert server.wait(PATIENCE) in (0, 143, -signal.SIGTERM)
    until = time.monotonic() + PATIENCE
    while os.path.exists(f"/proc/{worker}") and time.monotonic() < until:
        time.sleep(0.01)
    assert not os.path.exists(f"/proc/{worker}")
