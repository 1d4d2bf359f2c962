"""What `make bench` starts can be started: its own echo server, whose catalogue is written beforehand."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec

from bench.servers.echo import Echo
from postil.core.arguments.published import describe
from postil.core.catalogue import Catalogue

ROOT = Path(__file__).resolve().parents[1]


def test_the_catalogue_of_the_measured_server_is_the_one_described() -> None:
    written = msgspec.json.decode((ROOT / "bench/servers/echo.json").read_bytes(), type=Catalogue)
    described = describe([("echo", "echo", Echo)])
    assert msgspec.json.decode(msgspec.json.encode(written)) == msgspec.json.decode(msgspec.json.encode(described))


def test_the_measured_server_answers() -> None:
    frames: list[dict[str, Any]] = [
        {"id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {}}},
        {"id": 2, "method": "tools/call", "params": {"name": "echo", "arguments": {"text": "hello"}}},
    ]
    sent = b"".join(msgspec.json.encode({"jsonrpc": "2.0", **frame}) + b"\n" for frame in frames)
    command = [sys.executable, "-m", "bench.servers.ours"]
    got = subprocess.run(command, input=sent, capture_output=True, cwd=ROOT, check=True, timeout=60).stdout.splitlines()
    assert msgspec.json.decode(got[1])["result"]["content"] == [{"type": "text", "text": "hello"}]
