"""What `make bench` starts can be started: its own echo server, whose catalogue is written beforehand."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest

from bench.hard_anchors import KINDS, judge, make_case
from bench.servers.echo import Echo
from postil.anchor.model import Source, Span
from postil.anchor.relocate import relocate_all
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


@pytest.mark.parametrize("kind", KINDS)
def test_hard_cases_say_what_is_true(kind: str) -> None:
    functions = [
        f"def step_{number}(value):\n    if value > {number}:\n        go(value)\n    return {number}\n\n\n"
        for number in range(9)
    ]
    case = make_case(kind, "a.py", "".join(functions), Random(5))
    assert case is not None
    old, new = case.old.split("\n"), case.new.split("\n")
    for line, now in case.truth.items():
        if now is not None and kind != "storm":
            assert old[line - 1] == new[now - 1]
    assert kind == "storm" or (None in case.truth.values()) == (kind == "deleted")
    found = relocate_all(Source(case.old, "a.py"), Source(case.new, "a.py"), [Span(line) for line in case.truth])
    verdicts = [judge(truth, each) for truth, each in zip(case.truth.values(), found, strict=True)]
    assert verdicts.count("wrong") <= len(verdicts) // 10
