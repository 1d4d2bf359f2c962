"""Two people reword one comment on two branches: the later words are shown, the others kept, told and to be had."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import copy_context
from pathlib import Path
from typing import TypeVar

import pytest

from postil.comments.operations.views import ViewTools
from postil.comments.sidecar.merge import merge_sidecars
from postil.core import call
from postil.core.failure import InvalidArguments
from tests.comments.workspaces import Comments, Typed, sidecar, tell_person, workspace, write

T = TypeVar("T")


def typed(do: Callable[[], T]) -> T:
    def run() -> T:
        call.enter(Typed())
        return do()

    return copy_context().run(run)


class Both:
    """A comment of ann that she and bob reword, each on a branch of their own, and the merge of both."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.comments = workspace(root, **{"a.py": "one = 1\ntwo = 2\n"})
        ann, bob = (Comments(str(root), author=name) for name in ("ann", "bob"))
        self.id = typed(lambda: ann.add("a.py", 2, "said first", "NOTE")).commentId
        self.base = sidecar(root, "a.py")
        typed(lambda: bob.edit_by_id(self.id, "TODO: words of bob"))
        self.bobs = sidecar(root, "a.py")
        write(root, "a.py.comments", self.base)
        typed(lambda: ann.edit_by_id(self.id, "words of ann"))
        self.anns = sidecar(root, "a.py")
        write(root, "a.py.comments", merge_sidecars("a.py", self.base, self.anns, self.bobs))


@pytest.fixture
def both(tmp_path: Path) -> Both:
    return Both(tmp_path)


def test_the_merge_says_whose_words_are_kept_beside_the_later_ones(both: Both, tmp_path: Path) -> None:
    """What git's driver says is printed by `git merge` and `git pull`."""
    base, anns, bobs = (
        str(write(tmp_path, f"{name}.side", data))
        for name, data in (("O", both.base), ("A", both.anns), ("B", both.bobs))
    )
    merged = both.comments.maintenance.merge_files(base, anns, bobs, "a.py.comments")
    assert merged.said.startswith(f"a.py.comments: ann and bob both changed the words of {both.id}")
    assert f"`postil comments show {both.id}`" in merged.for_model()
    write(tmp_path, "A.side", both.anns)
    write(tmp_path, "B.side", both.bobs.replace(b'"bob"', b'"ann"'))
    merged = both.comments.maintenance.merge_files(base, anns, bobs, "a.py.comments")
    assert merged.said.startswith(f"a.py.comments: ann on both sides changed the words of {both.id}")
    assert both.comments.maintenance.merge_files(base, bobs, bobs, "a.py.comments").for_model() == ""


def test_show_tells_both_wordings_and_how_to_decide(both: Both) -> None:
    shown = both.comments.show(both.id)
    assert shown.comment.text == "words of ann"
    for told in (tell_person(shown), shown.for_model()):
        assert "words of ann" in told
        assert "bob" in told
        assert "TODO: words of bob" in told
    assert f"postil comments edit {both.id} --wording 1" in tell_person(shown)
    assert f"postil comments edit {both.id} --wording 0" in tell_person(shown)
    assert "edit_comment" in shown.for_model()


def test_lists_and_views_mark_a_comment_of_two_wordings(both: Both) -> None:
    view = ViewTools(both.comments.context).view("a.py")
    for answer in (both.comments.listed(), view):
        assert "[2 wordings]" in tell_person(answer)
    assert "[2 wordings]" in both.comments.listed().for_model()


def test_a_check_names_it_and_calls_nothing_wrong(both: Both) -> None:
    checked = both.comments.maintenance.check_files()
    assert checked.exit_status == 0
    said = tell_person(checked)
    assert "nothing wrong" in said
    assert f"{both.id} has another wording" in said
    assert f"postil comments show {both.id}" in said


@pytest.mark.parametrize(
    ("wording", "text", "tag", "by"), [(0, "words of ann", "TODO", ""), (1, "TODO: words of bob", "TODO", "bob")]
)
def test_who_decides_takes_either(both: Both, wording: int, text: str, tag: str, by: str) -> None:
    typed(lambda: both.comments.edit_by_id(both.id, wording=wording))
    shown = both.comments.show(both.id).comment
    assert (shown.text, shown.tag, shown.editedBy, shown.revisions) == (text, tag, by, ())
    assert "wording" not in tell_person(both.comments.maintenance.check_files())
    assert b"x-revisions" not in sidecar(both.root, "a.py")


def test_a_decision_is_undone_with_the_other_wording(both: Both) -> None:
    before = both.comments.show(both.id).comment
    typed(lambda: both.comments.edit_by_id(both.id, wording=1))
    both.comments.relocating.undo(both.id)
    after = both.comments.show(both.id).comment
    assert (after.text, after.tag, after.revisions) == (before.text, before.tag, before.revisions)


def test_new_words_settle_it_and_a_tag_does_not(both: Both) -> None:
    both.comments.edit_by_id(both.id, tag="STAR")
    assert len(both.comments.show(both.id).comment.revisions) == 1
    both.comments.edit_by_id(both.id, "words of both")
    assert both.comments.show(both.id).comment.revisions == ()


def test_a_wording_that_is_not_there_is_refused_with_those_that_are(both: Both) -> None:
    with pytest.raises(InvalidArguments) as refused:
        both.comments.edit_by_id(both.id, wording=2)
    assert "0 or 1" in refused.value.message
    with pytest.raises(InvalidArguments):
        both.comments.edit_by_id(both.id, "and a text", wording=1)
    other = both.comments.add("a.py", 1, "alone", "NOTE").commentId
    with pytest.raises(InvalidArguments) as refused:
        both.comments.edit_by_id(other, wording=0)
    assert "no other wording" in refused.value.message


def test_what_was_settled_on_one_branch_is_settled_after_a_merge(both: Both) -> None:
    merged = sidecar(both.root, "a.py")
    typed(lambda: both.comments.edit_by_id(both.id, wording=1))
    settled = sidecar(both.root, "a.py")
    write(both.root, "a.py.comments", merged)
    both.comments.add("a.py", 1, "meanwhile", "NOTE")
    write(both.root, "a.py.comments", merge_sidecars("a.py", merged, sidecar(both.root, "a.py"), settled))
    shown = both.comments.show(both.id).comment
    assert (shown.text, shown.revisions) == ("TODO: words of bob", ())
