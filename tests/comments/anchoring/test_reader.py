"""A read changes no file; a relocation writes what the extension takes."""

from __future__ import annotations

import threading
from pathlib import Path

import msgspec
import pytest

from tests.comments.shop import CODE, add_at, line_of
from tests.comments.sidecars import extension_accepts
from tests.comments.workspaces import Comments, commit, root_of, sidecar, workspace, write
from tests.workspace.repositories import git


@pytest.fixture
def comments(tmp_path: Path) -> Comments:
    return workspace(tmp_path, **{"shop.py": CODE})


def test_reading_leaves_the_work_tree_clean(comments: Comments) -> None:
    add_at(comments, "taxed = ")
    commit(root_of(comments), "commented")
    write(root_of(comments), "shop.py", "# new\n" + CODE)
    commit(root_of(comments), "moved")
    comments.file_comments("shop.py")
    comments.listed()
    comments.search("look")
    assert git(root_of(comments), "status", "--porcelain") == ""


def test_relocate_writes_the_new_place_and_the_extension_takes_it(comments: Comments) -> None:
    identity = add_at(comments, "taxed = ")
    write(root_of(comments), "shop.py", "# new\n" + CODE)
    (step,) = comments.relocate().moved
    assert (step.commentId, step.targetLine) == (identity, line_of(CODE, "taxed = ") + 1)
    written = msgspec.json.decode(sidecar(root_of(comments), "shop.py"))
    (marker,) = written["ghostMarkers"]
    assert (marker["line"], marker["lineText"]) == (step.targetLine, "taxed = price * (1 + RATE)")
    assert marker["x-anchor"]["history"][0]["line"] == step.sourceLine
    assert extension_accepts(sidecar(root_of(comments), "shop.py"))
    assert comments.file_comments("shop.py").comments[0].state == "exact"
    assert comments.relocate().moved == ()


def test_an_unchanged_file_is_not_read_again(comments: Comments, monkeypatch: pytest.MonkeyPatch) -> None:
    add_at(comments, "taxed = ")
    settled = threading.Event()
    threading.Timer(0.1, settled.set).start()  # older than one tick of the file system's clock
    assert settled.wait(5)
    assert comments.listed().total == 1

    def never(*_: object) -> None:
        raise AssertionError("read again")

    monkeypatch.setattr(comments.store, "read", never)
    assert comments.listed().total == 1
    assert comments.search("look").totalResults == 1


def test_two_saves_within_one_tick_of_the_clock_are_two(comments: Comments) -> None:
    # Same size, same inode, and on most file systems the same time: a stat alone cannot tell them apart.
    add_at(comments, "taxed = ")
    here = line_of(CODE, "taxed = ")
    first, second = "# ab\n" + CODE + "# cd\n", CODE + "# ab\n# cd\n"
    for text, line in [(first, here + 1), (second, here)] * 20:
        write(root_of(comments), "shop.py", text)
        assert comments.file_comments("shop.py").comments[0].line == line
        assert comments.listed().comments[0].line == line


def cut_off(comments: Comments, old: str, new: str) -> tuple[Comments, str]:
    """A clone of depth 1 of code that was commented and edited then, and its comment."""
    root = root_of(comments)
    identity = add_at(comments, "taxed = ")
    commit(root, "commented")
    write(root, "shop.py", "# new\n" + CODE.replace(old, new))
    commit(root, "edited")
    clone = root.parent / "clone"
    git(root.parent, "clone", "-q", "--depth", "1", root.as_uri(), str(clone))
    return Comments(str(clone)), identity


def marker_at(comments: Comments, line: int) -> bool:
    written = msgspec.json.decode(sidecar(root_of(comments), "shop.py"))
    return any(marker["line"] == line for marker in written["ghostMarkers"])


@pytest.fixture
def inside(tmp_path: Path) -> Comments:
    return workspace(tmp_path / "whole", **{"shop.py": CODE})


TAXED = line_of(CODE, "taxed = ")


def test_adding_a_comment_moves_no_other_one_by_what_its_marker_keeps_alone(inside: Comments) -> None:
    clone, identity = cut_off(inside, "taxed = price * (1 + RATE)", "taxed = price * (2 + RATE)")
    assert clone.show(identity).comment.state == "modified"
    clone.add("shop.py", 1, "another", "NOTE")
    assert marker_at(clone, TAXED)
    assert clone.show(identity).comment.state == "modified"


def test_relocating_leaves_them_too_and_says_what_is_missing(inside: Comments) -> None:
    clone, identity = cut_off(inside, "taxed = price * (1 + RATE)", "taxed = price * (2 + RATE)")
    for answer in (clone.relocate(dryRun=True), clone.relocate()):
        assert answer.moved == ()
        assert "1 comment stays where it was" in answer.for_model()
        assert "git fetch --unshallow" in answer.for_model()
    assert marker_at(clone, TAXED)
    git(root_of(clone), "fetch", "-q", "--unshallow")
    (step,) = clone.relocate().moved
    assert (step.commentId, marker_at(clone, TAXED + 1)) == (identity, True)


def test_a_place_where_all_stands_that_a_marker_keeps_is_written(inside: Comments) -> None:
    clone, identity = cut_off(inside, "", "")
    (step,) = clone.relocate().moved
    assert (step.commentId, step.targetLine) == (identity, TAXED + 1)
    assert marker_at(clone, TAXED + 1)
