"""The operations about changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from postil.core.failure import InvalidArguments, NotFound
from postil.core.operation import Operation
from postil.workspace.failures import FileMissing, UnsafePath
from postil.workspace.operations.changes import ChangeTools
from tests.workspace.repositories import git, new_repository, workspace


def tools(folder: Path) -> ChangeTools:
    repo = new_repository(folder, a__txt="one\n")
    (repo / "a.txt").write_text("two\n")
    return ChangeTools(workspace(repo))


def test_changes_are_listed_and_shown_as_text(tmp_path: Path) -> None:
    changes = tools(tmp_path)
    assert changes.list_changes().for_model() == "Changes that are not committed: 1 files\nmodified a.txt +1 -1"
    assert changes.show_diff(("a.txt",)).for_model() == "a.txt\n@@ \n    1 -one\n    1 +two"
    assert changes.read_changes() == changes.list_changes().for_model()


def test_a_file_that_did_not_change_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"^b Forged did not change there$"):
        tools(tmp_path).show_diff(("b\nForged",))


@pytest.mark.parametrize(
    "arguments", [{"files": 1}, {"files": ["a"] * 51}, {"files": ["a"], "context": 101}, {"files": ["a"], "skip": -1}]
)
def test_bad_arguments_are_refused(tmp_path: Path, arguments: dict[str, object]) -> None:
    with pytest.raises(InvalidArguments):
        Operation(tools(tmp_path).show_diff).decode(arguments)


def test_a_file_is_shown_in_pieces_and_only_inside_the_repository(tmp_path: Path) -> None:
    changes = tools(tmp_path)
    assert changes.show_file("a.txt").for_model() == "    1 two"
    with pytest.raises(UnsafePath):
        changes.show_file("../outside")
    with pytest.raises(FileMissing):
        changes.show_file("nothing.txt")
    with pytest.raises(InvalidArguments):
        Operation(changes.show_file).decode({"file": "a.txt", "start": 0})


def test_comment_files_are_counted_and_told_in_words_instead_of_listed(tmp_path: Path) -> None:
    repo = new_repository(tmp_path, a__txt="one\n")
    (repo / "a.txt").write_text("two\n")
    (repo / "a.txt.comments").write_text("{}\n")
    changes = ChangeTools(workspace(repo))
    listed = changes.list_changes()
    assert ([one.file for one in listed.files], listed.comment_files) == (["a.txt"], 1)
    assert listed.for_model().endswith("and 1 comment file: `comments_diff` tells what was said in them")
    assert [one.file.file for one in changes.show_diff().diffs] == ["a.txt"]
    assert [one.file.file for one in changes.show_diff(("a.txt.comments",)).diffs] == ["a.txt.comments"]
    git(repo, "add", ".")
    git(repo, "commit", "-qm", "both")
    before = git(repo, "rev-parse", "--short=12", "HEAD~1").strip()
    last = changes.list_changes("HEAD")
    assert ([one.file for one in last.files], last.comment_files, last.comments_since) == (["a.txt"], 1, before)


def test_of_the_first_commit_no_earlier_one_is_named(tmp_path: Path) -> None:
    changes = ChangeTools(workspace(new_repository(tmp_path, a__txt="one\n", a__txt__comments="{}\n")))
    listed = changes.list_changes("HEAD")
    assert (listed.comment_files, listed.comments_since) == (1, "")
