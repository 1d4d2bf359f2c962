"""What was said since a revision, where one of both comment files cannot be read."""

from __future__ import annotations

from pathlib import Path

import pytest

from postil.comments.operations.views import ViewTools
from postil.comments.show.since import list_since
from tests.comments.workspaces import Comments, commit, workspace, write

CODE = "first = 1\nsecond = 2\n"


@pytest.fixture
def comments(tmp_path: Path) -> Comments:
    made = workspace(tmp_path, **{"a.py": CODE, "b.py": CODE})
    made.add("a.py", 1, "of a", "NOTE")
    made.add("b.py", 1, "of b", "NOTE")
    return made


def test_comments_that_cannot_be_read_now_are_not_told_as_deleted(comments: Comments, tmp_path: Path) -> None:
    commit(tmp_path, "commented")
    write(tmp_path, "a.py.comments", "{")
    comments.add("b.py", 2, "later", "NOTE")
    _, steps, damaged = list_since(comments.store, "HEAD")
    assert [(each.what, each.text) for each in steps] == [("said", "later")]
    assert damaged == ["a.py.comments"]
    views = ViewTools(comments.context)
    assert [views.diff_comments("HEAD", file).exit_status for file in ("", "a.py", "b.py")] == [7, 7, 0]


def test_comments_that_could_not_be_read_then_are_not_told_as_said_since(comments: Comments, tmp_path: Path) -> None:
    whole = (tmp_path / "a.py.comments").read_bytes()
    write(tmp_path, "a.py.comments", "{")
    commit(tmp_path, "damaged")
    write(tmp_path, "a.py.comments", whole)
    _, steps, damaged = list_since(comments.store, "HEAD")
    assert (steps, damaged) == ([], ["a.py.comments"])
