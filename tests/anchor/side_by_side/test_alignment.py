"""What the aligned lines settle is answered without a search, and as the search would."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from postil.anchor.model import SETTLED, Source, Span
from postil.anchor.page import Page
from postil.anchor.relocate import relocate_all
from postil.anchor.search import Search
from postil.anchor.side_by_side.alignment import align

pytestmark = pytest.mark.usefixtures("unhurried")

ROWS = [
    *(
        "def first(value):",
        "    return value",
        "",
        "}",
        "    if value > 3:",
        "        total += value",
        "x = 1",
        "\ty = 2",
    ),
    *(f"    step_{number}(value)" for number in range(12)),
]
TEXTS = st.lists(st.sampled_from(ROWS), min_size=1, max_size=30)
EDITS = st.lists(
    st.tuples(st.sampled_from(["insert", "delete", "edit"]), st.integers(0, 40), st.sampled_from(ROWS)), max_size=6
)


def edited(rows: list[str], edits: list[tuple[str, int, str]]) -> list[str]:
    found = list(rows)
    for what, place, row in edits:
        at = place % (len(found) or 1)
        if what == "insert" or not found:
            found.insert(at, row)
        elif what == "delete":
            del found[at]
        else:
            found[at] += " + extra"
    return found


@given(rows=TEXTS, edits=EDITS, ranges=st.lists(st.tuples(st.integers(0, 33), st.integers(0, 6)), max_size=6))
@settings(max_examples=120, deadline=None)
def test_a_settled_span_is_answered_as_the_search_would(
    rows: list[str], edits: list[tuple[str, int, str]], ranges: list[tuple[int, int]]
) -> None:
    old, new = "\n".join(rows) + "\n", "\n".join(edited(rows, edits)) + "\n"
    spans = [Span(line) for line in range(1, len(rows) + 1)]
    spans += [Span(start, start + more) for start, more in ranges]
    if old == new:
        return
    found = relocate_all(Source(old, "a.py"), Source(new, "a.py"), spans)
    assert found == Search(Page(Source(old, "a.py")), Page(Source(new, "a.py"))).relocate(spans)


@given(rows=TEXTS, edits=EDITS)
@settings(max_examples=60, deadline=None)
def test_the_way_back_has_the_same_pairs(rows: list[str], edits: list[tuple[str, int, str]]) -> None:
    old, new = Page(Source("\n".join(rows))), Page(Source("\n".join(edited(rows, edits))))
    there = align(old, new)
    back = there.turn()
    assert (back.old, back.new) == (new, old)
    assert [(at, row) for row, at in enumerate(back.forward) if at >= 0] == [
        (row, at) for at, row in sorted((at, row) for row, at in enumerate(there.forward) if at >= 0)
    ]
    assert back.turn().forward == there.forward
    assert [(at, row) for row, at in back.pins] == there.pins
    for row in range(len(new)):
        back.drift(row)  # the gaps between the pins are those of the way there
        back.find_settled(row)


def test_rows_beside_an_edit_need_no_search() -> None:
    rows = [f"step_{number}(value)" for number in range(20)]
    old = "\n".join(rows)
    rows[9:10] = ["quite_another(one)"]
    lines = align(Page(Source(old)), Page(Source("\n".join(rows))))
    assert [row for row in range(20) if lines.find_settled(row) < 0] == [9]


def test_a_line_edited_in_its_place_needs_no_search_unless_it_became_another() -> None:
    rows = [f"step_{number} = first(value, {number})" for number in range(9)]
    old = Page(Source("\n".join(rows)))
    for now, settled in (("step_4 = first(values, 4)", 4), ("other = first(value, 4)", -1), ("step_4 = None", -1)):
        lines = align(old, Page(Source("\n".join([*rows[:4], now, *rows[5:]]))))
        assert lines.find_settled(4) == settled


def test_a_copy_beside_an_edit_is_not_settled_by_chance() -> None:
    old = ["a = 1", "b = 2", "c = 3", "same()", "d = 4", "e = 5", "f = 6"]
    new = ["a = 1", "b = 2", "c = 3", "same()", "same()", "d = 4", "e = 5", "f = 6"]
    lines = align(Page(Source("\n".join(old))), Page(Source("\n".join(new))))
    assert lines.find_settled(3) == -1


def test_a_file_whose_comments_are_all_settled_is_not_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    def parse(text: str, language: str | None) -> None:
        raise AssertionError("parsed")

    monkeypatch.setattr(sys.modules["postil.anchor.syntax.symbols"], "parse", parse)
    old = "".join(f"value_{number} = {number}\n" for number in range(30))
    (found,) = relocate_all(Source(old, "a.py"), Source("import os\n" + old, "a.py"), [Span(15)])
    assert (found.state, found.span, found.confidence) == ("moved", Span(16, 16), SETTLED)


DOC = ["/**", " * Returns the value.", " * It is never negative.", " * See the manual.", " * @return the value", " */"]


def method(name: str) -> list[str]:
    rows = [*DOC, f"int {name}() {{", f"  return {name}Count * 2;", "}"]
    return [*(f"  {row}" for row in rows), ""]


def java(*names: str) -> str:
    return "\n".join(["class Values {", *(row for name in names for row in method(name)), "}"]) + "\n"


def line_of(text: str, name: str, offset: int) -> int:
    """The line of a row of the comment above a method."""
    return next(at for at, row in enumerate(text.split("\n"), 1) if f"int {name}(" in row) + offset


@pytest.mark.parametrize("offset", [-6, -5, -4, -3, -2, -1])
@pytest.mark.parametrize(
    "now",
    [
        ("zero", "first", "other", "second", "third"),
        ("second", "third"),
        ("second", "third", "first"),
        ("third", "second"),
    ],
)
def test_a_line_of_a_comment_goes_with_its_declaration(offset: int, now: tuple[str, ...]) -> None:
    old, new = java("first", "second", "third"), java(*now)
    for name in ("second", "third"):
        (found,) = relocate_all(Source(old, "A.java"), Source(new, "A.java"), [Span(line_of(old, name, offset))])
        right = found.span is not None and found.span.start == line_of(new, name, offset)
        assert right or found.state == "review", (name, found)


def test_a_comment_of_a_deleted_method_is_on_no_other() -> None:
    old, new = java("first", "second", "third"), java("first", "third")
    (found,) = relocate_all(Source(old, "A.java"), Source(new, "A.java"), [Span(line_of(old, "second", -4))])
    assert found.state in ("review", "orphaned")


def _share(name: str, limits: str, first: str, body: list[str]) -> list[str]:
    told = [
        f'"""{first}',
        "",
        "Args:",
        "    amount (int): What there is.",
        "",
        "Returns:",
        "    list: All of it.",
        '"""',
    ]
    return [
        f"def {name}(",
        f"    amount: int, weights: list[int], {limits}",
        ") -> list[int]:",
        *_under(told),
        *_under(body),
    ]


