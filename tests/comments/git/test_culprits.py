"""Many comments that lost their code are explained together, as each would be alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from postil.comments.git import culprits
from postil.comments.git.versions import History
from postil.comments.git.versions import read_history as read_really
from postil.comments.source_tree import SourceTree
from tests.comments.shop import CODE, add_at
from tests.comments.workspaces import FUNCTIONS, Comments, commit, workspace, write
from tests.workspace.repositories import git


def take_out(root: Path, text: str, number: int) -> str:
    """Commit a file without one of its functions."""
    left = text.replace(f"def function_{number}(value):\n    return value + {number}\n\n\n", "")
    write(root, "a.py", left)
    commit(root, f"took {number} out")
    return left


@pytest.fixture
def comments(tmp_path: Path) -> Comments:
    comments = workspace(tmp_path, **{"a.py": FUNCTIONS, "b.py": FUNCTIONS})
    for number in range(8):
        comments.add("a.py", 4 * number + 1, f"about {number}", "NOTE", endLine=4 * number + 2)
        comments.add("b.py", 4 * number + 2, f"in the other file {number}", "NOTE")
    commit(tmp_path, "commented")
    return comments


def test_each_is_told_its_own_commit_and_git_is_asked_once_a_file(
    comments: Comments, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = FUNCTIONS
    for number in (6, 1, 4):
        left = take_out(tmp_path, left, number)
    write(tmp_path, "b.py", "nothing = 'left'\n")
    commit(tmp_path, "emptied b")
    asked: list[str] = []

    def count_questions(tree: SourceTree, path: str, until: float, enough: Callable[[History], bool]) -> History:
        asked.append(path)
        return read_really(tree, path, until, enough)

    monkeypatch.setattr(culprits, "read_history", count_questions)
    lost = comments.reviewing.list_orphans().comments
    told = {each.text: each.commit.subject for each in lost if each.commit}
    assert sorted(asked) == ["a.py", "b.py"]
    assert len(told) == len(lost)
    gone = [each for each in lost if each.state == "orphaned" and each.filePath == "a.py"]
    assert gone, "functions that were deleted"
    assert all(told[each.text] == f"took {each.text[-1]} out" for each in gone)
    assert {told[each.text] for each in lost if each.filePath == "b.py"} == {"emptied b"}
    for each in lost:
        alone = comments.show(each.id).commit
        assert alone == each.commit


def test_what_is_where_it_was_asks_nothing(comments: Comments, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(culprits, "read_history")  # who asks git fails
    some = list(comments.overview.everything())
    assert [each.commit for each in comments.context.explain_all(some)] == [None] * 16


BODY = "    taxed = price * (1 + RATE)\n    return round(taxed, 2)\n"


@pytest.mark.parametrize(
    "steps",
    [
        ("rename", "take out"),
        ("take out", "rename"),
        ("rename", "edit", "rename", "take out", "rename"),
        ("rename", "take out", "delete"),
        ("rename", "rename", "rewrite"),
        ("rename", "edit", "delete"),
    ],
)
def test_a_rename_is_not_what_took_code_out(tmp_path: Path, steps: tuple[str, ...]) -> None:
    """The commit is named that did, wherever the file was by then."""
    comments = workspace(tmp_path, **{"shop.py": CODE})
    identity = add_at(comments, "taxed = ")
    commit(tmp_path, "commented")
    name, text = "shop.py", CODE
    for number, step in enumerate(steps):
        if step == "rename":
            git(tmp_path, "mv", name, f"shop_{number}.py")
            name = f"shop_{number}.py"
        elif step == "delete":
            git(tmp_path, "rm", "-q", name)
        else:
            text = {"take out": text.replace(BODY, "    ...\n"), "rewrite": FUNCTIONS}.get(step, f"# edited\n{text}")
            write(tmp_path, name, text)
        commit(tmp_path, step)
    took = next(step for step in ("take out", "rewrite", "delete") if step in steps)
    lost = comments.reviewing.list_orphans().comments
    assert [(each.id, each.commit and each.commit.subject) for each in lost] == [(identity, took)]
    assert comments.history.blame(identity).touches[0].commit.subject == took


def test_a_rename_is_what_moved_code_and_an_edit_what_changed_it(tmp_path: Path) -> None:
    comments = workspace(tmp_path, **{"shop.py": CODE})
    identity = add_at(comments, "taxed = ")
    commit(tmp_path, "commented")
    git(tmp_path, "mv", "shop.py", "prices.py")
    commit(tmp_path, "rename")
    found = comments.show(identity)
    assert (found.comment.state, found.commit and found.commit.subject) == ("moved", "rename")
    write(tmp_path, "prices.py", CODE.replace("taxed = price * (1 + RATE)", "taxed = price * (1.5 + RATE)"))
    commit(tmp_path, "edit")
    found = comments.show(identity)
    assert (found.comment.state, found.commit and found.commit.subject) == ("modified", "edit")
