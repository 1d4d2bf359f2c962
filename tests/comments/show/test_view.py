"""Code with comments between the lines."""

from __future__ import annotations

from postil.comments.operations.answers import CommentNow, name_age
from postil.comments.show.view import render_view

NOW = "2026-11-15T12:00:00.000Z"


def comment(line: int, **more: object) -> CommentNow:
    made = "2026-11-15T09:00:00.000Z"
    return CommentNow("c_1", "a.py", line, "said", "Ann", made, made, **{"state": "exact", "tag": "NOTE", **more})  # pyright: ignore[reportArgumentType]


def test_a_comment_on_a_range_stands_below_its_last_line() -> None:
    rows = render_view(["one", "two", "three"], [comment(1, endLine=2)], {"c_1": "0001"}, NOW).split("\n")
    assert rows[:2] == ["1   one", "2   two"]
    assert rows[2].strip() == "┌ [NOTE] Ann, 3 h lines 1-2  0001"
    assert rows[-1] == "3   three"


def test_only_what_is_near_is_shown_when_asked() -> None:
    lines = [f"row {number}" for number in range(1, 51)]
    text = render_view(lines, [comment(10), comment(40)], {}, NOW, whole=False)
    assert "row 13" in text
    assert "row 14" not in text
    assert text.count("⋮") == 1


def test_ages_have_one_unit() -> None:
    moments = ("2026-11-15T11:59:30Z", "2026-11-15T11:30:00Z", "2026-11-14T11:00:00Z", "2024-01-01T00:00:00Z", "soon")
    assert [name_age(each, NOW) for each in moments] == ["now", "30 min", "1 d", "2024-01-01", "soon"]
