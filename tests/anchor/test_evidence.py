"""What is measured of a candidate."""

import pytest

from postil.anchor.counterparts import Counterparts
from postil.anchor.evidence import MEASURES, Evidence
from postil.anchor.model import Source
from postil.anchor.page import Page
from postil.anchor.renames import Renames

OLD = """def area(width, height):
    # the size
    result = width * height
    return result


def total(items):
    return sum(items)
"""


def measure(new: str, row: int, at: int) -> dict[str, float]:
    known = Counterparts(Page(Source(OLD, "a.py")), Page(Source(new, "a.py")))
    asked = Evidence(known, Renames(known.old, known.new, known.aligned))
    found = asked.measure(row, [at], [(1.0, known.new.parents[at])], [])
    return {name: value for name, (value,) in zip(MEASURES, found, strict=True)}


def test_the_row_itself_is_alike_in_everything() -> None:
    found = measure(OLD, 2, 2)
    alike = ("chars", "header", "tokens", "contained", "name", "opening", "before", "after", "parent", "above", "below")
    assert {name: found[name] for name in alike} == dict.fromkeys(alike, 1.0)
    assert (found["aligned"], found["taken"], found["distance"]) == (1.0, 0.0, 0.0)


def test_of_no_candidates_nothing_is_measured() -> None:
    known = Counterparts(Page(Source(OLD, "a.py")), Page(Source("", "a.py")))
    assert Evidence(known, Renames(known.old, known.new, known.aligned)).measure(2, [], [], []) == []


@pytest.mark.parametrize("at", [1, 3, 7])
def test_another_row_is_less_alike_and_known_to_be_taken(at: int) -> None:
    found = measure(OLD, 2, at)
    assert found["chars"] < 1
    assert (found["aligned"], found["taken"]) == (0.0, 1.0)


def test_a_renamed_row_has_another_name_in_the_same_place() -> None:
    found = measure(OLD.replace("result", "surface"), 2, 2)
    assert (found["name"], found["above"], found["inside"]) == (0.0, 1.0, 1.0)
    assert 0 < found["tokens"] < 1
    assert found["children"] == 0.5, "a row without rows under it says nothing"


def test_of_a_row_is_told_how_much_of_it_is_left_anywhere() -> None:
    old = Page(Source("int total = count(rows);\nuse(total, total);\nlog(rows);\n", "a.java"))

    def ask(new: str) -> list[float]:
        counterparts = Counterparts(old, Page(Source(new, "a.java")))
        return Evidence(counterparts, Renames(old, counterparts.new, counterparts.aligned)).ask_words(0)

    assert ask("log(rows);\nint total = count(rows);\nuse(total, total);\n") == [1.0, 1.0]
    left, uses = ask("log(rows);\nint sum = count(rows);\nuse(sum, sum);\n")
    assert (0.5 < left < 1.0, uses) == (True, 0.0), "only its name is gone"
    assert ask("other.thing()\n")[0] < left
