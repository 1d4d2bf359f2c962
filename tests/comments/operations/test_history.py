"""Comments stay on their code through force pushes, rebases and pulls."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.comments.workspaces import Comments, commit, workspace, write
from tests.workspace.repositories import git

CODE = "".join(f"def function_{n}(value):\n    return value + {n}\n\n\n" for n in range(8))


@pytest.fixture
def comments(tmp_path: Path) -> Comments:
    return workspace(tmp_path, **{"a.py": CODE, "b.py": "import os\n"})


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
