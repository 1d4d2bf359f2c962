"""A file that was rewritten and renamed, one after the other: its comments go along with the file."""

from __future__ import annotations

from pathlib import Path

import pytest

from postil.comments.operations.views import ViewTools
from tests.comments.shop import CODE, add_at
from tests.comments.workspaces import Comments, commit, root_of, workspace, write
from tests.workspace.repositories import git

OTHER = "".join(f"def step_{n}(value, more):\n    return value * {n} - more.of_{n}\n\n\n" for n in range(12))


@pytest.fixture
def comments(tmp_path: Path) -> Comments:
    return workspace(tmp_path, **{"shop.py": CODE, "unrelated.py": "import os\n"})


def rename(root: Path, old: str, new: str) -> None:
    (root / new).parent.mkdir(parents=True, exist_ok=True)
    git(root, "mv", old, new)
    commit(root, f"{old} is {new}")


def rewrite(root: Path, name: str, text: str = OTHER) -> None:
    write(root, name, text)
    commit(root, f"{name} anew")


@pytest.mark.parametrize("first", ["rewrite", "rename"])
def test_an_orphan_follows_a_file_that_was_rewritten_and_renamed_in_two_commits(comments: Comments, first: str) -> None:
    root, identity = root_of(comments), add_at(comments, "taxed = ")
    base = commit(root, "commented")
    if first == "rewrite":
        rewrite(root, "shop.py")
        rename(root, "shop.py", "lib/steps.py")
    else:
        rename(root, "shop.py", "lib/steps.py")
        rewrite(root, "lib/steps.py")
    place = comments.show(identity).comment
    assert (place.state, place.movedTo) == ("orphaned", "lib/steps.py")
    assert place.reason == "The file is now lib/steps.py; nothing like this code is left in it"
    reported = ViewTools(comments.context).report(base)
    assert "lib/steps.py:" in reported.for_model()
    comments.relocate()
    assert (root / "lib/steps.py.comments").exists()
    assert not (root / "shop.py.comments").exists()


def test_it_follows_through_many_names_and_versions_and_finds_what_came_back(comments: Comments) -> None:
    root, identity = root_of(comments), add_at(comments, "taxed = ")
    commit(root, "commented")
    rewrite(root, "shop.py")
    rename(root, "shop.py", "one.py")
    rewrite(root, "one.py", OTHER.replace("step", "stage").replace("value", "amount").replace("more", "rest"))
    rename(root, "one.py", "two.py")
    rewrite(root, "two.py", CODE)
    rename(root, "two.py", "three.py")
    place = comments.show(identity).comment
    assert (place.state, place.movedTo) == ("moved", "three.py")


@pytest.mark.parametrize("staged", [True, False])
def test_a_rename_that_is_not_committed_yet_is_the_last_step(comments: Comments, staged: bool) -> None:
    root, identity = root_of(comments), add_at(comments, "taxed = ")
    commit(root, "commented")
    rewrite(root, "shop.py")
    if staged:
        git(root, "mv", "shop.py", "steps.py")
    else:
        (root / "shop.py").rename(root / "steps.py")
    assert comments.show(identity).comment.movedTo == "steps.py"


def test_a_branch_that_renamed_and_one_that_rewrote_are_followed_through_their_merge(comments: Comments) -> None:
    root, identity = root_of(comments), add_at(comments, "taxed = ")
    commit(root, "commented")
    git(root, "checkout", "-q", "-b", "renaming")
    rename(root, "shop.py", "steps.py")
    git(root, "checkout", "-q", "-")
    rewrite(root, "shop.py")
    git(root, "merge", "-q", "-m", "both", "renaming")
    assert (root / "steps.py").read_text() == OTHER
    assert comments.show(identity).comment.movedTo == "steps.py"


def test_a_file_that_was_rewritten_and_then_deleted_became_nothing(comments: Comments) -> None:
    root, identity = root_of(comments), add_at(comments, "taxed = ")
    commit(root, "commented")
    rewrite(root, "shop.py")
    (root / "shop.py").unlink()
    write(root, "new.py", "".join(f"entirely_{n} = 'something else, {n}'\n" for n in range(20)))
    commit(root, "gone")
    place = comments.show(identity).comment
    assert (place.state, place.movedTo, place.reason) == ("orphaned", "", "The source file no longer exists")


def test_a_name_that_was_used_again_later_is_not_taken_for_the_file(comments: Comments) -> None:
    """The file became `steps.py`, which was deleted: what was called so long before does not count."""
    root = root_of(comments)
    write(root, "steps.py", "".join(f"long_ago_{n} = 'quite another file, {n}'\n" for n in range(20)))
    commit(root, "the first of that name")
    rename(root, "steps.py", "museum.py")
    identity = add_at(comments, "taxed = ")
    commit(root, "commented")
    rewrite(root, "shop.py")
    rename(root, "shop.py", "steps.py")
    git(root, "rm", "-q", "steps.py")
    commit(root, "gone")
    place = comments.show(identity).comment
    assert (place.state, place.movedTo) == ("orphaned", "")


def test_of_two_new_files_that_are_alike_neither_is_taken(comments: Comments) -> None:
    root, identity = root_of(comments), add_at(comments, "taxed = ")
    commit(root, "commented")
    rewrite(root, "shop.py")
    (root / "shop.py").unlink()
    for name in ("one.py", "two.py"):
        write(root, name, OTHER.replace("more.of_3", f"more.{name[:3]}"))
    commit(root, "two of them")
    assert comments.show(identity).comment.movedTo == ""
