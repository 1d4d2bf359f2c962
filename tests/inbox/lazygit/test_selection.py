"""Which lines are selected, found by what the whole panel shows."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from postil.inbox.diff import Hunk, find_span, make_added, parse_hunks
from postil.inbox.lazygit.selection import find_selection, list_rows
from tests.inbox.examples import DIFF

BLUE, RESET = "\x1b[44m", "\x1b[0m"


def draw(rows: Sequence[str], selected: range, width: int = 60, wraps: bool = False) -> str:
    """A screen as lazygit draws it: files on the left, the diff on the right, some rows selected."""
    drawn = ["┌─Files────┐┌─Unstaged changes" + "─" * (width - 17) + "┐"]
    for number, row in enumerate(rows):
        pieces = [row[at : at + width] for at in range(0, max(1, len(row)), width)] if wraps else [row[:width]]
        for piece in pieces:
            shown = f"{piece:<{width}}"
            right = f"{BLUE}{shown}{RESET}" if number in selected else f"\x1b[32m{shown}\x1b[39m"
            drawn.append(f"│ M f      ││{right}│")
    return "\n".join(drawn)


def select(screen: str, hunks: list[Hunk]) -> tuple[tuple[int, int], str] | None:
    found = find_selection(screen, hunks)
    return None if found is None else find_span([row.line for row in found.rows if row.line is not None])


@pytest.mark.parametrize(
    ("selected", "line"), [(3, (2, "new")), (1, (1, "new")), (2, (2, "old")), (8, (11, "new")), (11, (12, "old"))]
)
def test_a_selected_line_is_known_on_either_side(selected: int, line: tuple[int, str]) -> None:
    rows = DIFF.splitlines()[4:-1]
    number, side = line
    assert select(draw(rows, range(selected, selected + 1)), parse_hunks(DIFF)) == ((number, number), side)


def test_a_selected_block_is_a_range_of_the_new_file() -> None:
    rows = DIFF.splitlines()[4:-1]
    assert select(draw(rows, range(2, 4)), parse_hunks(DIFF)) == ((2, 2), "new")
    assert select(draw(rows, range(8, 10)), parse_hunks(DIFF)) == ((11, 12), "new")


def test_equal_rows_are_told_apart_by_the_rows_around_them() -> None:
    diff = "@@ -1,3 +1,5 @@\n a\n+same\n b\n+same\n c\n"
    hunks = parse_hunks(diff)
    assert select(draw(diff.splitlines(), range(4, 5)), hunks) == ((4, 4), "new")


def test_where_everything_is_equal_there_is_no_answer() -> None:
    hunks = make_added("f", ["same"] * 100, "")
    assert select(draw(["+same"] * 20, range(7, 8)), hunks) is None


def test_a_screen_without_a_selection_answers_nothing() -> None:
    rows = DIFF.splitlines()[4:-1]
    assert find_selection(draw(rows, range(0)), parse_hunks(DIFF)) is None
    assert find_selection("", parse_hunks(DIFF)) is None
    assert find_selection(draw(rows, range(3, 4)), []) is None


def test_what_is_selected_elsewhere_is_not_in_this_diff() -> None:
    assert find_selection(draw(["one", "two", "three", "four", "five", "six"], range(2, 3)), parse_hunks(DIFF)) is None


texts = st.lists(st.text("ab{}│ \t日", max_size=90), min_size=1, max_size=40)


@settings(max_examples=60, deadline=None)
@given(lines=texts, at=st.integers(0, 39), top=st.integers(0, 39), wraps=st.booleans())
def test_a_line_is_found_or_not_known_but_never_mistaken(lines: list[str], at: int, top: int, wraps: bool) -> None:
    hunks = make_added("f", lines, "")
    rows = ["+" + line.expandtabs(4) for line in lines]
    at %= len(rows)
    first = min(top % len(rows), at)
    found = select(draw(rows[first : first + 30], range(at - first, at - first + 1), 300, wraps), hunks)
    assert found is None or lines[found[0][0] - 1].split() == lines[at].split()
    if (
        len({"".join(line.split()) for line in lines}) == len(lines) >= 5
        and at - first < 30
        and first + 5 <= len(lines)
    ):
        assert found == ((at + 1, at + 1), "new")


def test_a_diff_is_shown_with_its_headers() -> None:
    shown = [row.text for row in list_rows(parse_hunks(DIFF))]
    assert shown[:2] == ["diff--gita/fb/f", "index1..2100644"]
