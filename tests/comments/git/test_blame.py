"""The commits behind a comment's code."""

from __future__ import annotations

from pathlib import Path

import pytest

from postil.comments.git import blame
from postil.comments.git.blame import require_revision
from postil.core.failure import NotFound
from tests.comments.shop import BITS, CODE, add_at
from tests.comments.workspaces import FUNCTIONS, Comments, commit, plain_workspace, root_of, workspace, write
from tests.workspace.repositories import git


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


def test_blame_of_a_comment_in_review_says_that_its_place_is_not_sure(tmp_path: Path) -> None:
    """It named the commits of the likeliest line as if the comment were there."""
    comments = workspace(tmp_path, **{"style.py": BITS})
    identity = comments.add("style.py", 5, "why 9?", "NOTE").commentId
    commit(tmp_path, "said")
    assert not comments.blame(identity).uncertain
    write(tmp_path, "style.py", BITS.replace("range(4, 9)", "self.list_bits(4, self.last, step=1)"))
    commit(tmp_path, "edited")
    now = comments.show(identity).comment
    assert now.state == "review"
    blamed = comments.blame(identity)
    assert blamed.uncertain == f"style.py:{now.line}"
    assert blamed.for_model().startswith(
        f"It is not sure where its code is now: these are the commits of style.py:{now.line}"
    )


def test_blame_of_code_that_no_commit_had_says_so(comments: Comments) -> None:
    root = root_of(comments)
    write(root, "shop.py", CODE + "\n\ndef never_committed(basket):\n    return basket.weigh_everything()\n")
    identity = comments.add("shop.py", len(CODE.split("\n")) + 3, "soon gone").commentId
    write(root, "shop.py", CODE)
    blamed = comments.blame(identity)
    assert (blamed.touches, blamed.gone) == ((), True)
    assert blamed.for_model() == "The code is gone, and no commit had it."


def test_blame_of_code_that_is_gone_in_a_shallow_clone_says_that_history_is_missing(
    comments: Comments, tmp_path_factory: pytest.TempPathFactory
) -> None:
    root, beside = root_of(comments), tmp_path_factory.mktemp("beside")
    identity = add_at(comments, "taxed = ")
    (root / "shop.py").unlink()
    commit(root, "gone")
    git(beside, "clone", "-q", "--depth", "1", root.as_uri(), "shallow")
    said = Comments(str(beside / "shallow")).blame(identity).for_model()
    assert said == "The code is gone, and no commit of this shallow clone had it (git fetch --unshallow)."


def test_blame_lists_the_commits_that_touched_the_code(comments: Comments) -> None:
    root = root_of(comments)
    identity = add_at(comments, "taxed = ")
    commit(root, "commented")
    write(root, "shop.py", "# top\n" + CODE)
    commit(root, "above: does not touch it")
    write(root, "shop.py", "# top\n" + CODE.replace("taxed = price * (1 + RATE)", "taxed = price * (1.0 + RATE)"))
    commit(root, "touches it")
    assert [each.commit.subject for each in comments.blame(identity).touches] == ["touches it", "first"]


def ask_and_move(root: Path) -> tuple[Comments, str]:
    """Returns a comment whose code has gone to another file."""
    comments = workspace(root, **{"a.py": FUNCTIONS})
    write(root, "a.py", FUNCTIONS.replace("value + 3", "value + 33"))
    commit(root, "thirty-three")
    id_ = comments.add("a.py", FUNCTIONS[: FUNCTIONS.index("value + 3")].count("\n") + 1, "why?", "NOTE").commentId
    commit(root, "asked")
    piece = "def function_3(value):\n    return value + 33\n\n\n"
    write(root, "a.py", FUNCTIONS.replace("value + 3", "value + 33").replace(piece, ""))
    write(root, "b.py", "import os\n\n\n" + piece)
    commit(root, "left")
    return comments, id_


@pytest.mark.parametrize("relocated", [True, False])
def test_blame_goes_on_in_the_file_that_the_code_came_from(tmp_path: Path, relocated: bool) -> None:
    comments, id_ = ask_and_move(tmp_path)
    if relocated:
        comments.relocate()
    found = [(each.commit.subject, each.did, each.path) for each in comments.blame(id_).touches]
    assert found == [("left", "added", "b.py"), ("thirty-three", "changed", "a.py"), ("first", "added", "a.py")]


def test_blame_looks_at_all_files_that_the_code_came_from_in_the_time_of_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A comment file from elsewhere may name twenty, each of which took as long."""
    comments, id_ = ask_and_move(tmp_path)
    comments.relocate()
    monkeypatch.setattr(blame, "PATIENCE", -1.0)
    found = comments.blame(id_)
    assert ([each.commit.subject for each in found.touches], found.complete) == (["left"], False)
    everything = comments.history.blame(id_, all=True)
    assert [each.commit.subject for each in everything.touches] == ["left", "thirty-three", "first"]


def test_blame_says_where_the_commits_of_a_submodule_s_file_are(tmp_path: Path) -> None:
    workspace(tmp_path / "library", **{"lib.py": FUNCTIONS})
    comments = workspace(tmp_path / "whole", **{"a.py": "a = 1\n"})
    git(
        root_of(comments),
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "add",
        "-q",
        str(tmp_path / "library"),
        "sub",
    )
    id_ = comments.add("sub/lib.py", 2, "whose?", "NOTE").commentId
    with pytest.raises(NotFound, match="repository in sub"):
        comments.blame(id_)
    inside = Comments(str(root_of(comments) / "sub"))
    assert [each.did for each in inside.blame(id_).touches] == ["added"]


def test_without_git_blame_says_that_there_is_none(tmp_path: Path) -> None:
    comments = plain_workspace(tmp_path, **{"a.py": FUNCTIONS})
    id_ = comments.add("a.py", 2, "whose?", "NOTE").commentId
    with pytest.raises(NotFound, match="no git repository here"):
        comments.blame(id_)


def test_in_a_bare_repository_a_revision_is_not_said_to_be_in_no_repository(tmp_path: Path) -> None:
    workspace(tmp_path / "whole", **{"a.py": FUNCTIONS})
    git(tmp_path, "clone", "-q", "--bare", str(tmp_path / "whole"), "bare.git")
    comments = Comments(str(tmp_path / "bare.git"))
    with pytest.raises(NotFound, match="bare repository"):
        require_revision(comments.tree, "HEAD")
