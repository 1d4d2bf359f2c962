"""Comments whose words somebody else changed: whose they are now is told."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import copy_context
from pathlib import Path
from typing import TypeVar

import pytest

from postil.comments.operations.views import ViewTools
from postil.comments.sidecar.merge import merge_sidecars
from postil.core import call
from postil.flows.promotion import describe_for_issue
from tests.comments.workspaces import Comments, Typed, commit, sidecar, tell_person, workspace

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


ANN_BOB = "ann, edited by bob"


def at_the_shell(root: Path, name: str) -> Comments:
    """The comments as a person of this name has them, at a shell."""
    return Comments(str(root), author=name)


def typed(do: Callable[[], T]) -> T:
    def run() -> T:
        call.enter(Typed())
        return do()

    return copy_context().run(run)


@pytest.fixture
def reworded(comments: Comments, tmp_path: Path) -> str:
    """A comment of ann whose words bob has changed, both at a shell."""
    ann, bob = at_the_shell(tmp_path, "ann"), at_the_shell(tmp_path, "bob")
    identity = typed(lambda: ann.add("a.py", 2, "words of ann", "TODO")).commentId
    commit(tmp_path, "said")
    typed(lambda: bob.edit_by_id(identity, "words of bob"))
    return identity


def test_the_shell_tells_whose_words_a_comment_has_wherever_it_tells_the_author(
    comments: Comments, reworded: str, tmp_path: Path
) -> None:
    shown = comments.show(reworded)
    assert (shown.comment.author, shown.comment.editedBy) == ("ann", "bob")
    views = ViewTools(comments.context)
    (tmp_path / "a.py").write_text("one = 1\ntwo = 2 * one\n")  # reports for CI are of what changed
    for answer in (shown, comments.listed(), comments.search("words"), views.view("a.py"), views.report("HEAD")):
        assert ANN_BOB in tell_person(answer), answer
    typed(lambda: at_the_shell(tmp_path, "ann").edit_by_id(reworded, "words of ann again"))
    assert comments.show(reworded).comment.editedBy == ""


def test_what_was_said_since_names_who_said_it(comments: Comments, reworded: str, tmp_path: Path) -> None:
    views = ViewTools(comments.context)
    assert [(step.what, step.author) for step in views.diff_comments("HEAD").steps] == [("edited", "bob")]
    assert [(step.what, step.author) for step in views.diff_comments("HEAD~1").steps] == [("said", ANN_BOB)]
    commit(tmp_path, "reworded")
    comments.delete("a.py", reworded)
    assert [(step.what, step.author) for step in views.diff_comments("HEAD").steps] == [("deleted", ANN_BOB)]


def test_what_another_program_erased_is_told_with_whose_words_it_had(
    comments: Comments, reworded: str, tmp_path: Path
) -> None:
    commit(tmp_path, "reworded")
    (tmp_path / "a.py.comments").write_text('{"version": "2.0.0", "comments": [], "ghostMarkers": []}')
    checked = comments.maintenance.check_files()
    assert f"{ANN_BOB}: words of bob" in checked.for_model()


@pytest.mark.parametrize("format_", ["json", "jsonl", "csv"])
def test_an_export_tells_whose_words_it_has_and_is_taken_in_with_it(
    comments: Comments, reworded: str, tmp_path: Path, format_: str
) -> None:
    out = tmp_path / f"out.{format_}"
    comments.export(format_, output=str(out))
    other = workspace(tmp_path / "there", **{"a.py": "one = 1\ntwo = 2\n"})
    other.transfer.import_files((str(out),))
    (found,) = other.listed().comments
    assert (found.text, found.author, found.editedBy) == ("words of bob", "ann", "bob")


@pytest.mark.parametrize("format_", ["markdown", "html"])
def test_an_export_that_people_read_names_both(comments: Comments, reworded: str, tmp_path: Path, format_: str) -> None:
    out = tmp_path / f"out.{format_}"
    comments.export(format_, output=str(out))
    assert ANN_BOB in out.read_text()


def test_an_issue_made_of_a_comment_says_whose_words_it_has(comments: Comments, reworded: str) -> None:
    assert f", by {ANN_BOB}, " in describe_for_issue(comments.show(reworded).comment)
