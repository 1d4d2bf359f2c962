"""The commits behind a comment's code."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.comments.shop import CODE, add_at
from tests.comments.workspaces import Comments, commit, root_of, workspace, write


@pytest.fixture
def comments(tmp_path: Path) -> Comments:
    return workspace(tmp_path, **{"shop.py": CODE})


def test_deleted_code_orphans_its_comment_and_names_the_commit(comments: Comments) -> None:
    root = root_of(comments)
    identity = add_at(comments, "self.items.append")
    commit(root, "commented")
    begin, end = CODE.index("    def add("), CODE.index("    def total(")
    write(root, "shop.py", CODE[:begin] + CODE[end:])
    guilty = commit(root, "drop add")
    write(root, "shop.py", "# later\n" + CODE[:begin] + CODE[end:])
    commit(root, "later")
    shown = comments.show(identity)
    assert shown.comment.state == "orphaned"
    assert shown.comment.oldText.strip() == "self.items.append(item)"
    assert shown.commit is not None
    assert (shown.commit.id, shown.commit.subject) == (guilty, "drop add")
    assert comments.file_comments("shop.py", includeOrphaned=False).comments == ()
    assert comments.file_comments("shop.py").orphanedCount == 1


def test_the_moving_commit_is_named(comments: Comments) -> None:
    root = root_of(comments)
    identity = add_at(comments, "taxed = ")
    commit(root, "commented")
    write(root, "shop.py", CODE + "\nEND = 1\n")
    commit(root, "below: moves nothing")
    write(root, "shop.py", "# top\n" + CODE + "\nEND = 1\n")
    guilty = commit(root, "above")
    shown = comments.show(identity)
    assert shown.comment.state == "moved"
    assert shown.commit is not None
    assert shown.commit.id == guilty


def test_blame_lists_the_commits_that_touched_the_code(comments: Comments) -> None:
    root = root_of(comments)
    identity = add_at(comments, "taxed = ")
    commit(root, "commented")
    write(root, "shop.py", "# top\n" + CODE)
    commit(root, "above: does not touch it")
    write(root, "shop.py", "# top\n" + CODE.replace("taxed = price * (1 + RATE)", "taxed = price * (1.0 + RATE)"))
    commit(root, "touches it")
    assert [each.commit.subject for each in comments.blame(identity).touches] == ["touches it", "first"]
