"""Code told without its text."""

from __future__ import annotations

import pytest

from postil.comments.transfer.code_marks import MarkedCode, find_marked, mark_lines, mark_symbol, name_marked

LINES = [f"line {number}" for number in range(1, 41)]
LOOP = ["for one in some:", "    use(one)", "    print(one)", ""] * 5


@pytest.mark.parametrize(("line", "end"), [(1, 0), (40, 0), (20, 0), (20, 22), (2, 40)])
def test_marked_code_is_found_where_it_is_now(line: int, end: int) -> None:
    marks = mark_lines(LINES, line, end)
    assert find_marked(marks, "\n".join(LINES), line) == MarkedCode(1, line)
    assert find_marked(marks, "\n".join(["new", *LINES]), line) == MarkedCode(1, line + 1)
    assert find_marked(marks, "\n".join(f"  {one}" for one in LINES), line) == MarkedCode(1, line)


def test_code_that_is_gone_or_at_several_places_is_not_found() -> None:
    assert find_marked(mark_lines(LINES, 20, 0), "\n".join(LINES).replace("line 20", "x"), 20) == MarkedCode(0)
    assert find_marked(mark_lines(LOOP, 10, 0), "\n".join(["new", *LOOP]), 10) == MarkedCode(5)
    assert find_marked(mark_lines(LOOP, 10, 0), "\n".join(LOOP), 10) == MarkedCode(5, 10)


def test_a_line_among_others_is_not_sure() -> None:
    assert find_marked(mark_lines(LINES, 20, 0), "a\nb\nc\nline 20\nd", 20) == MarkedCode(1)


CLASSES = """class A:
    def make(self):
        super().make()

class B:
    def make(self):
        super().make()
"""
OLD, NEW = mark_symbol(("old",)), mark_symbol(("new",))


def test_code_of_another_function_is_not_taken_for_it() -> None:
    lines = CLASSES.split("\n")
    marks = mark_lines(lines, 7, 0, ("B", "make"))
    named = [mark_symbol(path) for path in [("A",), ("A", "make"), ("A", "make"), (), ("B",), *[("B", "make")] * 3]]
    assert find_marked(marks, CLASSES, 7, name_marked(marks), named) == MarkedCode(2, 7)
    assert find_marked(marks, "\n".join(lines[:4]), 7, name_marked(marks), named[:4]) == MarkedCode(1)
    renamed = mark_lines(LINES, 20, 0, ("old",))
    assert find_marked(renamed, "\n".join(LINES), 20, OLD, [NEW] * 40).line == 20
    assert find_marked(renamed, "x\n" * 19 + "line 20", 20, OLD, [NEW] * 40).line == 0


@pytest.mark.parametrize("marks", ["", ".", "..", "x", "a" * 100_000, "..AAAA", ".AAA."])
def test_marks_that_nobody_writes_find_nothing(marks: str) -> None:
    assert find_marked(marks, "\n".join(LINES), 1) == MarkedCode(0)
