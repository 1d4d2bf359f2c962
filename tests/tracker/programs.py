"""Running git, and the real `git mile` and `postil` in a process of their own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any


def run(where: Path, *words: str, program: str = "git_mile", stdin: str = "") -> subprocess.CompletedProcess[str]:
    code = f"import sys; from postil.surfaces.shell.main import {program} as run; sys.exit(run())"
    return subprocess.run(
        [sys.executable, "-c", code, *words], cwd=where, capture_output=True, text=True, input=stdin, timeout=60
    )


def said(where: Path, *words: str, program: str = "git_mile") -> str:
    done = run(where, *words, program=program)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def answered(where: Path, *words: str, program: str = "git_mile") -> Any:
    return json.loads(said(where, *words, "--json", program=program))


def git(where: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=where, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout
