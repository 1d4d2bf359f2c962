"""A person decides about uncertain, orphaned and stale comments."""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path

import pytest
from msgspec.json import encode

from postil.comments.failures import SourceNotFound
from postil.comments.index import catch_up
from postil.comments.operations import answers, review
from postil.comments.operations.views import ViewTools
from postil.core import call
from tests.comments.workspaces import Comments, Typed, root_of, workspace, write

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
    monkeypatch.setattr(sys, "stdin", io.StringIO("nonsense\n:2\nd\nq\n"))
    said = io.StringIO()
    monkeypatch.setattr(sys, "stderr", said)
    try:
        reviewed = comments.reviewing.review()
    finally:
        call.enter(call.Call())
    assert "Deleted from a.py; `postil comments undo c_" in said.getvalue()
    assert (reviewed.placed, reviewed.deleted, reviewed.skipped) == (1, 1, 1)
    assert [(each.text, each.line) for each in comments.listed(state="exact").comments] == [("about 3", 2)]


def test_a_person_reads_short_names_of_what_is_to_review(comments: Comments, monkeypatch: pytest.MonkeyPatch) -> None:
    identity = comments.add("a.py", 3, "about 3", "NOTE").commentId
    write(root_of(comments), "a.py", "alpha = 'a'\nbeta = 'b'\n")
    name = comments.context.short_names()[identity]
    assert len(name) < len(identity)
    assert identity in comments.reviewing.review().for_model()
    person = Typed()
    call.enter(person)
    said = io.StringIO()
    monkeypatch.setattr(sys, "stderr", said)
    monkeypatch.setattr(sys, "stdin", io.StringIO(":2\n"))
    try:
        waiting = comments.reviewing.review()
        person.interactive = True
        comments.reviewing.review()
    finally:
        call.enter(call.Call())
    assert name in waiting.for_person()
    assert identity not in waiting.for_person()
    assert b"names" not in encode(waiting.plain())
    assert f"`postil comments undo {name}` undoes it" in said.getvalue()


def test_lost_comments_come_a_page_at_a_time(comments: Comments) -> None:
    for line in (3, 13, 23):
        comments.add("a.py", line, f"about {line}", "NOTE")
    write(root_of(comments), "a.py", "alpha = 'a'\nbeta = 'b'\n")
    whole = comments.reviewing.list_orphans()
    first, rest = comments.reviewing.list_doubts(limit=2), comments.reviewing.list_doubts(limit=2, skip=2)
    assert (first.comments + rest.comments, first.total) == (whole.comments, 3)
    assert "2 of 3 are shown" in first.for_model()
    assert "are shown" not in whole.for_model()


def test_lost_comments_of_a_file_that_is_not_there_are_not_none(comments: Comments) -> None:
    assert comments.reviewing.list_orphans("a.py").total == 0
    assert comments.reviewing.list_orphans("*.rs").total == 0
    with pytest.raises(SourceNotFound):
        comments.reviewing.list_orphans("a.pz")
    assert comments.reviewing.review("a.py").placed == 0
    with pytest.raises(SourceNotFound):
        comments.reviewing.review("a.pz")


def test_no_more_lost_comments_are_shown_than_asked_for_and_all_are_counted(comments: Comments) -> None:
    for file in ("a.py", "lib/b.py"):
        for line in (3, 13, 23):
            comments.add(file, line, f"about {line}", "NOTE")
        write(root_of(comments), file, "alpha = 'a'\nbeta = 'b'\n")
    few = comments.reviewing.list_orphans(limit=4)
    assert (len(few.comments), few.total) == (4, 6)
    assert "4 of 6 are shown (limit)" in few.for_model()
    assert "4 of 6 are shown (--limit; `postil comments doubts --skip`" in str(few.for_person())
    of_one = comments.reviewing.list_orphans("lib", limit=1)
    assert ([each.filePath for each in of_one.comments], of_one.total) == (["lib/b.py"], 3)


def test_lost_comments_of_many_files_are_looked_for_part_by_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catch_up, "MOST_LOST", 3)
    files = {f"f{at}.py": CODE.replace("value", f"value_{at}") for at in range(5)}
    comments = workspace(tmp_path, **files)
    for name in files:
        for line in (3, 13):
            comments.add(name, line, name, "NOTE")
    for name in files:
        (tmp_path / name).rename(tmp_path / f"new_{name}")
    found = [(each.text, each.movedTo, each.line) for each in comments.listed().comments]
    assert found == [(name, f"new_{name}", line) for name in files for line in (3, 13)]
    assert comments.reviewing.list_orphans().total == 0


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
    likeliest = lost.candidates[0].confidence
    likely = [each.line for each in lost.candidates if each.confidence == likeliest]
    assert len(likely) < len(lost.candidates)
    monkeypatch.setattr(answers, "LIKELY", likeliest)
    (shown,) = comments.reviewing.list_orphans().comments
    assert [each.line for each in shown.candidates] == likely
    assert f"{len(lost.candidates) - len(likely)} places less than" in shown.reason


def _answer(comments: Comments, monkeypatch: pytest.MonkeyPatch, said: str) -> review.Reviewed:
    person = call.Call()
    person.interactive = True
    call.enter(person)
    monkeypatch.setattr(sys, "stdin", io.StringIO(said))
    try:
        return comments.reviewing.review()
    finally:
        call.enter(call.Call())


