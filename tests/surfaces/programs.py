"""The real executables, run as users run them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

BIN = Path(sys.executable).parent


def run(
    program: str, *words: str | bytes, cwd: Path, stdin: str = "", **environ: str
) -> subprocess.CompletedProcess[str]:
    """Run one of the installed programs to its end."""
    return subprocess.run(
        [BIN / program, *words],
        cwd=cwd,
        input=stdin,
        env={**os.environ, **environ},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def talk(program: str, *words: str, frames: list[dict[str, Any]], cwd: Path, **environ: str) -> list[dict[str, Any]]:
    """Send frames to a server, close its input, and read all that it answered."""
    lines = "".join(json.dumps({"jsonrpc": "2.0", **frame}) + "\n" for frame in frames)
    done = run(program, *words, cwd=cwd, stdin=lines, **environ)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def hello(version: str = "2025-06-18") -> dict[str, Any]:
    """The `initialize` request."""
    client = {"name": "test", "version": "1"}
    return {
        "id": 1,
        "method": "initialize",
        "params": {"protocolVersion": version, "capabilities": {}, "clientInfo": client},
    }


def imported_by(folder: Path, words: list[str]) -> set[str]:
    """Every module that was imported by the time the command had ended."""
    code = (
        "import sys; before = set(sys.modules); from postil.surfaces.shell.main import main; status = main();"
        "sys.stderr.write(chr(10).join(set(sys.modules) - before)); sys.exit(status)"
    )
    done = subprocess.run(
        [BIN / "python", "-c", code, *words],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return set(done.stderr.split())
