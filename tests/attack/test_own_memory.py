"""What a hostile repository costs the server itself: the peak of its own memory, without what its workers take."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from postil.workspace.workers.parsing import LARGEST
from tests.attack.test_ending import greet, remark, serve, write
from tests.workspace.repositories import new_repository

MOST_GROWTH = 64 << 20
ORDINARY = {"a.py": "def a(): pass\n", "a.java": "class A {}\n", "a.cs": "class A {}\n", "a.go": "package a\n"}
HOSTILE = {
    "b.py": "/*\n" * 2700, "c.py": "~\n" * 30_000, "b.java": "a<\n" * 5000, "c.java": "template<\n" * 6000,
    "b.cs": "a<\n" * 5000, "b.go": "<!--\n" * 3000, "many.txt": "a\n" * 200_000, "deep.py": "[" * 100_000,
}  # fmt: skip


def read_peak(pid: int) -> int:
    found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    assert found is not None
    return int(found[1]) * 1024


@pytest.mark.skipif(not Path("/proc/self/status").is_file(), reason="needs /proc to see a process's peak of memory")
def test_the_server_itself_does_not_grow_when_hostile_sources_are_commented(tmp_path: Path) -> None:
    root = new_repository(tmp_path / "r")
    for name, text in {**ORDINARY, **HOSTILE}.items():
        (root / name).write_text(text)
    (root / "nested.txt").write_text("a\n")
    (root / "nested.txt.comments").write_text("[" * 2_000_000)
    with serve(tmp_path, root) as server:
        assert server.stdout is not None
        greet(server)
        server.stdout.readline()

        def ask(frame: bytes) -> None:
            name = json.loads(frame)["id"]
            write(server, frame)
            while json.loads(server.stdout.readline()).get("id") != name:  # pyright: ignore[reportOptionalMemberAccess]
                pass

        for name in ORDINARY:
            ask(remark(name))
        before, grown = read_peak(server.pid), dict[str, int]()
        for name in (*HOSTILE, "nested.txt"):
            ask(remark(name))
            grown[name] = read_peak(server.pid) - before
        assert max(grown.values()) <= MOST_GROWTH, {name: f"{size >> 20} MB" for name, size in grown.items()}


@pytest.mark.skipif(sys.platform != "linux", reason="other systems bound a process's memory otherwise, or not")
def test_a_worker_gets_no_more_memory_than_its_limit() -> None:
    program = (
        "from postil.workspace.workers import parsing\nparsing._limit()\n"
        "try:\n    bytearray(parsing.LARGEST)\nexcept MemoryError:\n    print('refused')\n"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert said.stdout == "refused\n"
    assert LARGEST <= 128 << 20
