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


def test_the_commit_that_edited_the_code_is_named_and_not_one_that_moved_it(comments: Comments) -> None:
    root = root_of(comments)
    identity = add_at(comments, "taxed = ")
    commit(root, "commented")
    write(root, "shop.py", "# top\n" + CODE)
    commit(root, "above: only moves it")
    edited = CODE.replace("taxed = price * (1 + RATE)", "taxed = price * (1.0 + RATE)")
    write(root, "shop.py", "# top\n" + edited)
    guilty = commit(root, "edits it")
    write(root, "shop.py", "# top\n# again\n" + edited)
    commit(root, "above again")
    shown = comments.show(identity)
    assert shown.comment.state == "modified"
    assert shown.commit is not None
    assert shown.commit.id == guilty


def test_an_edit_that_is_not_committed_is_no_commit_s_doing(comments: Comments) -> None:
    root = root_of(comments)
    identity = add_at(comments, "taxed = ")
    write(root, "shop.py", "# top\n" + CODE)
    commit(root, "above: only moves it")
    write(root, "shop.py", "# top\n" + CODE.replace("taxed = price * (1 + RATE)", "taxed = price * (1.0 + RATE)"))
    shown = comments.show(identity)
    assert (shown.comment.state, shown.commit) == ("modified", None)


def test_blame_of_code_that_is_gone_names_who_took_it_out_and_who_made_it(comments: Comments) -> None:
    root = root_of(comments)
    identity = add_at(comments, "self.items.append")
    commit(root, "commented")
    begin, end = CODE.index("    def add("), CODE.index("    def total(")
    write(root, "shop.py", CODE[:begin] + CODE[end:])
    commit(root, "drop add")
    blamed = comments.blame(identity)
    assert [(each.commit.subject, each.did) for each in blamed.touches] == [("drop add", "deleted"), ("first", "added")]
    assert "drop add  (deleted, shop.py:" in blamed.for_model()


def test_blame_of_code_that_no_commit_had_says_so(comments: Comments) -> None:
    root = root_of(comments)
    write(root, "shop.py", CODE + "\n\ndef never_committed(basket):\n    return basket.weigh_everything()\n")
    identity = comments.add("shop.py", len(CODE.split("\n")) + 3, "soon gone").commentId
    write(root, "shop.py", CODE)
    blamed = comments.blame(identity)
    assert (blamed.touches, blamed.gone) == ((), True)
    assert blamed.for_model() == "The code is gone, and no commit had it."


def test_blame_lists_the_commits_that_touched_the_code(comments: Comments) -> None:
    root = root_of(comments)
    identity = add_at(comments, "taxed = ")
    commit(root, "commented")
    write(root, "shop.py", "# top\n" + CODE)
    commit(root, "above: does not touch it")
    write(root, "shop.py", "# top\n" + CODE.replace("taxed = price * (1 + RATE)", "taxed = price * (1.0 + RATE)"))
    commit(root, "touches it")
    assert [each.commit.subject for each in comments.blame(identity).touches] == ["touches it", "first"]
