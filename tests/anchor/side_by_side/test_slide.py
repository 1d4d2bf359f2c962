"""A block that was copied leaves the comments on the original, whatever edit both of them got."""

from __future__ import annotations

import pytest

from postil.anchor.model import Relocation, Source, Span
from postil.anchor.page import Page
from postil.anchor.relocate import relocate_all
from postil.anchor.search import Search
from postil.anchor.side_by_side.alignment import align

HEAD = """package style

// Before does something else first.
func Before(s string) string {
	return s
}

"""
BLOCK = """// Paint takes a set of flags and returns
// the style that they stand for.
func (s Flags) Paint() paint.Style {
	return paint.New().
		Back(paint.Color(s.Back)).
		Fore(paint.Color(s.Fore)).
		Align(decode.Align[s.Align]).
		Border(border[s.Border]).
		Height(s.Height).
		Bold(s.Bold).
		Underline(s.Underline)
}
"""
TAIL = """
// After comes last.
func After(s string) int {
	return len(s)
}
"""
ROWS = BLOCK.split("\n")[:-1]
ABOVE = HEAD.count("\n")


def edited(row: int) -> str:
    """The block with one row edited."""
    rows = list(ROWS)
    rows[row] = rows[row].replace("(s.", "(s.own.") if "(s." in rows[row] else rows[row] + " // here"
    return "\n".join(rows) + "\n"


def follow(new: str, tail: str) -> list[Relocation]:
    spans = [Span(ABOVE + 1 + row) for row in range(len(ROWS))]
    return relocate_all(Source(HEAD + BLOCK + tail, "a.go"), Source(HEAD + new + tail, "a.go"), spans)


@pytest.mark.parametrize("tail", ["", TAIL])
@pytest.mark.parametrize("row", range(len(ROWS)))
def test_a_block_copied_below_with_the_same_edit_takes_no_comment_along(row: int, tail: str) -> None:
    block = edited(row)
    found = follow(block + "\n" + block.replace("(s Flags)", "(s HiddenFlags)"), tail)
    jumped = [
        (ROWS[at].strip(), each.span, each.confidence)
        for at, each in enumerate(found)
        if each.state != "review" and (each.span is None or each.span.start != ABOVE + 1 + at)
    ]
    assert not jumped
    assert sum(each.state == "review" for each in found) <= 3


@pytest.mark.parametrize("tail", ["", TAIL])
@pytest.mark.parametrize("row", range(len(ROWS)))
def test_a_copy_above_leaves_the_comment_of_a_declaration_with_the_declaration(row: int, tail: str) -> None:
    block = edited(row)
    found = follow(block.replace("(s Flags)", "(s HiddenFlags)") + "\n" + block, tail)
    shift = len(ROWS) + 1
    jumped = [
        (ROWS[at].strip(), each.span, each.confidence)
        for at, each in enumerate(found)
        if each.state != "review" and (each.span is None or each.span.start != ABOVE + 1 + at + shift)
    ]
    assert not jumped
    assert sum(each.state == "review" for each in found) <= 4


READ = """class Request:
    def read(self) -> bytes:
        if not hasattr(self, "_content"):
            self._content = b"".join(self.stream)
            if not isinstance(self.stream, ByteStream):
                # A streaming request that was read entirely into memory
                # has its stream replaced by the bytes,
                # so that one that cannot be replayed is still of use.
                self.stream = ByteStream(self._content)
        return self._content
"""
STATEMENT = READ.split("\n")[4:9]


@pytest.mark.parametrize("between", [[], [""]])
@pytest.mark.parametrize("row", range(len(STATEMENT)))
def test_a_statement_copied_below_with_the_same_edit_takes_no_comment_along(row: int, between: list[str]) -> None:
    rows = list(STATEMENT)
    rows[row] = rows[row].replace("self.stream", "self.body") if "self.stream" in rows[row] else f"{rows[row]} here"
    copy = [rows[0].replace("ByteStream", "FileStream"), *rows[1:]]
    new = READ.replace("\n".join(STATEMENT), "\n".join([*rows, *between, *copy]))
    found = relocate_all(Source(READ, "a.py"), Source(new, "a.py"), [Span(line) for line in range(5, 10)])
    jumped = [
        (line, each.span, each.confidence)
        for line, each in enumerate(found, 5)
        if each.state != "review" and (each.span is None or each.span.start != line)
    ]
    assert not jumped
    assert sum(each.state == "review" for each in found) <= 1


