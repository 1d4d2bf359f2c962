"""Code told without its text."""

from __future__ import annotations

import pytest

from postil.comments.transfer.code_marks import find_marked, mark_lines

LINES = [f"line {number}" for number in range(1, 41)]
LOOP = ["for one in some:", "    use(one)", "    print(one)", ""] * 5


@pytest.mark.parametrize(("line", "end"), [(1, 0), (40, 0), (20, 0), (20, 22), (2, 40)])
def test_marked_code_is_found_where_it_is_now(line: int, end: int) -> None:
    marks = mark_lines(LINES, line, end)
    assert find_marked(marks, "\n".join(LINES), line) == (line, True)
    assert find_marked(marks, "\n".join(["new", *LINES]), line) == (line + 1, True)
    assert find_marked(marks, "\n".join(f"  {one}" for one in LINES), line) == (line, True)


def test_code_that_is_gone_or_at_several_places_is_not_found() -> None:
    assert find_marked(mark_lines(LINES, 20, 0), "\n".join(LINES).replace("line 20", "x"), 20) == (0, False)
    assert find_marked(mark_lines(LOOP, 10, 0), "\n".join(["new", *LOOP]), 10) == (0, False)
    assert find_marked(mark_lines(LOOP, 10, 0), "\n".join(LOOP), 10) == (10, True)


def test_a_line_among_others_is_not_sure() -> None:
    assert find_marked(mark_lines(LINES, 20, 0), "a\nb\nc\nline 20\nd", 20) == (4, False)


@pytest.mark.parametrize("marks", ["", ".", "..", "x", "a" * 100_000, "..AAAA", ".AAA."])
def test_marks_that_nobody_writes_find_nothing(marks: str) -> None:
    assert find_marked(marks, "\n".join(LINES), 1) == (0, False)
