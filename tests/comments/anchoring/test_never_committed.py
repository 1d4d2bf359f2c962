"""Comments on code that was never committed as it was then: a commit of what became of it does not lose them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.comments.shop import CODE, line_of
from tests.comments.workspaces import Comments, commit, plain_workspace, workspace, write
from tests.workspace.repositories import git

HEAD = "import os\nimport sys\n"
BEGIN, END = CODE.index("def gross"), CODE.index("class Basket")
GROSS = CODE[BEGIN:END]


def place_of(comments: Comments, identity: str) -> tuple[str, str, int]:
    found = comments.show(identity).comment
    return found.state, found.movedTo, found.line


def comment_on(comments: Comments, text: str) -> str:
    return comments.add("shop.py", line_of(text, "taxed = "), "look here", "NOTE").commentId


@pytest.mark.parametrize("edited", ["", HEAD])
def test_a_new_file_that_was_renamed_before_its_first_commit_keeps_its_comments(tmp_path: Path, edited: str) -> None:
    comments = workspace(tmp_path, **{"other.py": "import json\n"})
    write(tmp_path, "shop.py", CODE)
    git(tmp_path, "add", "shop.py")
    identity = comment_on(comments, CODE)
    git(tmp_path, "mv", "shop.py", "store.py")
    write(tmp_path, "store.py", edited + CODE)
    wanted = ("moved", "store.py", line_of(edited + CODE, "taxed = "))
    assert place_of(comments, identity) == wanted
    commit(tmp_path, "begun")
    assert place_of(comments, identity) == wanted
    write(tmp_path, "other.py", "import json\nimport re\n")
    commit(tmp_path, "and on")
    assert place_of(comments, identity) == wanted


@pytest.mark.parametrize("edited", ["", HEAD])
def test_a_file_that_was_staged_and_renamed_in_a_repository_without_a_commit_keeps_its_comments(
    tmp_path: Path, edited: str
) -> None:
    git(tmp_path, "init", "-q")
    comments = Comments(str(tmp_path))
    write(tmp_path, "shop.py", CODE)
    write(tmp_path, "other.py", "import json\n")
    git(tmp_path, "add", "-A")
    identity = comment_on(comments, CODE)
    git(tmp_path, "mv", "shop.py", "store.py")
    write(tmp_path, "store.py", edited + CODE)
    git(tmp_path, "add", "-A")
    wanted = ("moved", "store.py", line_of(edited + CODE, "taxed = "))
    assert place_of(comments, identity) == wanted
    git(tmp_path, "commit", "-qm", "first", GIT_COMMITTER_DATE="2099-01-01T00:00:00Z")
    assert place_of(comments, identity) == wanted


def test_a_file_that_was_edited_commented_edited_and_renamed_before_a_commit_keeps_its_comments(tmp_path: Path) -> None:
    comments = workspace(tmp_path, **{"shop.py": "RATE = 0.19\n", "other.py": "import json\n"})
    write(tmp_path, "shop.py", CODE)
    identity = comment_on(comments, CODE)
    git(tmp_path, "mv", "shop.py", "store.py")
    write(tmp_path, "store.py", HEAD + CODE)
    commit(tmp_path, "renamed")
    assert place_of(comments, identity) == ("moved", "store.py", line_of(HEAD + CODE, "taxed = "))


def test_a_new_function_that_went_to_another_file_before_a_commit_takes_its_comment_along(tmp_path: Path) -> None:
    comments = workspace(tmp_path, **{"shop.py": CODE.replace(GROSS, ""), "other.py": "import json\n"})
    write(tmp_path, "shop.py", CODE)
    identity = comment_on(comments, CODE)
    write(tmp_path, "shop.py", CODE.replace(GROSS, ""))
    moved = "import json\n\n\n" + GROSS
    write(tmp_path, "other.py", moved)
    commit(tmp_path, "moved")
    assert place_of(comments, identity) == ("moved", "other.py", line_of(moved, "taxed = "))


def test_a_copy_that_was_there_all_along_does_not_take_a_comment_on_code_that_was_never_committed(
    tmp_path: Path,
) -> None:
    comments = workspace(tmp_path, **{"shop.py": CODE.replace(GROSS, ""), "copy.py": "import json\n\n\n" + GROSS})
    write(tmp_path, "shop.py", CODE)
    identity = comment_on(comments, CODE)
    write(tmp_path, "shop.py", CODE.replace(GROSS, ""))
    write(tmp_path, "copy.py", "import json\nimport re\n\n\n" + GROSS)
    commit(tmp_path, "taken out again")
    assert place_of(comments, identity)[:2] == ("orphaned", "")


def test_without_git_the_comments_of_a_file_that_was_renamed_and_edited_are_taken_along_on_request(
    tmp_path: Path,
) -> None:
    comments = plain_workspace(tmp_path, **{"shop.py": CODE})
    identity = comment_on(comments, CODE)
    (tmp_path / "shop.py").rename(tmp_path / "store.py")
    write(tmp_path, "store.py", HEAD + CODE)
    assert place_of(comments, identity)[0] == "orphaned"
    comments.move_all("shop.py", "store.py")
    assert place_of(comments, identity) == ("exact", "", line_of(HEAD + CODE, "taxed = "))
