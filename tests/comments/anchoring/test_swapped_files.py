"""Files that take each other's names: comments go with the code, however much the files are alike."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.comments.workspaces import Comments, plain_workspace, workspace, write
from tests.workspace.repositories import git

COMMON = "".join(f"option_{number} = read_option({number})\n" for number in range(12))


def settings(name: str, seconds: int) -> str:
    """Returns a file of a family: two of them differ in two lines."""
    return f"name = '{name}'\n{COMMON}timeout = {seconds}\nretries = 3\n"


FILES = {"a.py": settings("inner", 30), "b.py": settings("outer", 60)}


def swap(root: Path, *, by_git: bool) -> None:
    for source, target in (("a.py", "t"), ("b.py", "a.py"), ("t", "b.py")):
        if by_git:
            git(root, "mv", source, target)
        else:
            (root / source).rename(root / target)


def places(comments: Comments) -> dict[str, tuple[str, int, str]]:
    listed = comments.listed().comments
    return {each.text: (each.movedTo or each.filePath, each.line, each.state) for each in listed}


@pytest.mark.parametrize("by_git", [True, False])
def test_comments_of_two_files_that_are_alike_go_with_them(tmp_path: Path, by_git: bool) -> None:
    comments = workspace(tmp_path, **FILES)
    comments.add("a.py", 14, "thirty", "NOTE")
    comments.add("b.py", 14, "sixty", "NOTE")
    comments.listed()
    swap(tmp_path, by_git=by_git)
    swapped = {"thirty": ("b.py", 14, "moved"), "sixty": ("a.py", 14, "moved")}
    assert places(comments) == swapped
    with (tmp_path / "a.py").open("a") as file:
        file.write("last = 1\n")
    assert places(comments) == swapped
    comments.relocating.relocate()
    found = {each.text: (each.filePath, each.line) for each in comments.listed().comments}
    assert found == {"thirty": ("b.py", 14), "sixty": ("a.py", 14)}


@pytest.mark.parametrize("by_git", [True, False])
def test_a_comment_goes_with_its_file_though_the_other_one_has_none(tmp_path: Path, by_git: bool) -> None:
    comments = workspace(tmp_path, **FILES)
    comments.add("a.py", 14, "thirty", "NOTE")
    for name in FILES:
        os.utime(tmp_path / name, (1_700_000_000, 1_700_000_000))  # they were not written just now
    swap(tmp_path, by_git=by_git)
    assert places(comments) == {"thirty": ("b.py", 14, "moved")}


def test_three_files_take_names_in_a_circle(tmp_path: Path) -> None:
    files = {**FILES, "c.py": settings("third", 90)}
    comments = workspace(tmp_path, **files)
    for name in files:
        comments.add(name, 14, name, "NOTE")
    for source, target in (("a.py", "t"), ("c.py", "a.py"), ("b.py", "c.py"), ("t", "b.py")):
        git(tmp_path, "mv", source, target)
    found = {name: place[0] for name, place in places(comments).items()}
    assert found == {"a.py": "b.py", "b.py": "c.py", "c.py": "a.py"}


def test_a_copy_does_not_take_the_comments_of_what_it_was_copied_from(tmp_path: Path) -> None:
    comments = workspace(tmp_path, **{"a.py": FILES["a.py"], "b.py": "nothing = 1\n"})
    comments.add("a.py", 14, "thirty", "NOTE")
    comments.add("b.py", 1, "nothing", "NOTE")
    write(tmp_path, "b.py", FILES["a.py"])
    write(tmp_path, "a.py", FILES["a.py"].replace("30", "31"))
    assert places(comments)["thirty"] == ("a.py", 14, "modified")


@pytest.mark.parametrize("alike", [True, False])
def test_without_git_names_that_were_swapped_are_found_or_left_to_a_person(tmp_path: Path, alike: bool) -> None:
    comments = plain_workspace(tmp_path, **(FILES if alike else {"a.py": FILES["a.py"], "b.py": "other = 1\n" * 20}))
    comments.add("a.py", 14, "thirty", "NOTE")
    comments.add("b.py", 14, "sixty", "NOTE")
    swap(tmp_path, by_git=False)
    assert {name: place[0] for name, place in places(comments).items()} == {"thirty": "b.py", "sixty": "a.py"}


def test_without_git_a_file_of_the_same_content_is_offered_and_a_renamed_one_followed(tmp_path: Path) -> None:
    comments = plain_workspace(tmp_path, **{"a.py": FILES["a.py"]})
    comments.add("a.py", 14, "thirty", "NOTE")
    (tmp_path / "a.py").rename(tmp_path / "z.py")
    assert places(comments) == {"thirty": ("z.py", 14, "moved")}
    write(tmp_path, "a.py", "something = 'else'\n")
    (found,) = comments.listed().comments
    assert (found.state, [(each.path, each.line) for each in found.candidates]) == ("review", [("z.py", 14)])


@pytest.mark.parametrize("by_git", [True, False])
@pytest.mark.parametrize("ignores", ["true", "false"])
def test_a_small_file_whose_name_changes_in_case_alone_keeps_its_comment(
    tmp_path: Path, ignores: str, by_git: bool
) -> None:
    comments = workspace(tmp_path, README="# Hi\n\nHello\n", Two="1\n2\n")
    git(tmp_path, "config", "core.ignoreCase", ignores)
    comments.add("README", 3, "greets", "NOTE")
    comments.add("Two", 2, "two", "NOTE")
    if by_git:
        git(tmp_path, "mv", "README", "Readme")
    else:
        (tmp_path / "README").rename(tmp_path / "Readme")
    (tmp_path / "Two").rename(tmp_path / "two")
    write(tmp_path, "two", "0\n1\n2\n")
    assert places(comments) == {"greets": ("Readme", 3, "moved"), "two": ("two", 3, "moved")}
    comments.relocating.relocate()
    assert sorted(each.filePath for each in comments.listed().comments) == ["Readme", "two"]


def test_a_file_that_stood_beside_it_all_along_is_not_its_new_spelling(tmp_path: Path) -> None:
    comments = workspace(tmp_path, README="# Hi\n\nHello\n", Readme="# Other\n\nHello\n")
    comments.add("README", 3, "greets", "NOTE")
    (tmp_path / "README").unlink()
    (found,) = comments.listed().comments
    assert (found.state, found.movedTo) == ("orphaned", "")


def test_a_tiny_file_that_is_renamed_keeps_its_comment(tmp_path: Path) -> None:
    comments = workspace(tmp_path, **{"v.txt": "v1\nok\n", "w.txt": "w1\n"})
    comments.add("v.txt", 2, "fine", "NOTE")
    (tmp_path / "v.txt").rename(tmp_path / "version.txt")
    assert places(comments) == {"fine": ("version.txt", 2, "moved")}
