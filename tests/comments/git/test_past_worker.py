"""Large versions of the past are compared by a worker, which finds what the server would; small ones by the server."""

from __future__ import annotations

from pathlib import Path
from typing import IO

import pytest

from postil.anchor.syntax import languages
from postil.comments.git import past_worker
from postil.comments.git.evaluate import measure
from postil.comments.git.past_worker import TakesTooLong, What
from postil.comments.source_tree import SourceTree
from postil.core import limits
from tests.comments.shop import CODE, add_at
from tests.comments.workspaces import Comments, commit, root_of, workspace, write

LARGE = CODE + "".join(f"value_{number} = '{number * 'x':.110}{number}'\n" for number in range(1300))


@pytest.fixture
def comments(tmp_path: Path) -> Comments:
    assert len(LARGE) > limits.HERE
    made = workspace(tmp_path, **{"shop.py": LARGE})
    root = root_of(made)
    add_at(made, "taxed = ", "why?")
    commit(root, "commented")
    write(root, "shop.py", "# top\n" + LARGE.replace("taxed = ", "with_tax = taxed = "))
    commit(root, "changed")
    write(root, "shop.py", "# top\n# of it\n" + LARGE.replace("taxed = ", "with_tax = taxed = "))
    commit(root, "moved")
    return made


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is asked of workers."""
    seen: list[str] = []
    ask = past_worker._ask  # type: ignore[attr-defined]

    def note(tree: SourceTree, what: What, path: str, arguments: tuple[object, ...]) -> IO[bytes]:
        seen.append(what)
        return ask(tree, what, path, arguments)

    monkeypatch.setattr(past_worker, "_ask", note)
    return seen


def read_past(comments: Comments) -> list[object]:
    (each,) = comments.listed().comments
    there = comments.listed(revision="HEAD~1")
    return [each.line, there, comments.blame(each.id), comments.show(each.id)]


def test_a_worker_finds_in_large_files_what_the_server_would(
    comments: Comments, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    apart = read_past(comments)
    assert {*asked} == {"at", "touches", "culprit"}
    asked.clear()
    monkeypatch.setattr(languages, "_lifted", [True])  # as a worker does itself
    monkeypatch.setattr(limits, "HERE", 1 << 30)
    assert read_past(comments) == apart
    assert asked == []


def test_small_files_are_compared_here(tmp_path: Path, asked: list[str]) -> None:
    made = workspace(tmp_path, **{"shop.py": CODE})
    add_at(made, "taxed = ", "why?")
    commit(root_of(made), "commented")
    write(root_of(made), "shop.py", "# top\n" + CODE.replace("taxed = ", "with_tax = taxed = "))
    commit(root_of(made), "changed")
    assert read_past(made)
    assert asked == []


def test_versions_that_take_too_much_are_named(comments: Comments, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError

    (each,) = comments.listed().comments
    monkeypatch.setattr(past_worker, "start_worker", fail)
    with pytest.raises(TakesTooLong, match=r"versions of shop\.py takes too much"):
        comments.blame(each.id)
    assert comments.show(each.id).commit is None
    there = comments.listed(revision="HEAD~1")
    assert "takes too much" in str(there)


def test_a_large_file_is_measured_by_a_worker(
    comments: Comments, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server compared it itself, for as long as that took."""
    apart = measure(comments.tree, 2, 10)
    assert (asked, apart.files, apart.lines > 20) == (["lines"], 1, True)
    monkeypatch.setattr(languages, "_lifted", [True])  # as a worker does itself
    monkeypatch.setattr(limits, "HERE", 1 << 30)
    here = measure(comments.tree, 2, 10)
    assert asked == ["lines"]
    assert (here.right, here.wrong, here.review, here.orphaned) == (
        apart.right, apart.wrong, apart.review, apart.orphaned
    )  # fmt: skip


def test_comments_that_follow_a_large_file_are_looked_for_by_a_worker(comments: Comments, asked: list[str]) -> None:
    root = root_of(comments)
    write(root, "new.py", "# moved\n" + (root / "shop.py").read_text())
    done = comments.move_all("shop.py", "new.py")
    assert "moved" in asked
    assert [(each.targetFile, each.sourceFile) for each in done.moved] == [("new.py", "shop.py")]


def test_what_takes_a_worker_too_long_is_not_measured(comments: Comments, monkeypatch: pytest.MonkeyPatch) -> None:
    def give_up(*_: object) -> None:
        raise TakesTooLong("shop.py")

    monkeypatch.setattr(past_worker, "ask_past", give_up)
    assert measure(comments.tree, 2, 10).lines == 0