def _under(rows: list[str]) -> list[str]:
    return [f"    {row}" if row else "" for row in rows]


def test_a_function_with_the_same_words_put_above_does_not_take_the_head_of_another() -> None:
    """What is under a row tells where it went, whatever stands next to it now."""
    body = [
        "total = sum(weights)",
        "assert total > 0",
        "shares = []",
        "lows = least or [0] * len(weights)",
        "for weight, low in zip(weights, lows):",
        "    shares.append(max(low, amount * weight // total))",
        "    total -= weight",
        "return shares",
    ]
    reduced = [
        "weights = [each for each in weights if each]",
        "if not weights:",
        "    return values[:]",
        "return weights",
    ]
    above = _share("reduce", "most: list[int]", "Share an amount by weights.", reduced)
    old = "\n".join(["import math", "", *_share("share", "least=None", "Share an amount by weights.", body), ""])
    new = "\n".join(
        ["import math", "", *above, "", "", *_share("spread", "least=None", "Spread an amount by weights.", body), ""]
    )
    line = old.split("\n").index(") -> list[int]:") + 1
    truth = [at for at, row in enumerate(new.split("\n"), 1) if row == ") -> list[int]:"][1]
    (found,) = relocate_all(Source(old, "a.py"), Source(new, "a.py"), [Span(line)])
    assert found.span is not None
    assert found.span.start == truth or truth in [each.span.start for each in found.candidates], found
