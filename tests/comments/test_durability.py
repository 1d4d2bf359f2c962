"""Writes that are cut short: a full disk, a killed process, a power cut. What was acknowledged is there."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tests.comments.workspaces import sidecar, workspace, write

CODE = "".join(f"value_{n} = {n}\n" for n in range(1, 31))
SHELL = "import sys; from postil.surfaces.shell.main import main; sys.exit(main())"


def shell(root: Path, *words: str, prefix: tuple[str, ...] = (), before: str = "") -> subprocess.CompletedProcess[str]:
    """`postil …` as a process of its own."""
    command = [*prefix, sys.executable, "-c", before + SHELL, *words]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=60)


def test_a_disk_that_is_full_says_so_and_leaves_every_file_whole(tmp_path: Path) -> None:
    comments = workspace(tmp_path, **{"a.py": CODE, "b.py": CODE})
    identity = comments.add("a.py", 1, "first", "NOTE").commentId
    before = sidecar(tmp_path, "a.py")
    small = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (600, 600));"
    for words in (
        ("comments", "add", "a.py", "2", "second"),
        ("comments", "edit", identity, "x" * 2000),
        ("comments", "move", identity, "b.py", "3"),
    ):
        done = shell(tmp_path, *words, before=small)
        assert done.returncode == 7, done
        assert "cannot be written" in done.stderr
        assert "Traceback" not in done.stderr
    assert sidecar(tmp_path, "a.py") == before
    assert not (tmp_path / "b.py.comments").exists()
    assert [name for name in os.listdir(tmp_path) if name.startswith(".postil")] == []
    assert shell(tmp_path, "comments", "move", identity, "b.py", "3").returncode == 0
    assert comments.show(identity).comment.filePath == "b.py"


def syscalls(root: Path, strace: str, *words: str) -> list[str]:
    """The writes, syncs and renames of a command that touch sidecars and the move's journal, in order."""
    log = root.parent / "trace"
    trace = ("-f", "-y", "-e", "trace=write,fsync,fdatasync,rename,renameat,renameat2,unlink,unlinkat")
    done = shell(root, *words, prefix=(strace, *trace, "-o", str(log)))
    assert done.returncode == 0, done.stderr
    found: list[str] = []
    for line in log.read_text().splitlines():
        call = re.search(r"(write|fsync|fdatasync|rename\w*|unlink\w*)\((.*)", line)
        if call is None:
            continue
        name, rest = call[1].rstrip("2").removesuffix("at"), call[2]
        if name == "write" and rest.startswith("1<"):
            found.append("answer")
        elif name == "rename":
            target = re.findall(r'"([^"]*)"', rest)[-1]
            found.append(f"rename {target.rsplit('/', 1)[-1]}")
        elif name in ("fsync", "fdatasync"):
            what = re.search(r"<([^>]*)>", rest)
            found.append("sync folder" if what and os.path.isdir(what[1]) else "sync file")
        elif name == "unlink" and ".move" in rest:
            found.append("unlink journal")
    return [each for each in found if not each.startswith("rename") or each.endswith((".comments", ".move"))]


def test_a_comment_is_synced_before_it_is_named_and_before_it_is_answered(
    tmp_path: Path, needs: Callable[[str], str]
) -> None:
    root = tmp_path / "work"
    workspace(root, **{"a.py": CODE})
    calls = syscalls(root, needs("strace"), "comments", "add", "a.py", "3", "durable")
    named = calls.index("rename a.py.comments")
    assert calls[named - 1 : named + 2] == ["sync file", "rename a.py.comments", "sync folder"]
    assert calls[-1] == "answer"


def test_a_move_is_noted_then_in_its_target_then_out_of_its_source(tmp_path: Path, needs: Callable[[str], str]) -> None:
    root = tmp_path / "work"
    comments = workspace(root, **{"a.py": CODE, "b.py": CODE})
    comments.add("a.py", 1, "stays", "NOTE")
    identity = comments.add("a.py", 3, "moves", "NOTE").commentId
    calls = syscalls(root, needs("strace"), "comments", "move", identity, "b.py", "5")
    journal = next(each for each in calls if each.endswith(".move"))
    steps = [journal, "rename b.py.comments", "rename a.py.comments"]
    places = [calls.index(step) for step in steps]
    assert places == sorted(places)
    for place in places:
        assert calls[place - 1 : place + 2 : 2] == ["sync file", "sync folder"]
    assert places[-1] < calls.index("unlink journal")
    assert calls[-1] == "answer"


KILLED = """
import os
from postil.workspace import files
original = os.{step}
def dying(*arguments, **named):
    if {when}:
        os.kill(os.getpid(), 9)
    return original(*arguments, **named)
os.{step} = dying
"""


def test_a_process_killed_at_any_step_of_a_write_leaves_the_old_file_or_the_new_one(tmp_path: Path) -> None:
    comments = workspace(tmp_path, **{"a.py": CODE})
    comments.add("a.py", 1, "first", "NOTE")
    for step in ("write", "fsync", "rename"):
        before = sidecar(tmp_path, "a.py")
        killing = KILLED.format(step=step, when="True")
        assert shell(tmp_path, "comments", "add", "a.py", "5", "second", before=killing).returncode == -9
        assert sidecar(tmp_path, "a.py") == before
        done = shell(tmp_path, "comments", "add", "a.py", "2", f"after {step}", "--json")
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["commentId"].encode() in sidecar(tmp_path, "a.py")
    assert [each.text for each in comments.listed().comments] == ["first", "after write", "after fsync", "after rename"]


def test_a_damaged_sidecar_is_named_by_the_shell_and_stays(tmp_path: Path) -> None:
    workspace(tmp_path, **{"a.py": CODE, "b.py": CODE})
    write(tmp_path, "a.py.comments", b'{"file": "a.py", "version": "2.1.0", "comments": {"oops": 1}}')
    for words in (("add", "a.py", "2", "x"), ("add", "a.py", "2", "x", "--json")):
        done = shell(tmp_path, "comments", *words)
        assert done.returncode == 7
        assert "a.py.comments" in done.stderr + done.stdout
        assert "check --fix" in done.stderr + done.stdout
    assert shell(tmp_path, "comments", "add", "b.py", "2", "fine").returncode == 0
    listed = shell(tmp_path, "comments", "list")
    assert "fine" in listed.stdout
    assert "a.py.comments" in listed.stdout + listed.stderr
    assert shell(tmp_path, "comments", "check").returncode == 7
    assert (tmp_path / "a.py.comments").read_bytes().startswith(b'{"file": "a.py"')
