"""Failures say to a person why."""

from __future__ import annotations

from pathlib import Path

import pytest

from postil.core.failure import Failure
from tests.comments.workspaces import Comments, workspace, write

SOURCE = "".join(f"value_{n} = {n}\n" for n in range(1, 11))


@pytest.fixture
def comments(tmp_path: Path) -> Comments:
    made = workspace(tmp_path / "work", **{"a.py": SOURCE})
    write(tmp_path, "work-evil/secret.py", "password = 1\n")
    return made


@pytest.mark.parametrize(
    ("path", "why"), [("a.py.comments", "this is a comment file"), (".env", "files with secrets are closed")]
)
def test_a_person_reads_why(comments: Comments, path: str, why: str) -> None:
    with pytest.raises(Failure) as caught:
        comments.add(path, 1, "x", "NOTE")
    assert why in caught.value.text()
    assert why not in caught.value.message  # which is the contract's


@pytest.mark.parametrize(
    ("path", "line", "said"),
    [
        ("none.py", 1, "File not found: none.py\n"),
        ("none.py\nForged", 1, "File not found: none.py Forged\n"),
        ("a.py", 99, "Invalid line number: 99\nLine must be between 1 and 10"),
    ],
)
def test_a_person_reads_what_was_not_found(comments: Comments, path: str, line: int, said: str) -> None:
    with pytest.raises(Failure) as caught:
        comments.add(path, line, "x", "NOTE")
    assert caught.value.text().startswith(said)
    assert caught.value.message in ("File not found", "Invalid line number")  # the contract's


def test_a_comment_that_is_not_there_is_named(comments: Comments) -> None:
    with pytest.raises(Failure) as caught:
        comments.show("c_1794734304905")
    assert caught.value.text().startswith("Comment not found: c_1794734304905\n")


def test_a_range_that_ends_before_it_begins_says_how_to_give_one(comments: Comments) -> None:
    with pytest.raises(Failure, match="ends at line 3, before it begins at 7") as caught:
        comments.add("a.py", 7, "x", "NOTE", endLine=3)
    assert caught.value.advice
