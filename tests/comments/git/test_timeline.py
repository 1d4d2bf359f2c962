"""What happened to a comment, commit by commit."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.comments.workspaces import Comments, commit, workspace, write
from tests.workspace.repositories import git

CODE = "".join(f"def function_{n}(value):\n    return value + {n}\n\n\n" for n in range(8))


@pytest.fixture
def comments(tmp_path: Path) -> Comments:
    return workspace(tmp_path, **{"a.py": CODE, "b.py": "import os\n"})


def test_the_history_of_a_comment_tells_what_was_said_and_where_it_was(comments: Comments, tmp_path: Path) -> None:
    identity = comments.add("a.py", 6, "first words", "NOTE", "ann").commentId
    commit(tmp_path, "commented")
    comments.edit("a.py", identity, "FIXME: second words")
    edited = commit(tmp_path, "edited")
    comments.reply(identity, "why?", author="bob")
    commit(tmp_path, "replied")
    comments.move("a.py", "b.py", identity, 1)
    comments.resolve(identity, author="cy")
    lifetime = comments.history.lifetime(identity)
    assert [each.did for each in lifetime.changes] == ["made", "edited", "tagged", "replied", "left a.py:6", "resolved"]
    change = lifetime.changes[1]
    assert (change.before, change.after) == ("first words", "FIXME: second words")
    assert change.commit is not None
    assert change.commit.id == edited
    assert "+ FIXME: second words" in lifetime.for_model()
    assert lifetime.changes[-1].by == "cy"


def test_the_commit_that_holds_a_comment_first_is_named_with_the_replies_it_had(
    comments: Comments, tmp_path: Path
) -> None:
    identity = comments.add("a.py", 6, "first words", "NOTE", "ann").commentId
    comments.reply(identity, "before the commit", author="bob")
    first = commit(tmp_path, "commented")
    comments.reply(identity, "after it", author="cy")
    changes = comments.history.lifetime(identity).changes
    assert [(each.did, each.after, each.commit.id if each.commit else "") for each in changes] == [
        ("made", "", first),
        ("replied", "before the commit", first),
        ("replied", "after it", ""),
    ]


def test_where_the_code_went_without_anybody_moving_the_comment_is_told_last(
    comments: Comments, tmp_path: Path
) -> None:
    identity = comments.add("a.py", 6, "follows", "NOTE").commentId
    commit(tmp_path, "commented")
    assert comments.history.lifetime(identity).now is None, "it is where it was put"
    write(tmp_path, "a.py", "import sys\n" + CODE)
    moved = commit(tmp_path, "one above")
    told = comments.history.lifetime(identity)
    assert told.now is not None
    assert (told.now.filePath, told.now.lines, told.now.state) == ("a.py", "7", "moved")
    last = told.for_model().splitlines()[-1]
    assert last.startswith("now  at a.py:7, moved: ")
    assert moved[:12] in last
    write(tmp_path, "a.py", CODE.replace(CODE.splitlines(keepends=True)[5], ""))
    assert (
        comments.history.lifetime(identity).for_model().splitlines()[-1].startswith(("now  its code", "now  not sure"))
    )


def test_what_a_comment_left_is_told_with_the_file_it_was_in_then(comments: Comments, tmp_path: Path) -> None:
    identity = comments.add("a.py", 6, "follows", "NOTE").commentId
    write(tmp_path, "a.py", "import sys\n" + CODE)
    comments.relocate()
    comments.move("a.py", "b.py", identity, 1)
    left = [each.did for each in comments.history.lifetime(identity).changes]
    assert left == ["made", "left a.py:6", "left a.py:7"]
    assert [each.path for each in comments.show(identity).history] == ["a.py", "a.py"]


def test_a_shallow_clone_says_that_history_is_missing(
    comments: Comments, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    identity = comments.add("a.py", 6, "first", "NOTE").commentId
    commit(tmp_path, "commented")
    comments.edit("a.py", identity, "second")
    commit(tmp_path, "edited")
    assert not comments.history.lifetime(identity).shallow
    beside = tmp_path_factory.mktemp("beside")
    git(beside, "clone", "-q", "--depth", "1", tmp_path.as_uri(), "shallow")
    there = Comments(str(beside / "shallow"))
    assert "--unshallow" in there.history.lifetime(identity).for_model()
    assert there.history.lifetime(identity).changes[0].commit is None  # an older one may have made it
    assert [each.did for each in there.blame(identity).touches] == ["before"]
    assert [each.did for each in comments.blame(identity).touches] == ["added"]


def test_the_history_of_a_comment_that_was_never_committed_has_its_replies(comments: Comments) -> None:
    identity = comments.add("a.py", 6, "new", "NOTE").commentId
    comments.reply(identity, "yes", author="bob")
    assert [each.did for each in comments.history.lifetime(identity).changes] == ["made", "replied"]
