"""What is compared of rows."""

from math import log1p

import pytest

from postil.anchor.model import Source
from postil.anchor.page import Page
from postil.anchor.side_by_side.row_facts import RowFacts

OLD = """def area(width, height):

    # the size
    if width:
        result = width * height
    return result


result = area(
    1,
)
"""


def make_facts(old: str = OLD, new: str = OLD) -> RowFacts:
    return RowFacts(Page(Source(old, "a.py")), Page(Source(new, "a.py")))


def test_a_row_is_known_by_itself_and_by_what_is_around_it() -> None:
    found = make_facts().old[3]
    assert (found.key, found.name, found.opening) == ("ifwidth:", "width", "if")
    assert (found.above, found.below) == ("#thesize", "result=width*height"), "a blank row is passed over"
    assert (found.before, found.after.count("\n")) == ("#thesize\ndefarea(width,height):", 3)
    assert (found.parent, found.end, found.frame) == (0, 4, 0)


def test_a_row_has_the_words_of_its_statement_and_those_under_it() -> None:
    found = make_facts().old
    assert found[3].body == {"result", "=", "width", "*", "height"}
    assert found[3].statement == found[3].body | {"if", ":"}
    assert found[4].body == frozenset()
    assert found[8].header == ["result", "=", "area", "(", "1", ",", ")"]


def test_rows_that_are_not_there_are_empty() -> None:
    found = make_facts("x = 1\n").old[0]
    assert (found.above, found.below, found.before, found.after) == ("", "", "", "")
    assert (found.parent, found.frame) == (-1, -1)


def test_a_token_tells_the_less_the_oftener_it_stands_in_both_pages() -> None:
    found = make_facts("once = twice\n", "twice = 2\n")
    assert found.weights["once"] == 1 / (1 + log1p(1))
    assert found.weights["twice"] == 1 / (1 + log1p(2))
    assert found.old[0].weight == pytest.approx(2 / (1 + log1p(2)) + 1 / (1 + log1p(1)))
