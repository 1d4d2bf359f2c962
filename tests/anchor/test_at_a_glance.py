"""Where rows are that are asked for others only."""

import pytest

from postil.anchor.at_a_glance import NAMESAKE, Glance
from postil.anchor.counterparts import Counterparts
from postil.anchor.model import SETTLED, Source, Span
from postil.anchor.page import Page
from postil.anchor.relocate import relocate_all

OLD = """def load(path):
    lines = read_all(path)
    if lines:
        first = lines[0]
        return parse(first, strict=True)
    return None


def total(items):
    return sum(items)
"""


def look(new: str, old: str = OLD) -> Glance:
    return Glance(Counterparts(Page(Source(old, "a.py")), Page(Source(new, "a.py"))))


def test_a_row_that_the_alignment_settles_is_there() -> None:
    assert look("import os\n" + OLD).place(3) == [(SETTLED, 4)]


def test_a_function_is_where_its_name_is() -> None:
    new = "def total(items, start=0):\n    return sum(items) + start\n\n\ndef load(path, strict):\n    pass\n"
    assert look(new).place(0) == [(NAMESAKE, 4)]


def test_an_edited_row_is_the_likest_under_the_same_row() -> None:
    new = OLD.replace("    if lines:", "    log(path)\n    if lines and path:").replace(
        "parse(first,", "parse_now(first, 1,"
    )
    (chance, at), *others = look(new).place(4)
    assert at == 5
    assert 0.5 < chance < NAMESAKE
    assert all(each <= chance for each, _ in others)


def test_what_is_another_row_already_is_less_likely() -> None:
    old, new = "first = load(1)\nsecond = load(2)\n", "second = load(2)\nthird = read(3)\n"
    assert all(chance < 0.5 for chance, at in look(new, old).place(0) if at == 0)


def test_of_what_is_gone_nothing_is_said_and_of_a_bracket_what_a_diff_says() -> None:
    assert look("import os\n").place(4) == []
    asked = look("int a() {\n    one();\n}\nint b() {\n    two(2);\n}\n", "int a() {\n    one(1);\n}\n")
    assert asked.place(2)[0][1] == 2
    assert look("int b;\n", "int a() {\n    one(1);\n}\n").place(2) == []


def test_a_row_of_a_comment_is_above_its_declaration() -> None:
    remark = "# the number of them\n"
    old = f"{remark}def first():\n    return 1\n\n\n{remark}def second():\n    return 2\n"
    new = f"x = 1\n\n\n{remark}def second():\n    return 3\n\n\n{remark}def third():\n    return 2\n"
    assert look(new, old).place(5)[0][1] == 3


def test_what_was_not_asked_is_not_recalled() -> None:
    asked = look(OLD.replace("first", "last"))
    assert asked.recall(2) == []
    asked.place(3)
    assert asked.recall(2)[0][1] == 2, "a row is looked for after those that it is under"


@pytest.mark.parametrize("rows", ["# a\n@d\n", "# a\n @d\n", "# a\n\n@d\n", "// a\n@d\n  # b\n"])
def test_decorators_and_comments_in_turns_do_not_wait_for_each_other(rows: str) -> None:
    """Each comment was above the next one: a source of 48 kB ended every look with a RecursionError."""
    old, new = rows * 3_000 + "def f(): pass\n", "x = 1\n" + rows[::-1].strip() * 9 + rows * 2_000 + "def g(): pass\n"
    spans = [Span(row, row) for row in range(1, 6_000, 211)]
    assert len(relocate_all(Source(old, "a.py"), Source(new, "a.py"), spans)) == len(spans)
