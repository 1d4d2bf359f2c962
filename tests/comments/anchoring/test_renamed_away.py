"""A file that was renamed, and whose name another one has now: comments go with the file that they knew."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.comments.shop import CODE, add_at
from tests.comments.workspaces import Comments, commit, root_of, workspace, write
from tests.workspace.repositories import git

SIMILAR = CODE.replace("RATE", "SHARE").replace("(1 +", "(2 +").replace("items", "things")


@pytest.fixture
def comments(tmp_path: Path) -> Comments:
    return workspace(tmp_path, **{"shop.py": CODE, "unrelated.py": "import os\n"})


def rename(root: Path, old: str, new: str) -> None:
    (root / new).parent.mkdir(parents=True, exist_ok=True)
    git(root, "mv", old, new)
    commit(root, f"{old} is {new}")


def place(comments: Comments, identity: str) -> tuple[str, int, str]:
    found = comments.show(identity).comment
    return found.movedTo or found.filePath, found.line, found.state


@pytest.mark.parametrize("looked", [True, False])
@pytest.mark.parametrize("committed", [True, False])
@pytest.mark.parametrize("new", [SIMILAR, f"# the same again\n{CODE}"])
def test_comments_follow_a_rename_though_a_new_file_has_the_old_name(
    comments: Comments, new: str, committed: bool, looked: bool
) -> None:
    root, identity = root_of(comments), add_at(comments, "taxed = ")
    other = add_at(comments, "self.items = []")
    commit(root, "commented")
    rename(root, "shop.py", "lib/prices.py")
    if looked:
        assert place(comments, identity) == ("lib/prices.py", 13, "moved")
    write(root, "shop.py", new)
    if committed:
        commit(root, "a new shop")
    assert place(comments, identity) == ("lib/prices.py", 13, "moved")
    assert place(comments, other) == ("lib/prices.py", 19, "moved")
    comments.relocate()
    assert (root / "lib/prices.py.comments").exists()
    assert not (root / "shop.py.comments").exists()
    assert place(comments, identity) == ("lib/prices.py", 13, "exact")


def test_they_follow_several_renames_and_edits_in_between(comments: Comments) -> None:
    root, identity = root_of(comments), add_at(comments, "taxed = ")
    commit(root, "commented")
    rename(root, "shop.py", "one.py")
    write(root, "one.py", '"""Edited."""\n' + CODE)
    commit(root, "edited")
    rename(root, "one.py", "two.py")
    write(root, "shop.py", SIMILAR)
    commit(root, "a new shop")
    assert place(comments, identity) == ("two.py", 14, "moved")


def test_what_was_said_of_the_new_file_stays_with_it(comments: Comments) -> None:
    root, old = root_of(comments), add_at(comments, "taxed = ")
    commit(root, "commented")
    rename(root, "shop.py", "prices.py")
    write(root, "shop.py", SIMILAR)
    commit(root, "a new shop")
    new = add_at(comments, "return round(")
    assert place(comments, new) == ("shop.py", 14, "exact")
    assert place(comments, old) == ("prices.py", 13, "moved")
    write(root, "shop.py", "import sys\n" + SIMILAR)
    assert place(comments, new) == ("shop.py", 15, "moved")
    assert place(comments, old) == ("prices.py", 13, "moved")
    commit(root, "edited")
    assert place(comments, new) == ("shop.py", 15, "moved")
    comments.edit("shop.py", new, "again")
    assert place(comments, old) == ("prices.py", 13, "moved")


def test_a_person_is_asked_where_the_renamed_file_no_longer_has_the_code(comments: Comments) -> None:
    root, identity = root_of(comments), add_at(comments, "taxed = ")
    commit(root, "commented")
    rename(root, "shop.py", "prices.py")
    write(root, "prices.py", CODE.replace("    taxed = price * (1 + RATE)\n    return round(taxed, 2)\n", "    ...\n"))
    write(root, "shop.py", SIMILAR)
    commit(root, "a new shop")
    found = comments.show(identity).comment
    assert found.state == "review"
    assert "prices.py" in found.reason


def test_a_file_that_was_deleted_and_made_anew_keeps_its_comments(comments: Comments) -> None:
    root, identity = root_of(comments), add_at(comments, "taxed = ")
    commit(root, "commented")
    git(root, "rm", "-q", "shop.py")
    commit(root, "no shop")
    write(root, "shop.py", "import sys\n" + CODE)
    commit(root, "the shop is back")
    assert place(comments, identity) == ("shop.py", 14, "moved")


def test_a_file_that_was_renamed_and_renamed_back_keeps_its_comments(comments: Comments) -> None:
    root, identity = root_of(comments), add_at(comments, "taxed = ")
    commit(root, "commented")
    rename(root, "shop.py", "prices.py")
    rename(root, "prices.py", "shop.py")
    write(root, "shop.py", "import sys\n" + CODE)
    commit(root, "edited")
    assert place(comments, identity) == ("shop.py", 14, "moved")
