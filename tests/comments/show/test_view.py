"""Code with comments between the lines."""

from __future__ import annotations

from postil.comments.operations.answers import CommentNow
from postil.comments.show.view import render_view


def comment(line: int, **more: object) -> CommentNow:
    made = "2026-11-15T09:00:00.000Z"
    return CommentNow("c_1", "a.py", line, "said", "Ann", made, made, **{"state": "exact", "tag": "NOTE", **more})  # pyright: ignore[reportArgumentType]


def test_a_comment_on_a_range_stands_below_its_last_line() -> None:
    rows = render_view(["one", "two", "three"], [comment(1, endLine=2)], {"c_1": "0001"}).split("\n")
    assert rows[:2] == ["1   one", "2   two"]
    assert rows[2].strip() == "┌ [NOTE] Ann, 2026-11-15 lines 1-2  0001"
    assert rows[-1] == "3   three"


def test_only_what_is_near_is_shown_when_asked() -> None:
    lines = [f"row {number}" for number in range(1, 51)]
    text = render_view(lines, [comment(10), comment(40)], {}, whole=False)
    assert "row 13" in text
    assert "row 14" not in text
    assert text.count("⋮") == 1
