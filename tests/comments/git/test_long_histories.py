"""Histories of more commits than are read at once: what is told of them is true, or says how far it looked."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from postil.comments.git import blame, culprits, timeline, versions
from tests.comments.workspaces import FUNCTIONS, Comments, commit, root_of, workspace, write
from tests.workspace.repositories import git

STEP = 4
"""Commits that are read at first, here: tests need no 500."""


@pytest.fixture
def comments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Comments:
    monkeypatch.setattr(versions, "MOST_COMMITS", STEP)
    monkeypatch.setattr(blame, "AT_ONCE", STEP)
    monkeypatch.setattr(timeline, "MOST_READ", STEP)
    return workspace(tmp_path, **{"a.py": FUNCTIONS})


def go_on(root: Path, name: str, contents: list[bytes]) -> None:
    """Commit a file as many times as there are contents for it."""
    branch = git(root, "symbolic-ref", "HEAD").strip()
    stream = b""
    for number, data in enumerate(contents):
        start = f"from {branch}^0\n" if number == 0 else ""
        head = f"commit {branch}\ncommitter Ann <ann@example.org> {2_000_000_000 + number} +0000\n"
        stream += f"{head}data 4\nmore\n{start}M 100644 inline {name}\ndata {len(data)}\n".encode() + data + b"\n"
    subprocess.run(["git", "-C", root, "fast-import", "--quiet"], input=stream, check=True)
    git(root, "reset", "-q", "--hard")


def add_and_age(comments: Comments) -> str:
    """Comment on code, and change other code of its file in more commits than are read at once."""
    made = comments.add("a.py", 26, "why six?", "NOTE", "ann").commentId
    root = root_of(comments)
    commit(root, "commented")
    go_on(root, "a.py", [f"# {number}\n{FUNCTIONS}".encode() for number in range(3 * STEP)])
    return made


def test_blame_finds_the_commit_that_made_the_code_however_many_changed_the_file_since(comments: Comments) -> None:
    blamed = comments.blame(add_and_age(comments))
    assert [(each.commit.subject, each.did) for each in blamed.touches] == [("first", "added")]
    assert blamed.complete


def test_blame_that_runs_out_of_time_says_how_far_it_looked(
    comments: Comments, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = add_and_age(comments)
    monkeypatch.setattr(blame, "PATIENCE", -1.0)
    blamed = comments.blame(made)
    assert (blamed.touches, blamed.complete, blamed.looked) == ((), False, STEP)
    assert "No commit has touched" not in blamed.for_model()
    assert f"last {STEP} commits" in blamed.for_model()
    assert "--all" in blamed.for_model()
    everything = comments.history.blame(made, all=True)
    assert ([each.commit.subject for each in everything.touches], everything.complete) == (["first"], True)


def test_blame_of_code_that_went_looks_back_as_far(comments: Comments, monkeypatch: pytest.MonkeyPatch) -> None:
    made = add_and_age(comments)
    root = root_of(comments)
    gone = FUNCTIONS.replace("def function_6(value):\n    return value + 6\n\n\n", "")
    write(root, "a.py", gone)
    commit(root, "took it out")
    go_on(root, "a.py", [f"{gone}# {number}\n".encode() for number in range(3 * STEP)])
    blamed = comments.blame(made)
    assert [each.commit.subject for each in blamed.touches] == ["took it out", "first"]
    assert comments.show(made).commit == blamed.touches[0].commit
    write(root, "b.py", "import os\n")
    commit(root, "something else")  # of the same history it would be known
    monkeypatch.setattr(blame, "PATIENCE", -1.0)
    monkeypatch.setattr(culprits, "PATIENCE", -1.0)
    unknown = comments.blame(made)
    assert (unknown.touches, unknown.complete) == ((), False)
    assert "no commit had it" not in unknown.for_model()


def test_the_history_of_a_comment_names_the_commit_that_brought_it_not_the_oldest_that_was_read(
    comments: Comments, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = comments.add("a.py", 26, "why six?", "NOTE", "ann").commentId
    root = root_of(comments)
    first = commit(root, "commented")
    said = (root / "a.py.comments").read_bytes()
    go_on(root, "a.py.comments", [said.replace(b"why six?", b"why %d?" % number) for number in range(3 * STEP)])
    lifetime = comments.history.lifetime(made)
    begun = lifetime.changes[0]
    assert (begun.did, begun.commit and begun.commit.id, lifetime.complete) == ("made", first, True)
    assert len(lifetime.changes) == 1 + 3 * STEP
    monkeypatch.setattr(timeline, "PATIENCE", -1.0)
    cut = comments.history.lifetime(made)
    assert (cut.changes[0].did, cut.changes[0].commit, cut.complete) == ("made", None, False)
    assert "--all" in cut.for_model()
    assert comments.history.lifetime(made, all=True) == lifetime
