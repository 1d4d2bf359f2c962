"""Comments whose words somebody else changed: whose they are now is told."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import copy_context
from pathlib import Path
from typing import TypeVar

import pytest

from postil.comments.sidecar.merge import merge_sidecars
from postil.core import call
from tests.comments.workspaces import Comments, commit, sidecar, workspace

T = TypeVar("T")


@pytest.fixture
def comments(tmp_path: Path) -> Comments:
    return workspace(tmp_path, **{"a.py": "one = 1\ntwo = 2\n"})


def by(name: str, do: Callable[[], T]) -> T:
    """Do something as the holder of an access key."""

    def run() -> T:
        call.enter(call.Call(call.Caller(f"key:{name}", surface="http", name=name)))
        return do()

    return copy_context().run(run)


def test_words_that_another_caller_put_into_a_comment_bear_their_name(comments: Comments) -> None:
    identity = by("ann", lambda: comments.add("a.py", 2, "words of ann")).commentId
    assert comments.show(identity).comment.editedBy == ""
    by("bob", lambda: comments.edit_by_id(identity, "words of bob"))
    shown = comments.show(identity)
    assert (shown.comment.author, shown.comment.editedBy) == ("key:ann (ann as ai)", "key:bob (bob as ai)")
    for answer in (shown, comments.file_comments("a.py"), comments.listed(), comments.search("words")):
        assert "key:ann (ann as ai), edited by key:bob (bob as ai)" in answer.for_model()


def test_the_name_goes_with_the_words_and_with_nothing_else(comments: Comments, tmp_path: Path) -> None:
    identity = by("ann", lambda: comments.add("a.py", 2, "words of ann")).commentId
    by("bob", lambda: comments.edit_by_id(identity, "words of bob"))
    by("eve", lambda: comments.edit_by_id(identity, tag="TODO"))
    assert comments.show(identity).comment.editedBy == "key:bob (bob as ai)"
    comments.edit_by_id(identity, "words of somebody on this machine")
    assert comments.show(identity).comment.editedBy == "ai"
    by("ann", lambda: comments.edit_by_id(identity, "words of ann again"))
    assert comments.show(identity).comment.editedBy == ""
    assert b"x-editedBy" not in sidecar(tmp_path, "a.py")
    by("bob", lambda: comments.edit_by_id(identity, "words of bob"))
    comments.relocating.undo(identity)
    shown = comments.show(identity).comment
    assert (shown.text, shown.editedBy) == ("words of ann again", "")


def test_the_history_names_who_changed_the_words(comments: Comments, tmp_path: Path) -> None:
    identity = by("ann", lambda: comments.add("a.py", 2, "words of ann")).commentId
    commit(tmp_path, "said")
    by("bob", lambda: comments.edit_by_id(identity, "words of bob"))
    (edited,) = (one for one in comments.history.lifetime(identity).changes if one.did == "edited")
    assert edited.by == "key:bob (bob as ai)"


@pytest.mark.parametrize("last", ["ann", "bob"])
def test_a_merge_keeps_the_name_of_the_words_that_it_keeps(comments: Comments, tmp_path: Path, last: str) -> None:
    identity = by("ann", lambda: comments.add("a.py", 2, "first words")).commentId
    base, sides = sidecar(tmp_path, "a.py"), dict[str, bytes]()
    for name in ("ann", "bob") if last == "bob" else ("bob", "ann"):
        (tmp_path / "a.py.comments").write_bytes(base)
        by(name, lambda name=name: comments.edit_by_id(identity, f"words of {name}"))
        sides[name] = sidecar(tmp_path, "a.py")
    (tmp_path / "a.py.comments").write_bytes(merge_sidecars("a.py", base, sides["ann"], sides["bob"]))
    shown = comments.show(identity).comment
    assert (shown.text, shown.editedBy) == (f"words of {last}", "key:bob (bob as ai)" if last == "bob" else "")