def test_an_insertion_begins_where_a_thing_begins() -> None:
    old = ["def one():", "    load()", "    save()", "", "", "def three():", "    load()", "    save()"]
    new = [*old[:3], "", "", "def two():", "    load()", "    save()", *old[3:]]
    lines = align(Page(Source("\n".join(old))), Page(Source("\n".join(new))))
    assert lines.forward == [0, 1, 2, 3, 4, 10, 11, 12]


def test_rows_of_a_declaration_that_was_edited_go_with_the_one_that_is_like_it() -> None:
    old = ["def pay(cart):", "    check(cart)", "    book(cart)"]
    new = ["def refund(order, reason):", *old[1:], "def pay(cart, user):", *old[1:]]
    lines = align(Page(Source("\n".join(old))), Page(Source("\n".join(new))))
    assert lines.forward == [-1, 4, 5]


FUNCTION = '''def area(shape, unit):
    """The area of a shape."""
    if shape is None:
        raise ValueError("no shape")
    width = shape.width * unit
    height = shape.height * unit
    return round(width * height, 2)
'''


@pytest.mark.parametrize("first", ["the copy", "the original"])
def test_a_function_that_was_copied_and_edited_where_it_was_keeps_its_comments(first: str) -> None:
    copy = FUNCTION.replace("def area", "def area_of_box")
    original = FUNCTION.replace("shape is None", "shape is missing").replace("height, 2", "height, 3")
    new = "\n\n".join([copy, original] if first == "the copy" else [original, copy])
    shift = copy.count("\n") + 2 if first == "the copy" else 0
    spans = [Span(line) for line in range(1, FUNCTION.count("\n") + 1)]
    found = relocate_all(Source(FUNCTION, "a.py"), Source(new, "a.py"), spans)
    for span, each in zip(spans, found, strict=True):
        here = span.start + shift
        places = [each.span] if each.state != "review" else [one.span for one in each.candidates]
        assert here in [place and place.start for place in places], (span, each)


CLASS = '''class Cart:
    """Items to buy."""

    def add(self, item, count):
        if count < 1:
            raise ValueError(count)
        self.items.append((item, count))
'''


def test_a_class_that_was_copied_above_and_edited_where_it_was_keeps_the_comment_on_its_name() -> None:
    new = CLASS.replace("Cart", "OldCart") + "\n\n" + CLASS.replace("count < 1", "count < 1 or count > 99")
    (found,) = relocate_all(Source(CLASS, "a.py"), Source(new, "a.py"), [Span(1)])
    assert (found.state, found.span and found.span.start) == ("moved", CLASS.count("\n") + 3)
    asked = Search(Page(Source(CLASS, "a.py")), Page(Source(new, "a.py")))
    assert asked.relocate([Span(1)]) == [found]
    assert min(asked._found) >= 0  # pyright: ignore[reportPrivateUsage] # no row is above the first


CHARGE = """def charge(account, amount):
    balance = account.balance
    fee = amount * account.fee_rate
    if balance < amount + fee:
        raise ValueError("insufficient")
    account.balance = balance - amount - fee
    return account.balance
"""


def test_of_a_copied_function_whose_variables_got_other_names_no_comment_goes_to_the_copy_in_silence() -> None:
    renamed = CHARGE.replace("balance <", "funds <").replace("amount", "sum_").replace("fee", "surcharge")
    renamed = renamed.replace("    balance =", "    funds =").replace("= balance -", "= funds -")
    new = renamed + "\n\n" + CHARGE.replace("def charge", "def charge_legacy")
    spans = [Span(line) for line in range(1, CHARGE.count("\n") + 1)]
    found = relocate_all(Source(CHARGE, "a.py"), Source(new, "a.py"), spans)
    jumped = [each for span, each in zip(spans, found, strict=True) if each.span and each.span.start != span.start]
    assert [each for each in jumped if each.state != "review"] == []
    assert all(len(each.candidates) > 1 for each in jumped)
