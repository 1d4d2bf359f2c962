"""Which new rows are worth measuring for an old one."""

from postil.anchor.candidates import Candidates
from postil.anchor.counterparts import Counterparts
from postil.anchor.model import Source
from postil.anchor.page import Page
from postil.anchor.renames import Renames

OLD = """def area(width, height):
    result = width * height
    return result


def total(items):
    count = 0
    for item in items:
        count += item.price
    return count
"""


def candidates(old: str, new: str) -> Candidates:
    known = Counterparts(Page(Source(old, "a.py")), Page(Source(new, "a.py")))
    return Candidates(known, Renames(known.old, known.new, known.aligned))


def test_the_counterpart_of_a_row_is_always_among_them() -> None:
    same = candidates(OLD, "import os\n" + OLD)
    for row, key in enumerate(same.old.keys):
        if key:
            assert row + 1 in same.find(row, [], [], [])


def test_an_edited_row_is_worth_measuring_where_its_block_is() -> None:
    new = OLD.replace("count += item.price", "count += item.price * item.amount")
    assert 8 in candidates(OLD, new).find(8, [(1.0, 7)], [(1.0, 5)], [])


def test_a_renamed_declaration_is_worth_measuring() -> None:
    new = OLD.replace("result", "surface")
    assert 1 in candidates(OLD, new).find(1, [(1.0, 0)], [(1.0, 0)], [])


def test_they_are_in_order_and_inside_the_page() -> None:
    found = candidates(OLD, "\n".join(reversed(OLD.split("\n"))))
    for row in range(len(found.old)):
        rows = found.find(row, [], [], [])
        assert rows == sorted(set(rows))
        assert all(0 <= at < len(found.new) for at in rows)


def test_an_empty_page_has_none() -> None:
    assert candidates(OLD, "").find(1, [], [], []) in ([], [0])


def test_rows_of_a_name_are_found_however_often_its_letters_stand_there() -> None:
    rare = candidates("alpha = 1\n", "beta = 1\nalpha = 2\nalphabet = 3\ngamma + alpha\n")
    assert rare._find_named("alpha") == [1, 3]  # pyright: ignore[reportPrivateUsage]
    often = candidates("a = 1\n", "banana = 1\na = banana\nmadam + 1\n(a)\n")
    assert often._find_named("a") == [1, 3]  # pyright: ignore[reportPrivateUsage]
    assert not often._find_named("nobody")  # pyright: ignore[reportPrivateUsage]
    assert not often._find_named("")  # pyright: ignore[reportPrivateUsage]
