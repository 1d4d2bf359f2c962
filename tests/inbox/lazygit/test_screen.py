"""Which line is selected, read from the screen of lazygit."""

import pytest

from postil.inbox.diff import parse_hunks
from postil.inbox.lazygit.screen import find_selection
from tests.inbox.examples import DIFF


def screen(selected: int, width: int = 60) -> str:
    """A screen as lazygit draws it: files on the left, the diff on the right, one row selected."""
    rows = DIFF.splitlines()[4:-1]
    drawn = ["┌─Files────┐┌─Unstaged changes" + "─" * 40 + "┐"]
    for number, row in enumerate(rows):
        shown = f"{row[:width]:<{width}}"
        right = f"\x1b[44m{shown}\x1b[0m" if number == selected else f"\x1b[32m{shown}\x1b[39m"
        drawn.append(f"│ M f      ││{right}│")
    return "\n".join(drawn)


@pytest.mark.parametrize(("selected", "line"), [(3, "2"), (1, "1"), (8, "11"), (9, "12"), (10, "13")])
def test_the_find_selection_is_read_from_the_screen(selected: int, line: str) -> None:
    found = find_selection(screen(selected), parse_hunks(DIFF))
    assert found is not None
    assert found[0] == line


def test_equal_rows_are_told_apart_by_the_rows_around_them() -> None:
    diff = parse_hunks("@@ -1,3 +1,5 @@\n a\n+same\n b\n+same\n c\n")
    rows = ["@@ -1,3 +1,5 @@", " a", "+same", " b", "+same", " c"]
    drawn = "\n".join(
        f"│\x1b[44m{row:<20}\x1b[0m│" if number == 4 else f"│{row:<20}│" for number, row in enumerate(rows)
    )
    assert find_selection(drawn, diff) == ("4", "+same")


def test_a_screen_without_a_selection_answers_nothing() -> None:
    assert find_selection(screen(99), parse_hunks(DIFF)) is None
    assert find_selection("", parse_hunks(DIFF)) is None
    assert find_selection(screen(3), []) is None
