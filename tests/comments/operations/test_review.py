"""A person decides about uncertain, orphaned and stale comments."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from postil.comments.operations import review
from postil.core import call
from tests.comments.workspaces import Comments, root_of, workspace, write

CODE = "".join(f"value_{n} = {n}\n" for n in range(1, 31))


@pytest.fixture
def comments(tmp_path: Path) -> Comments:
    return workspace(tmp_path, **{"a.py": CODE, "lib/b.py": CODE, "lib/deep/c.ts": "const a = 1;\n" * 20})


def test_a_person_reviews_uncertain_comments_at_a_terminal(comments: Comments, monkeypatch: pytest.MonkeyPatch) -> None:
    root = root_of(comments)
    for line in (3, 13, 23):
        comments.add("a.py", line, f"about {line}", "NOTE")
    write(root, "a.py", "alpha = 'a'\nbeta = 'b'\n")
    assert len(comments.reviewing.list_orphans().comments) == 3
    assert len(comments.reviewing.review().waiting) == 3  # nobody to ask
    person = call.Call()
    person.interactive = True
    call.enter(person)
    monkeypatch.setattr(sys, "stdin", io.StringIO("nonsense\n2\nd\nq\n"))
    try:
        reviewed = comments.reviewing.review()
    finally:
        call.enter(call.Call())
    assert (reviewed.placed, reviewed.deleted, reviewed.skipped) == (1, 1, 1)
    assert [(each.text, each.line) for each in comments.listed(state="exact").comments] == [("about 3", 2)]


def test_lost_comments_come_a_page_at_a_time(comments: Comments) -> None:
    for line in (3, 13, 23):
        comments.add("a.py", line, f"about {line}", "NOTE")
    write(root_of(comments), "a.py", "alpha = 'a'\nbeta = 'b'\n")
    whole = comments.reviewing.list_orphans()
    first, rest = comments.reviewing.list_doubts(limit=2), comments.reviewing.list_doubts(limit=2, skip=2)
    assert (first.comments + rest.comments, first.total) == (whole.comments, 3)
    assert "2 of 3 are shown" in first.for_model()
    assert "are shown" not in whole.for_model()


def test_the_review_keeps_ranges_and_asks_about_stale_comments(
    comments: Comments, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = root_of(comments)
    lost = comments.add("a.py", 3, "about three lines", endLine=5).commentId
    stale = comments.add("a.py", 20, "about twenty", "NOTE").commentId
    edited = CODE.replace("value_20 = 20", "value_20 = compute(20, [1, 2, 3], deep=True) or other(value_19)")
    write(root, "a.py", edited.replace("value_3 = 3\nvalue_4 = 4\nvalue_5 = 5\n", ""))
    waiting = {each.id: each for each in comments.reviewing.review().waiting}
    assert lost in waiting
    person = call.Call()
    person.interactive = True
    call.enter(person)
    said = {lost: "a.py:7\n", stale: "k\n" if stale in waiting and waiting[stale].stale else "s\n"}
    monkeypatch.setattr(sys, "stdin", io.StringIO("".join(said[identity] for identity in waiting)))
    try:
        comments.reviewing.review()
    finally:
        call.enter(call.Call())
    found = {each.id: each for each in comments.listed().comments}
    assert (found[lost].line, found[lost].endLine) == (7, 9)
    assert not found[stale].stale


def test_places_without_any_likelihood_are_not_offered(comments: Comments, monkeypatch: pytest.MonkeyPatch) -> None:
    comments.add("a.py", 13, "about 13", "NOTE")
    write(root_of(comments), "a.py", "".join(f"alpha_{n}('a')\n" for n in range(1, 31)))
    (lost,) = comments.listed().comments
    first, *others = lost.candidates
    assert others
    monkeypatch.setattr(review, "LIKELY", first.confidence)
    (shown,) = comments.reviewing.list_orphans().comments
    assert [each.line for each in shown.candidates] == [first.line]
    assert f"{len(others)} places less than" in shown.reason
