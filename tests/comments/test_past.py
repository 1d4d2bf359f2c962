"""Comments and history: what happened to them, and where they were."""

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


def test_the_history_of_a_comment_that_was_never_committed_has_its_replies(comments: Comments) -> None:
    identity = comments.add("a.py", 6, "new", "NOTE").commentId
    comments.reply(identity, "yes", author="bob")
    assert [each.did for each in comments.history.lifetime(identity).changes] == ["made", "replied"]


def test_a_force_pushed_branch_keeps_comments_on_their_code(comments: Comments, tmp_path: Path) -> None:
    identity = comments.add("a.py", 6, "here", "NOTE").commentId
    commit(tmp_path, "commented")
    write(tmp_path, "a.py", "# amended away\n" + CODE)
    git(tmp_path, "commit", "-q", "-a", "--amend", "-m", "rewritten")
    git(tmp_path, "reflog", "expire", "--expire=now", "--all")
    git(tmp_path, "gc", "-q", "--prune=now")
    assert comments.show(identity).comment.line == 7
    assert [each.line for each in comments.listed(revision="HEAD").comments] == [7]


def test_a_rebase_leaves_comments_on_their_code_and_no_file_changed(comments: Comments, tmp_path: Path) -> None:
    main = git(tmp_path, "branch", "--show-current")
    git(tmp_path, "checkout", "-q", "-b", "topic")
    identity = comments.add("a.py", 30, "the last function", "NOTE").commentId
    commit(tmp_path, "commented")
    git(tmp_path, "checkout", "-q", main)
    write(tmp_path, "a.py", "# one\n# two\n" + CODE)
    commit(tmp_path, "above")
    git(tmp_path, "checkout", "-q", "topic")
    git(tmp_path, "rebase", "-q", main)
    assert comments.show(identity).comment.line == 32
    assert git(tmp_path, "status", "--porcelain") == ""


def test_a_pull_that_renamed_the_file_and_its_sidecar_keeps_the_comment(comments: Comments, tmp_path: Path) -> None:
    identity = comments.add("a.py", 6, "here", "NOTE").commentId
    commit(tmp_path, "commented")
    clone = tmp_path.parent / f"{tmp_path.name}-clone"
    git(tmp_path.parent, "clone", "-q", str(tmp_path), str(clone))
    theirs = Comments(str(clone))
    (tmp_path / "lib").mkdir()
    for name in ("a.py", "a.py.comments"):
        git(tmp_path, "mv", name, f"lib/{name.replace('a.py', 'named.py')}")
    write(tmp_path, "lib/named.py", "# renamed\n" + CODE)
    commit(tmp_path, "renamed")
    git(clone, "pull", "-q")
    (found,) = theirs.listed("lib/named.py").comments
    assert (found.id, found.line, found.state) == (identity, 7, "moved")
    theirs.relocate()
    assert b'"file": "lib/named.py"' in (clone / "lib/named.py.comments").read_bytes()
