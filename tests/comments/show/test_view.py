"""Code with comments between the lines."""

from __future__ import annotations

from msgspec.structs import replace

from postil.comments.model import Candidate
from postil.comments.operations.answers import CommentNow
from postil.comments.show.one_comment import show_line, show_row
from postil.comments.show.view import render_view


def comment(line: int, **more: object) -> CommentNow:
    made = "2026-11-15T09:00:00.000Z"
    return CommentNow("c_1", "a.py", line, "said", "Ann", made, made, **{"state": "exact", "tag": "NOTE", **more})  # pyright: ignore[reportArgumentType]


def test_a_comment_on_a_range_stands_below_its_last_line() -> None:
    rows = render_view("a.py", ["one", "two", "three"], [comment(1, endLine=2)], {"c_1": "0001"}).split("\n")
    assert rows[:2] == ["1   one", "2   two"]
    assert rows[2].strip() == "┌ [NOTE] Ann, 2026-11-15 lines 1-2  0001"
    assert rows[-1] == "3   three"


def test_a_comment_that_may_be_in_another_file_says_where_and_what_it_was_about() -> None:
    unsure = comment(9, state="review", oldText="was_here()", candidates=(Candidate("b.py", 4, 0.7, "is_here()"),))
    text = render_view("a.py", ["row"] * 20, [unsure], {})
    assert text.index("Without their code") < text.index("was: was_here()")
    assert "was: was_here()" in text
    assert "may be at b.py:4" in text
    assert "may be at b.py:4" in show_row(unsure, "1")
    assert "may be at b.py:4" in show_line(unsure)
    assert "may be at" not in show_row(replace(unsure, candidates=(Candidate("a.py", 4, 0.7, ""),)), "1")
    assert "(was in a.py)" in show_row(comment(3, state="moved", movedTo="b.py"), "1")


def test_only_what_is_near_is_shown_when_asked() -> None:
    lines = [f"row {number}" for number in range(1, 51)]
    text = render_view("a.py", lines, [comment(10), comment(40)], {}, whole=False)
    assert "row 13" in text
    assert "row 14" not in text
    assert text.count("⋮") == 1


def test_a_row_is_one_line_whatever_stands_in_it() -> None:
    odd = replace(comment(3), id="c_1\n::error::x", filePath="a\n::error::x.py", text="said\r::error::x", author="a\nb")
    assert len(show_row(odd, "c_1\n2").splitlines()) == 1
    assert len(show_line(odd).splitlines()) == 1
