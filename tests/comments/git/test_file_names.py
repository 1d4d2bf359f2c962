"""What a file was called at a commit."""

from __future__ import annotations

from pathlib import Path

import pytest

from postil.comments.git.file_names import find_new_name, list_old_names
from tests.comments.shop import CODE
from tests.comments.workspaces import commit, workspace, write
from tests.workspace.repositories import git


@pytest.fixture
def renamed(tmp_path: Path) -> tuple[Path, list[str]]:
    """A file that was called a.py, b.py and c.py; and the commits of each name."""
    workspace(tmp_path, **{"a.py": CODE, "other.py": "print(1)\n"})
    commits = [git(tmp_path, "rev-parse", "HEAD")]
    for old, new in (("a.py", "b.py"), ("b.py", "c.py")):
        git(tmp_path, "mv", old, new)
        commits.append(commit(tmp_path, f"{new} now"))
    return tmp_path, commits


def test_names_of_the_past_are_known_for_what_was_renamed_since(renamed: tuple[Path, list[str]]) -> None:
    root, (first, second, third) = renamed
    assert list_old_names(str(root), first) == {"c.py": "a.py"}
    assert list_old_names(str(root), second) == {"c.py": "b.py"}
    assert list_old_names(str(root), third) == {}
    git(root, "mv", "c.py", "d.py")  # not committed yet
    assert list_old_names(str(root), first) == {"d.py": "a.py"}
    assert list_old_names(str(root), "no-such-commit") == {}


def test_a_new_name_is_found_through_several_renames(renamed: tuple[Path, list[str]]) -> None:
    root, (first, second, third) = renamed
    assert find_new_name(str(root), "a.py", first) == ""  # it is there
    assert find_new_name(str(root), "a.py", second) == "b.py"
    assert find_new_name(str(root), "a.py", third) == "c.py"
    assert find_new_name(str(root), "never.py", third) == ""


def test_a_file_that_was_deleted_has_no_new_name(renamed: tuple[Path, list[str]]) -> None:
    root, _ = renamed
    git(root, "rm", "-q", "other.py")
    write(root, "new.py", "something_else = 'entirely'\n")
    assert find_new_name(str(root), "other.py", commit(root, "gone")) == ""
