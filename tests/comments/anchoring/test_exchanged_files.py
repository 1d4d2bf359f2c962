"""Files that were given another's content and edited: comments go with their code, or a person is asked."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from postil.comments.storage.file_versions import FileVersions
from tests.comments.anchoring.test_swapped_files import FILES, places, swap
from tests.comments.workspaces import Comments, commit, plain_workspace, workspace, write

PYTHON = "import os\n\n\n" + "".join(
    f"def {{name}}_{number}(value):\n    result = os.{{name}}(value, {number})\n    return result\n\n\n"
    for number in range(6)
)
UNLIKE = {"a.py": PYTHON.format(name="alpha"), "b.py": PYTHON.format(name="beta")}


def copy(root: Path, source: str, target: str) -> None:
    """As `cp` does it: the target is written anew."""
    (root / target).write_bytes((root / source).read_bytes())


def swap_by_copies(root: Path) -> None:
    for source, target in (("a.py", "t"), ("b.py", "a.py"), ("t", "b.py")):
        copy(root, source, target)
    (root / "t").unlink()


def edit(root: Path, *names: str) -> None:
    for name in names:
        lines = (root / name).read_text().split("\n")
        lines.insert(6, f"added_to_{name[0]} = 1")
        (root / name).write_text("\n".join(lines))


def candidates(comments: Comments) -> dict[str, tuple[str, list[tuple[str, int]]]]:
    listed = comments.listed().comments
    return {each.text: (each.state, [(one.path, one.line) for one in each.candidates]) for each in listed}


@pytest.mark.parametrize("committed", [True, False])
@pytest.mark.parametrize("files", [FILES, UNLIKE], ids=["alike", "unlike"])
def test_a_comment_goes_along_when_its_file_is_swapped_by_copies_with_one_that_has_none(
    tmp_path: Path, files: dict[str, str], committed: bool
) -> None:
    comments = workspace(tmp_path, **files)
    comments.add("a.py", 14, "mine", "NOTE")
    swap_by_copies(tmp_path)
    if committed:
        commit(tmp_path, "swapped")
    assert places(comments) == {"mine": ("b.py", 14, "moved")}


@pytest.mark.parametrize("how", ["git", "committed", "plain"])
@pytest.mark.parametrize("edited", ["a.py", "b.py", "both"])
def test_files_that_swap_names_and_are_edited_before_anybody_looks_keep_their_comments(
    tmp_path: Path, edited: str, how: str
) -> None:
    comments = (plain_workspace if how == "plain" else workspace)(tmp_path, **FILES)
    for name, line in (("a.py", 14), ("b.py", 14), ("a.py", 5)):
        comments.add(name, line, f"{name}:{line}", "NOTE")
    if how == "committed":
        commit(tmp_path, "commented")
    swap(tmp_path, by_git=False)
    edit(tmp_path, *(("a.py", "b.py") if edited == "both" else (edited,)))
    if how == "committed":
        commit(tmp_path, "swapped")
    lower = {name: 15 if edited in (name, "both") else 14 for name in FILES}
    found = places(comments)
    assert found["a.py:14"] == ("b.py", lower["b.py"], "moved")
    assert found["b.py:14"] == ("a.py", lower["a.py"], "moved")
    # The line is in both files: nobody can tell.
    assert candidates(comments)["a.py:5"] == ("review", [("b.py", 5), ("a.py", 5)])
    # What seemed so at one look is no surer at the next, whichever file it looks at again.
    for name in FILES:
        (tmp_path / name).touch()
        assert candidates(comments)["a.py:5"] == ("review", [("b.py", 5), ("a.py", 5)])


@pytest.mark.parametrize("how", ["git", "plain"])
def test_a_swap_is_still_known_when_the_files_are_edited_again_and_relocated(tmp_path: Path, how: str) -> None:
    comments = (plain_workspace if how == "plain" else workspace)(tmp_path, **FILES)
    comments.add("a.py", 14, "thirty", "NOTE")
    comments.add("b.py", 14, "sixty", "NOTE")
    swap(tmp_path, by_git=False)
    for line, names in ((15, ("a.py", "b.py")), (16, ("a.py", "b.py"))):
        for name in names:
            edit(tmp_path, name)
            comments.listed()
        assert places(comments) == {"thirty": ("b.py", line, "moved"), "sixty": ("a.py", line, "moved")}
    comments.relocate()
    assert places(comments) == {"thirty": ("b.py", 16, "exact"), "sixty": ("a.py", 16, "exact")}


@pytest.mark.parametrize("how", ["git", "plain"])
def test_adding_a_comment_to_a_swapped_file_ties_none_of_the_others_to_it(tmp_path: Path, how: str) -> None:
    comments = (plain_workspace if how == "plain" else workspace)(tmp_path, **FILES)
    comments.add("a.py", 14, "thirty", "NOTE")
    comments.add("b.py", 14, "sixty", "NOTE")
    swap(tmp_path, by_git=False)
    comments.add("a.py", 2, "new", "NOTE")
    found = places(comments)
    assert (found["thirty"], found["sixty"]) == (("b.py", 14, "moved"), ("a.py", 14, "moved"))


def test_without_git_a_person_is_asked_when_a_file_swaps_names_with_one_that_has_no_comments(tmp_path: Path) -> None:
    comments = plain_workspace(tmp_path, **UNLIKE)
    comments.add("a.py", 5, "five", "NOTE")
    comments.add("a.py", 14, "mine", "NOTE")
    swap(tmp_path, by_git=False)
    found = candidates(comments)
    assert [found["mine"][0], *found["mine"][1][:2]] == ["review", ("b.py", 14), ("a.py", 14)]
    assert [found["five"][0], *found["five"][1][:2]] == ["review", ("b.py", 5), ("a.py", 5)]
    assert "b.py holds what it was" in comments.listed().comments[0].reason
    swap(tmp_path, by_git=False)
    assert places(comments) == {"five": ("a.py", 5, "exact"), "mine": ("a.py", 14, "exact")}


def test_without_git_a_copy_that_is_kept_while_a_file_is_edited_takes_no_comment(tmp_path: Path) -> None:
    comments = plain_workspace(tmp_path, **UNLIKE)
    comments.add("a.py", 14, "mine", "NOTE")
    copy(tmp_path, "a.py", "a.py.orig")
    edit(tmp_path, "a.py")
    assert places(comments) == {"mine": ("a.py", 15, "moved")}


def test_comments_of_a_file_that_another_was_copied_over_are_left_to_a_person(tmp_path: Path) -> None:
    comments = workspace(tmp_path, **UNLIKE)
    comments.add("a.py", 14, "alpha", "NOTE")
    comments.add("b.py", 14, "beta", "NOTE")
    copy(tmp_path, "b.py", "a.py")
    state, offered = candidates(comments)["alpha"]
    assert (state, offered[0]) == ("review", ("a.py", 14))
    assert "a copy of b.py" in next(each.reason for each in comments.listed().comments if each.state == "review")
    assert places(comments)["beta"] == ("b.py", 14, "exact")


def test_a_file_that_is_moved_over_another_takes_its_comments_along(tmp_path: Path) -> None:
    comments = workspace(tmp_path, **FILES)
    comments.add("a.py", 14, "thirty", "NOTE")
    (tmp_path / "a.py").rename(tmp_path / "b.py")
    assert places(comments) == {"thirty": ("b.py", 14, "moved")}


def test_a_copy_over_a_file_without_comments_takes_none_away(tmp_path: Path) -> None:
    comments = workspace(tmp_path, **UNLIKE)
    comments.add("a.py", 14, "alpha", "NOTE")
    copy(tmp_path, "a.py", "b.py")
    edit(tmp_path, "a.py")
    assert places(comments) == {"alpha": ("a.py", 15, "moved")}


def test_functions_that_two_files_exchange_take_their_own_comments_and_no_others(tmp_path: Path) -> None:
    alpha, beta = UNLIKE["a.py"], UNLIKE["b.py"]
    first = {"a.py": alpha + "def mine():\n    return 'mine'\n", "b.py": beta + "def yours():\n    return 'yours'\n"}
    comments = workspace(tmp_path, **first)
    comments.add("a.py", 14, "stays", "NOTE")
    write(tmp_path, "a.py", alpha + "def yours():\n    return 'yours'\n")
    write(tmp_path, "b.py", beta + "def mine():\n    return 'mine'\n")
    assert places(comments) == {"stays": ("a.py", 14, "exact")}


def test_settings_that_two_alike_files_exchange_are_edits_and_no_swap(tmp_path: Path) -> None:
    comments = workspace(tmp_path, **FILES)
    comments.add("a.py", 14, "thirty", "NOTE")
    write(tmp_path, "a.py", FILES["a.py"].replace("30", "60"))
    write(tmp_path, "b.py", FILES["b.py"].replace("60", "30"))
    assert places(comments) == {"thirty": ("a.py", 14, "modified")}


def test_what_files_were_is_read_for_many_of_them_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {f"f{number}.py": PYTHON.format(name=f"name{number}") for number in range(12)}
    comments = workspace(tmp_path, **files)
    for name in files:
        comments.add(name, 6, name, "NOTE")
    commit(tmp_path, "commented")
    texts = list(files.values())
    for name, text in zip(files, [*texts[1:], texts[0]], strict=True):
        write(tmp_path, name, f"# edited\n{text}")
    asked: list[int] = []
    read = FileVersions.read

    def count(versions: FileVersions, blobs: Iterable[str], *more: Any) -> dict[str, str]:
        asked.append(1)
        return read(versions, blobs, *more)

    monkeypatch.setattr(FileVersions, "read", count)
    assert {each.state for each in comments.listed().comments} == {"review"}
    assert len(asked) < 20, len(asked)


@pytest.mark.parametrize("committed", [True, False])
def test_files_that_swap_names_after_one_was_edited_in_a_commit_of_its_own_keep_their_comments(
    tmp_path: Path, committed: bool
) -> None:
    """Nothing like the code is left under the old name, and what the other file holds was nobody's version."""
    comments = workspace(tmp_path, **{"a.py": "def total(items):\n    return sum(items)\n", "b.py": UNLIKE["b.py"]})
    for name, line in (("a.py", 2), ("b.py", 5), ("b.py", 6)):
        comments.add(name, line, f"{name}:{line}", "NOTE")
    commit(tmp_path, "commented")
    (tmp_path / "b.py").write_text(UNLIKE["b.py"].replace("import os\n", "import os\nimport sys\n"))
    commit(tmp_path, "edited")
    swap(tmp_path, by_git=False)
    if committed:
        commit(tmp_path, "swapped")
    assert places(comments) == {
        "a.py:2": ("b.py", 2, "moved"),
        "b.py:5": ("a.py", 6, "moved"),
        "b.py:6": ("a.py", 7, "moved"),
    }
