"""Where rows are expected, from the alignment alone."""

from postil.anchor.counterparts import Counterparts
from postil.anchor.model import Source
from postil.anchor.page import Page

OLD = "".join(f"line_{number} = {number}\n" for number in range(20))


def pages(old: str, new: str) -> tuple[Page, Page]:
    return Page(Source(old)), Page(Source(new))


def test_a_row_without_a_counterpart_is_expected_beside_its_neighbours() -> None:
    known = Counterparts(*pages(OLD, "new = 1\n" + OLD.replace("line_7 = 7", "something quite different")))
    assert known.expect(7) == 8
    assert known.find_settled(3) == 4


def test_nothing_in_common_leaves_a_row_where_it_was() -> None:
    known = Counterparts(*pages(OLD, "x\n" * 3))
    assert known.expect(5) == 5
    assert known.find_settled(5) == -1
    assert Counterparts(*pages("a\nb\n", "x\n"), shift=40).expect(1) == 41


def test_a_fragment_is_settled_at_its_old_place_or_at_the_only_other_one() -> None:
    rows = OLD.splitlines()
    fragment = "\n".join(rows[5:8])
    assert Counterparts(*pages(fragment, OLD), shift=5).find_settled(1) == 6
    assert Counterparts(*pages(fragment, OLD), shift=0).find_settled(1) == 6
    twice = OLD + OLD
    assert Counterparts(*pages(fragment, twice), shift=25).find_settled(1) == 26
    assert Counterparts(*pages(fragment, twice), shift=1).find_settled(1) == -1


def test_without_a_function_the_whole_file_bounds_a_row() -> None:
    known = Counterparts(*pages(OLD, OLD + "x\n"))
    assert known.bound_rows(3, []) == (0, 1 << 30)
    assert known.trace_tokens(3, []) == known.aligned.drift(3)
