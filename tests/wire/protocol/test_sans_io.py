"""The protocol does no I/O: it cannot, because nothing that does can be imported by it."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import postil
from tests.wire.protocol.session_alone import BLOCKED

ROOT = Path(__file__).parents[3]
PROTOCOL = Path(postil.__file__).parent / "wire" / "protocol"


def test_a_whole_session_needs_no_event_loop_no_thread_and_no_socket() -> None:
    command = [sys.executable, "-m", "tests.wire.protocol.session_alone"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "a whole session\n", "")


@pytest.mark.parametrize("module", sorted(path.relative_to(PROTOCOL).as_posix() for path in PROTOCOL.rglob("*.py")))
def test_no_module_of_the_protocol_names_what_runs_things_or_the_runtime(module: str) -> None:
    named: set[str] = set()
    for node in ast.walk(ast.parse((PROTOCOL / module).read_text("utf-8"))):
        if isinstance(node, ast.Import):
            named |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            named.add(node.module or "")
    outside = ("postil.wire.runtime", "postil.wire.transports", "postil.wire.server", "postil.surfaces")
    assert not [name for name in named if name.startswith(outside) or name.partition(".")[0] in BLOCKED]
