"""The processes that read many files at once: they run our code only."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from postil.comments.index.refresh_worker import ENOUGH
from tests.comments.shop import CODE, line_of
from tests.comments.workspaces import Comments, commit, root_of, workspace, write

# Two processors, whatever this machine has: a single one would read all files in the process itself.
SHELL = "import os, sys; os.cpu_count = lambda: 2; from postil.surfaces.shell.main import main; sys.exit(main())"


def commented_files(root: Path, count: int) -> None:
    for number in range(count):
        comment = {"id": f"c_{number}", "line": 1, "text": f"note {number}", "author": "ann"}
        comment |= {"created": "2026-01-01T00:00:00.000Z", "updated": "2026-01-01T00:00:00.000Z"}
        write(root, f"code{number}.py", "value = 1\n")
        sidecar = {"file": f"code{number}.py", "version": "1.0", "comments": [comment]}
        write(root, f"code{number}.py.comments", json.dumps(sidecar))


@pytest.mark.parametrize("command", [["status"], ["comments", "list", "--limit", "1000"]])
def test_modules_that_lie_in_the_repository_are_never_run(tmp_path: Path, command: list[str]) -> None:
    repository, trap = tmp_path / "cloned", tmp_path / "ran"
    commented_files(repository, ENOUGH + 10)
    hostile = f"open({str(trap)!r}, 'a').write(__name__ + chr(10))\nraise ImportError(__name__)\n"
    for name in ("msgspec.py", "postil/__init__.py", "sitecustomize.py", "usercustomize.py", "hashlib.py", "os.py"):
        write(repository, name, hostile)
    done = subprocess.run(
        [sys.executable, "-P", "-c", SHELL, *command], cwd=repository, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert not trap.exists(), trap.read_text()
    assert "Traceback" not in done.stderr  # the workers themselves did start and did the work


def test_several_workers_read_what_one_process_reads(tmp_path: Path) -> None:
    commented_files(tmp_path, ENOUGH + 10)
    program = [sys.executable, "-P", "-c", SHELL, "comments", "list", "--limit", "1000"]
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path.parent / "cache")}
    listed = subprocess.run(program, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60).stdout
    assert listed.count("note ") == ENOUGH + 10


@pytest.fixture
def comments(tmp_path: Path) -> Comments:
    return workspace(tmp_path, **{"shop.py": CODE})


def test_after_a_pull_that_changed_many_files_all_are_placed(comments: Comments) -> None:
    root = root_of(comments)
    here = line_of(CODE, "taxed = ")
    for number in range(ENOUGH + 5):
        write(root, f"many/shop{number}.py", CODE)
        comments.add(f"many/shop{number}.py", here, f"in {number}", "NOTE")
    commit(root, "many")
    for number in range(ENOUGH + 5):
        write(root, f"many/shop{number}.py", f"# {number}\n" * (number % 3 + 1) + CODE)
    found = comments.listed("many").comments
    assert {(each.filePath, each.line, each.text) for each in found} == {
        (f"many/shop{number}.py", here + number % 3 + 1, f"in {number}") for number in range(ENOUGH + 5)
    }