def test_a_number_that_is_no_candidate_places_nothing(
    comments: Comments, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    comments.add("a.py", 13, "about 13", "NOTE")
    write(root_of(comments), "a.py", "alpha = 'a'\nbeta = 'b'\n" * 10)
    before = [(each.line, each.state) for each in comments.listed().comments]
    assert _answer(comments, monkeypatch, "9\ns\n") == review.Reviewed(0, 0, 1)
    assert [(each.line, each.state) for each in comments.listed().comments] == before
    assert "That is none of these; ? explains them." in capsys.readouterr().err


def test_a_question_mark_explains_what_can_be_said(
    comments: Comments, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    comments.add("a.py", 13, "about 13", "NOTE")
    write(root_of(comments), "a.py", "alpha = 'a'\nbeta = 'b'\n" * 10)
    assert _answer(comments, monkeypatch, "?\ns\n") == review.Reviewed(0, 0, 1)
    asked = capsys.readouterr().err
    assert "none of these" not in asked
    assert "\n  :LINE      tie it to that line of a.py\n" in asked
    assert "\n  r          resolve it: it stays in its file, and is not asked about again\n" in asked
    assert "\n  k " not in asked, "what is not stale is not kept"
    offered = re.findall(r"\[(\w)\]", asked)
    assert {*offered} == {*"rsdq"}
    assert all(f"\n  {word}" in asked for word in offered), "everything that is offered is explained"
    assert asked.count(", ? > ") == 2, "it is asked again"


def test_a_place_that_is_not_there_is_asked_for_again_and_the_place_is_told(
    comments: Comments, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    identity = comments.add("a.py", 13, "about 13", "NOTE").commentId
    write(root_of(comments), "a.py", "alpha = 'a'\nbeta = 'b'\n")
    assert _answer(comments, monkeypatch, "a.py:99\nnone.py:1\nlib/b.py:4\n") == review.Reviewed(1, 0, 0)
    told = capsys.readouterr().err
    assert "Line must be between 1 and 2" in told
    assert f"Placed at lib/b.py:4; `postil comments undo {identity}` undoes it" in told
    assert [(each.filePath, each.line) for each in comments.listed().comments] == [("lib/b.py", 4)]


def test_a_line_alone_is_not_offered_where_the_file_is_gone(
    comments: Comments, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    comments.add("lib/deep/c.ts", 3, "about 3", "NOTE")
    (root_of(comments) / "lib/deep/c.ts").unlink()
    _answer(comments, monkeypatch, "q\n")
    assert "\nFILE:LINE, [r]esolve, [s]kip, [d]elete, [q]uit, ? > " in capsys.readouterr().err


def test_a_comment_without_its_code_can_be_resolved_and_is_not_asked_about_again(
    comments: Comments, monkeypatch: pytest.MonkeyPatch
) -> None:
    comments.add("a.py", 13, "about 13", "NOTE")
    write(root_of(comments), "a.py", "alpha = 'a'\nbeta = 'b'\n")
    assert _answer(comments, monkeypatch, "r\n") == review.Reviewed(0, 0, 0, resolved=1)
    assert [each.status for each in comments.listed().comments] == ["resolved"]
    assert comments.reviewing.review().waiting == ()


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_what_is_said_takes_a_progress_bar_away(comments: Comments, monkeypatch: pytest.MonkeyPatch) -> None:
    comments.add("a.py", 13, "about 13", "NOTE")
    write(root_of(comments), "a.py", "alpha = 'a'\nbeta = 'b'\n")
    terminal = _Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    _answer(comments, monkeypatch, ":1\n")
    assert "\r\x1b[KPlaced at a.py:1; " in terminal.getvalue()


def test_of_a_blank_line_that_is_lost_what_stood_around_it_is_shown(tmp_path: Path) -> None:
    code = "def first(a):\n    return a + 1\n\n\ndef second(b):\n    return b * 2\n"
    comments = workspace(tmp_path, **{"a.py": code})
    identity = comments.add("a.py", 3, "between the two", "NOTE").commentId
    write(root_of(comments), "a.py", "value = compute()\nother = value\n")
    (lost,) = comments.reviewing.list_orphans().comments
    around = ("def first(a):", "    return a + 1", "(the blank line)", "", "def second(b):")
    assert lost.oldAround == around
    assert "\n".join(f"    - {line}" for line in around) in comments.reviewing.list_orphans().for_model()
    assert "  - (the blank line)" in comments.show(identity).for_model()
    assert "│ was:     return a + 1" in ViewTools(comments.context).view("a.py").text
    assert "   | (the blank line)" in comments.prompts.fix_orphans("a.py")
    assert "return a + 1" not in str(comments.export("json").document), "an export holds no source unless it is asked"


def test_what_is_lost_is_shown_as_it_was_with_what_it_was_in_and_a_name_to_type(tmp_path: Path) -> None:
    body = "    order.check()\n    total = order.price * RATE\n    order.pay(total)\n"
    comments = workspace(tmp_path, **{"a.py": f"RATE = 1\n\n\ndef settle(order):\n{body}\n\ndef last():\n    pass\n"})
    identity = comments.add("a.py", 6, "why the rate?", "NOTE").commentId
    write(tmp_path, "a.py", "RATE = 1\n\n\ndef last():\n    pass\n")
    person = call.Call()
    person.person = True
    call.enter(person)
    try:
        found = comments.reviewing.list_orphans()
        said = str(found.for_person()).split("\n")
    finally:
        call.enter(call.Call())
    assert said[0].startswith(f"{identity[-4:]:>6}  a.py:6  [NOTE] [orphaned]")
    at = said.index("    was at line 6 in settle()")
    assert said[at + 1 : at + 4] == [
        "             5     order.check()",
        "       -     6     total = order.price * RATE",
        "             7     order.pay(total)",
    ]
    assert "was at line 6 in settle()" in found.for_model()
    assert identity in found.for_model()
    assert b'"names"' not in encode(found.plain())
