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


def test_old_names_are_followed_commit_by_commit(tmp_path: Path) -> None:
    """Between the first and the last version too little is left to compare."""
    workspace(tmp_path, **{"a.py": CODE, "other.py": "print(1)\n"})
    commits, text, name = [git(tmp_path, "rev-parse", "HEAD")], CODE, "a.py"
    rows = CODE.splitlines(keepends=True)
    for number, new in enumerate(("b.py", "c.py", "lib/d.py")):
        (tmp_path / new).parent.mkdir(exist_ok=True)
        git(tmp_path, "mv", name, new)
        commits.append(commit(tmp_path, f"{new} now"))
        for row in rows[number * 9 : number * 9 + 9]:
            text = text.replace(row, "".join(f"{word}_{number}\n" for word in row.split()) or row)
        write(tmp_path, new, text)
        commits.append(commit(tmp_path, f"{new} edited"))
        name = new
    names = ["a.py", "b.py", "b.py", "c.py", "c.py"]
    assert [list_old_names(str(tmp_path), each).get("lib/d.py") for each in commits[:5]] == names
    git(tmp_path, "mv", "lib/d.py", "e.py")  # not committed yet
    assert [list_old_names(str(tmp_path), each).get("e.py") for each in commits[:6]] == [*names, "lib/d.py"]


def test_a_name_that_another_file_had_before_is_not_its_old_name(renamed: tuple[Path, list[str]]) -> None:
    root, (first, second, third) = renamed
    write(root, "b.py", "something_else = 'entirely'\n")
    commit(root, "a new b")
    assert list_old_names(str(root), first) == {"c.py": "a.py"}
    assert list_old_names(str(root), second) == {"c.py": "b.py"}
    assert list_old_names(str(root), third) == {}


def test_a_branch_that_renamed_the_file_otherwise_has_its_own_name(renamed: tuple[Path, list[str]]) -> None:
    root, (first, _, _) = renamed
    main = git(root, "rev-parse", "--abbrev-ref", "HEAD")
    git(root, "checkout", "-q", "-b", "side", first)
    git(root, "mv", "a.py", "side.py")
    side = commit(root, "renamed otherwise")
    git(root, "checkout", "-q", main)
    assert list_old_names(str(root), side)["c.py"] == "side.py"
