"""A partial clone has left versions at its remote: nothing is fetched for a question, and nobody is told a guess."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from postil.comments.git import objects
from postil.comments.operations.views import ViewTools
from postil.workspace.failures import GitFailed
from postil.workspace.git import GitResult, try_git
from tests.comments.workspaces import FUNCTIONS, Comments, commit, workspace, write
from tests.workspace.repositories import git

TAKEN_OUT = "def function_1(value):\n    return value + 1\n\n\n"


class Partial(Comments):
    """A clone in which nothing is but commits and what is checked out, and with `blob:none` the folders of all."""

    def __init__(self, whole: Path, leaves_out: str = "blob:none") -> None:
        git(whole, "config", "uploadpack.allowFilter", "true")
        git(whole, "config", "uploadpack.allowAnySHA1InWant", "true")
        self.folder = whole.parent / "partial"
        git(whole.parent, "clone", "-q", f"--filter={leaves_out}", f"file://{whole}", str(self.folder))
        super().__init__(str(self.folder))

    def fetch(self, name: str) -> None:
        git(self.folder, "cat-file", "-e", name)

    def count_missing(self) -> int:
        listed = git(self.folder, "rev-list", "--objects", "--all", "--missing=print").split("\n")
        return sum(row.startswith("?") for row in listed)


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    """Comments on two functions; edits of others before and after the commit that takes out one of the two."""
    folder = tmp_path / "whole"
    comments = workspace(folder, **{"a.py": FUNCTIONS})
    comments.add("a.py", 5, "will go", "NOTE")
    comments.add("a.py", 22, "stays", "NOTE")
    commit(folder, "commented")
    text = FUNCTIONS
    for number in (7, 6):
        text = text.replace(f"value + {number}", f"value - {number}")
        write(folder, "a.py", text)
        commit(folder, f"edited {number}")
    text = text.replace(TAKEN_OUT, "")
    write(folder, "a.py", text)
    commit(folder, "took it out")
    write(folder, "a.py", text.replace("value + 0", "value - 0"))
    commit(folder, "edited 0")
    return folder


def name(comments: Comments, text: str) -> str:
    return next(each.id for each in comments.listed().comments if each.text == text)


def test_no_commit_is_blamed_that_nobody_can_know_and_the_right_one_once_it_can_be_known(whole: Path) -> None:
    partial = Partial(whole)
    gone = name(partial, "will go")
    missing = partial.count_missing()
    assert partial.show(gone).commit is None
    assert partial.count_missing() == missing > 3
    partial.fetch("HEAD~4:a.py")
    assert partial.show(gone).commit is None, "there are versions in between that are not here"
    for number in range(4):
        partial.fetch(f"HEAD~{number}:a.py")
    found = partial.show(gone).commit
    assert found
    assert found.subject == "took it out"


def test_where_the_version_of_a_comment_is_not_here_no_other_is_asked_about(
    whole: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    partial = Partial(whole)
    gone = name(partial, "will go")
    asked: list[str] = []

    def note(root: str, *words: str, **how: Any) -> GitResult:
        asked.extend(how["input"].decode().split() if words[0] == "cat-file" else ())
        return try_git(root, *words, **how)

    monkeypatch.setattr(objects, "try_git", note)
    assert partial.show(gone).commit is None
    assert len(set(asked)) == 1, "the versions after it tell nothing without it"


def test_the_last_commit_is_not_said_to_have_added_what_was_there_before(whole: Path) -> None:
    partial = Partial(whole)
    blamed = partial.blame(name(partial, "stays"))
    assert [each.did for each in blamed.touches] == ["before"]
    assert "is not known" in blamed.for_model()
    told = partial.blame(name(partial, "will go")).for_model()
    assert "no commit had it" not in told
    assert "is not known" in told


def test_at_a_revision_code_is_not_said_to_be_gone_that_is_not_here(whole: Path) -> None:
    partial = Partial(whole)
    listed = partial.listed(revision="HEAD~4")
    assert not listed.comments
    assert [each.filePath for each in listed.damaged] == ["a.py"]
    assert listed.exit_status == 7
    partial.fetch("HEAD~4:a.py")
    assert [each.state for each in partial.listed(revision="HEAD~4").comments] == ["exact", "exact"]


def test_comments_of_a_file_that_is_not_here_are_not_said_to_be_new(whole: Path) -> None:
    Comments(str(whole)).add("a.py", 1, "new", "NOTE")
    commit(whole, "one more")
    partial = Partial(whole)
    since = ViewTools(partial.context).diff_comments("HEAD~1")
    assert not since.steps
    assert since.damaged == ("a.py.comments",)
    partial.fetch("HEAD~1:a.py.comments")
    assert [each.text for each in ViewTools(partial.context).diff_comments("HEAD~1").steps] == ["new"]


def test_no_commit_is_said_to_have_edited_a_comment_that_another_may_have_edited(whole: Path) -> None:
    comments = Comments(str(whole))
    stays = name(comments, "stays")
    for text in ("first", "second"):
        comments.edit("a.py", stays, text)
        commit(whole, f"said {text}")
    partial = Partial(whole)
    partial.fetch("HEAD~2:a.py.comments")
    told = partial.history.lifetime(stays)
    assert [(each.after, each.commit) for each in told.changes if each.did == "edited"] == [("second", None)]
    assert "is not known" in told.for_model()
    partial.fetch("HEAD~1:a.py.comments")
    whole_told = partial.history.lifetime(stays)
    named = [(each.after, each.commit and each.commit.subject) for each in whole_told.changes if each.did == "edited"]
    assert named == [("first", "said first"), ("second", "said second")]


def test_a_file_that_was_renamed_and_edited_still_has_the_commits_of_its_own_name(tmp_path: Path) -> None:
    folder = tmp_path / "whole"
    workspace(folder, **{"a.py": FUNCTIONS})
    git(folder, "mv", "a.py", "b.py")
    write(folder, "b.py", FUNCTIONS.replace("value + 0", "value - 0"))
    commit(folder, "renamed")
    comments = Comments(str(folder))
    comments.add("b.py", 5, "will go", "NOTE")
    commit(folder, "commented")
    write(folder, "b.py", FUNCTIONS.replace("value + 0", "value - 0").replace(TAKEN_OUT, ""))
    commit(folder, "took it out")
    partial = Partial(folder)
    partial.fetch("HEAD~1:b.py")
    found = partial.show(name(partial, "will go")).commit
    assert found
    assert found.subject == "took it out"


def test_what_git_needs_and_has_not_got_is_said_to_be_at_the_remote(whole: Path) -> None:
    partial = Partial(whole)
    with pytest.raises(GitFailed, match=r"could not fetch \w+ from promisor remote") as refused:
        ViewTools(partial.context).report("HEAD~1")
    assert "left files at its remote" in refused.value.advice


def test_a_clone_without_the_folders_of_older_commits_has_its_comments(whole: Path) -> None:
    partial = Partial(whole, "tree:0")
    missing = partial.count_missing()
    listed = partial.listed()
    assert [(each.text, each.state) for each in listed.comments] == [("will go", "orphaned"), ("stays", "moved")]
    assert [each.text for each in partial.reviewing.list_orphans().comments] == ["will go"]
    assert not partial.listed(changed="HEAD").comments
    partial.add("a.py", 1, "new", "NOTE")
    assert partial.blame(name(partial, "stays")).partial
    with pytest.raises(GitFailed, match="from promisor remote"):
        partial.listed(revision="HEAD~1")
    assert partial.count_missing() == missing
