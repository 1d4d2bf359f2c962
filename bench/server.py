"""A server under measurement: how it is started, spoken to over stdio, and what the kernel says it used."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
from msgspec import Struct

ROOT = Path(__file__).resolve().parents[1]
# Every Python server runs in the same virtual environment, so that none pays for another's packages.
PYTHON = ROOT / ".venv-bench" / "bin" / "python"
NODE = ROOT / ".venv" / "bin" / "node"

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "bench", "version": "1"},
    },
}
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}


class Server(Struct, frozen=True):
    """One implementation of the echo tool."""

    name: str
    command: tuple[str, ...]


def python(module: str) -> tuple[str, ...]:
    return (str(PYTHON), "-m", f"bench.servers.{module}")


def node(script: str) -> tuple[str, ...]:
    return (str(NODE), f"tests/node/servers/{script}.mjs")


OURS = Server("Postil", python("ours"))
LOWLEVEL = Server("mcp Server", python("sdk_lowlevel"))
TYPESCRIPT = Server("TypeScript v2", node("typescript_v2"))
SERVERS = (
    OURS,
    LOWLEVEL,
    Server("mcp MCPServer", python("sdk_mcpserver")),
    Server("FastMCP", python("fast")),
    Server("TypeScript v1", node("typescript_v1")),
    TYPESCRIPT,
)


def environment() -> dict[str, str]:
    """No inherited settings: what the user exported must not decide what is measured.

    A token makes Postil offer the GitLab part's tools as well; nothing here calls them.
    """
    kept = {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/"), "LANG": "C.UTF-8"}
    return {**kept, "GITLAB_TOKEN": "not-a-token", "GITLAB_URL": "https://gitlab.invalid"}


class Process:
    """A started server, spoken to in lines of JSON."""

    def __init__(self, server: Server, *arguments: str, cwd: Path = ROOT) -> None:
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(
            [*server.command, *arguments], stdin=pipe, stdout=pipe, stderr=pipe, cwd=cwd, env=environment()
        )
        assert self._process.stdin and self._process.stdout and self._process.stderr
        self.stdin, self.stdout, self.stderr = self._process.stdin, self._process.stdout, self._process.stderr
        self.pid = self._process.pid

    def send(self, *messages: object) -> None:
        self.stdin.write(b"".join(msgspec.json.encode(message) + b"\n" for message in messages))
        self.stdin.flush()

    def receive(self) -> dict[str, object]:
        line = self.stdout.readline()
        if not line:
            raise RuntimeError(f"the server ended: {self.stderr.read()[-2000:].decode()}")
        return msgspec.json.decode(line, type=dict[str, object])

    def handshake(self) -> None:
        self.send(INITIALIZE)
        if "result" not in self.receive():
            raise RuntimeError("the server refused to initialize")
        self.send(INITIALIZED)

    def cpu(self) -> float:
        """Seconds of CPU that the process and its children have used, those that ended included."""
        return sum(_cpu(pid) for pid in (self.pid, *_children(self.pid))) + _ended_children(self.pid)

    def rss(self) -> int:
        """Resident bytes of the process and its children."""
        return sum(_rss(pid) for pid in (self.pid, *_children(self.pid)))

    def end(self) -> None:
        self.stdin.close()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self.stdout.close()
        self.stderr.close()


@contextmanager
def started(server: Server, *arguments: str, cwd: Path = ROOT) -> Iterator[Process]:
    """A server that is ended when its measurement is over."""
    process = Process(server, *arguments, cwd=cwd)
    try:
        yield process
    finally:
        process.end()


def _cpu(pid: int) -> float:
    # The process's own CPU clock (clock_getcpuclockid): nanoseconds, of all threads that it had.
    return time.clock_gettime((~pid << 3) | 2)


def _ended_children(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[13:15])) / os.sysconf("SC_CLK_TCK")


def _rss(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _children(pid: int) -> list[int]:
    listed = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(child) for child in listed.read_text().split()] if listed.exists() else []


def ended_cpu(command: list[str], stdin: bytes = b"", cwd: Path | None = None) -> float:
    """Seconds of CPU of a whole process, from start to end."""
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        cwd=cwd or ROOT,
        env=environment(),
    )
    assert process.stdin and process.stderr
    process.stdin.write(stdin)
    process.stdin.close()
    said = process.stderr.read()
    process.stderr.close()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        print(said.decode(errors="replace"), file=sys.stderr)
        raise RuntimeError(f"{command} exited {process.returncode}")
    return used.ru_utime + used.ru_stime
