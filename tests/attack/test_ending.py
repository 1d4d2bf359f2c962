"""SIGTERM while a hostile source is parsed: the server ends at once, and so does what it started."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
import urllib.request
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread
from typing import Any, TypeVar

import pytest

from tests.surfaces.programs import BIN
from tests.workspace.repositories import new_repository
from tests.workspace.workers.test_parsing import DEAR

T = TypeVar("T")
PATIENCE = 60.0
TRIES = 20
TICKS = os.sysconf("SC_CLK_TCK")
pytestmark = pytest.mark.skipif(
    not Path("/proc/self/task").is_dir(), reason="needs /proc to see a process's children and times"
)


def list_children(pid: int) -> list[int]:
    """The processes that one has started and that live."""
    found: list[int] = []
    for thread in Path(f"/proc/{pid}/task").iterdir():
        with suppress(OSError):  # it has ended meanwhile
            found += map(int, (thread / "children").read_text().split())
    return found


def read_cpu_time(pid: int) -> float:
    """Seconds of CPU of a process, without its children's."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def wait_until(holds: Callable[[], T], seconds: float) -> T | None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if found := holds():
            return found
        time.sleep(0.001)
    return None


def call(name: str, method: str, params: dict[str, Any]) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": name, "method": method, "params": params}).encode()


def remark(file: str) -> bytes:
    arguments = {"filePath": file, "line": 1, "text": "x"}
    return call(f"call {file}", "tools/call", {"name": "add_comment", "arguments": arguments})


def make_environ(folder: Path) -> dict[str, str]:
    """An environment whose state, cache and config are a test's own."""
    return {**os.environ, **{f"XDG_{name}_HOME": str(folder / name) for name in ("STATE", "CACHE", "CONFIG")}}


@contextmanager
def serve(folder: Path, root: Path, *words: str) -> Generator[subprocess.Popen[bytes]]:
    environ = make_environ(folder)
    pipe, errors = subprocess.PIPE, subprocess.PIPE if words else None
    command = [BIN / "postil", "serve", *words]
    with subprocess.Popen(command, cwd=root, env=environ, stdin=pipe, stdout=pipe, stderr=errors) as server:
        try:
            yield server
        finally:
            server.kill()


def write(server: subprocess.Popen[bytes], frame: bytes) -> None:
    assert server.stdin is not None
    server.stdin.write(frame + b"\n")
    server.stdin.flush()


def greet(server: subprocess.Popen[bytes]) -> None:
    client = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    write(server, call("hello", "initialize", client))


def find_worker(server: subprocess.Popen[bytes], root: Path, ask: Callable[[str], None]) -> int:
    for number in range(TRIES):  # a worker may be over before it is seen: then the next text
        (root / f"A{number}.go").write_text(f"// {number}\n{DEAR}")
        ask(f"A{number}.go")
        if children := wait_until(lambda: list_children(server.pid), 5.0):
            return children[0]
    pytest.fail("no worker was seen")


def check_end(server: subprocess.Popen[bytes], worker: int = 0) -> None:
    server.send_signal(signal.SIGTERM)
    assert server.wait(PATIENCE) in (0, 143, -signal.SIGTERM)
    if worker:
        wait_until(lambda: not os.path.exists(f"/proc/{worker}"), PATIENCE)
        assert not os.path.exists(f"/proc/{worker}")


def test_a_server_that_parses_a_hostile_source_ends_when_told(tmp_path: Path) -> None:
    """It ignored the signal for 40 s."""
    root = new_repository(tmp_path / "r")
    with serve(tmp_path, root) as server:
        greet(server)
        worker = find_worker(server, root, lambda file: write(server, remark(file)))
        check_end(server, worker)


def test_a_server_over_http_that_parses_a_hostile_source_ends_when_told(tmp_path: Path) -> None:
    root = new_repository(tmp_path / "r")
    with serve(tmp_path, root, "--http", "127.0.0.1:0") as server:
        assert server.stderr is not None
        where = re.search(r"serving (\S+)", server.stderr.readline().decode())
        token = re.search(r"token (\S+)", server.stderr.readline().decode())
        assert where is not None
        assert token is not None
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token[1]}"}

        def post(file: str) -> None:
            arguments = {"filePath": file, "line": 1, "text": "x"}
            request = urllib.request.Request(where[1], call(file, "add_comment", arguments), headers)
            with suppress(OSError), urllib.request.urlopen(request, timeout=PATIENCE):
                pass

        def ask(file: str) -> None:
            Thread(target=post, args=(file,), daemon=True).start()

        worker = find_worker(server, root, ask)
        check_end(server, worker)


def test_a_server_that_parses_in_its_own_process_ends_when_told(tmp_path: Path) -> None:
    """Each of these takes it some 30 ms of native work, before it leaves it to a worker."""
    root = new_repository(tmp_path / "r")
    with serve(tmp_path, root) as server:
        greet(server)
        assert server.stdout is not None
        assert server.stdout.readline()
        before = read_cpu_time(server.pid)
        for number in range(TRIES * 3):
            (root / f"a{number}.py").write_text(f"# {number}\n" + "~\n" * 24_000)
            write(server, remark(f"a{number}.py"))
        assert wait_until(lambda: read_cpu_time(server.pid) > before + 0.2, PATIENCE)
        assert server.poll() is None, "it is still at work"
        check_end(server)
