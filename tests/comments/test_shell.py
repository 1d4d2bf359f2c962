"""Comments as a person meets them in the shell: real processes, in any folder of the workspace."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.comments.test_durability import shell
from tests.comments.workspaces import commit, workspace, write

CODE = "".join(f"value_{n} = {n}\n" for n in range(1, 31))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    workspace(tmp_path / "work", **{"top.py": CODE, "src/deep/a.py": CODE, "src/deep/src/deep/a.py": CODE})
    return tmp_path / "work"


def said(folder: Path, *words: str) -> str:
    done = shell(folder, "comments", *words)
    assert done.returncode == 0, done.stderr
    return done.stdout


def told(folder: Path, *words: str) -> Any:
    return json.loads(said(folder, *words, "--json"))


def test_paths_count_from_the_folder_one_is_in(root: Path) -> None:
    deep = root / "src" / "deep"
    assert told(deep, "add", "a.py", "3", "here")["filePath"] == "src/deep/a.py"
    assert told(deep, "add", "../../top.py", "3", "up")["filePath"] == "top.py"
    assert told(deep, "add", str(root / "top.py"), "4", "absolute")["filePath"] == "top.py"
    identity = told(deep, "add", "src/deep/a.py", "5", "the nearer one")["commentId"]
    assert told(deep, "show", identity)["comment"]["filePath"] == "src/deep/src/deep/a.py"
    assert told(root / "src", "add", "top.py", "6", "from the root")["filePath"] == "top.py"
    assert len(told(deep, "list", ".")["comments"]) == 2
    assert len(told(deep, "list", "../..")["comments"]) == 5
    assert len(told(deep, "list", "a.py")["comments"]) == 1
    assert len(told(deep, "list")["comments"]) == 5
    assert told(deep, "move", identity, "a.py", "9")["targetFile"] == "src/deep/a.py"
    assert len(told(deep, "search", "here|nearer", "--file", "a.py")["comments"]) == 2
    outside = shell(deep, "comments", "add", "/etc/passwd", "1", "x")
    assert (outside.returncode, "absolute" in outside.stderr) == (2, True)


def test_a_life_in_the_shell(root: Path) -> None:
    identity = told(root, "add", "top.py", "8", "TODO: think of ${functionName}", "--end-line", "9")["commentId"]
    assert told(root, "list")["comments"][0]["author"]
    said(root, "reply", identity, "done?")
    said(root, "edit", identity, "FIXME: think again")
    said(root, "resolve", identity)
    commit(root, "commented")
    write(root, "top.py", "# above\n" + CODE)
    assert told(root, "show", identity)["comment"]["line"] == 9
    assert "9-10" in said(root, "list", "--status", "resolved")
    assert "top.py:8 → top.py:9" in said(root, "relocate", "--dry-run")
    said(root, "relocate")
    assert told(root, "undo", identity)["targetLine"] == 8
    assert "edited" not in said(root, "history", identity)
    assert len(told(root, "at", "HEAD")["comments"]) == 1
    assert told(root, "blame", identity)["touches"][0]["did"] == "added"
    assert said(root, "orphans") == "No comment has lost its code.\n"
    for format_ in ("json", "markdown", "jsonl", "csv", "html"):
        assert "think again" in said(root, "export", format_)
    assert "nothing wrong" in said(root, "check")
    nothing = shell(root, "comments", "import", "top.py")
    assert (nothing.returncode, "0 imported" in nothing.stdout) == (5, True)
    assert said(root, "inline", "top.py").startswith("0 comments")  # it is resolved
    said(root, "delete", identity)
    assert said(root, "list") == "No comments.\n"
    assert shell(root, "comments", "show", identity).returncode == 5


@pytest.mark.parametrize(
    ("words", "missing"),
    [
        (("add", "top.py", "3"), "TEXT"),
        (("move", "c_1"), "TARGET-FILE"),
        (("move", "c_1", "top.py"), "TARGET-LINE"),
        (("at",), "REVISION"),
        (("copy", "c_1", "top.py"), "LINE"),
    ],
)
def test_a_command_asks_for_what_it_needs(root: Path, words: tuple[str, ...], missing: str) -> None:
    done = shell(root, "comments", *words)
    assert done.returncode == 2
    assert missing in done.stderr


def test_only_reading_checks_and_does_not_repair(root: Path) -> None:
    broken = write(root, "top.py.comments", "{")
    checked = shell(root, "--read-only", "comments", "check")
    assert "top.py" in checked.stdout
    refused = shell(root, "--read-only", "comments", "check", "--fix")
    assert refused.returncode == 3
    assert broken.read_text() == "{"
