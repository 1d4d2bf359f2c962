"""Brackets and blank lines say nothing; they go where the rows go that they belong to."""

import pytest

from postil.anchor.model import Source, Span
from postil.anchor.relocate import relocate, relocate_all

OLD = """int first(int a) {
    if (a > 0) {
        return one(a);
    }
    return 0;
}

int second(int b) {
    while (b > 0) {
        b = less(b);
    }
    return b;
}
"""


def test_closing_brackets_follow_their_functions_when_these_change_places() -> None:
    rows = OLD.split("\n")
    new = "\n".join([*rows[7:13], "", *rows[0:6], ""])
    lines = {4: 11, 6: 13, 11: 4, 13: 6}
    found = relocate_all(Source(OLD, "a.c"), Source(new, "a.c"), [Span(line) for line in lines])
    assert [each.span and each.span.start for each in found] == list(lines.values())


def test_a_bracket_follows_its_neighbours_when_what_it_closes_was_rewritten() -> None:
    new = OLD.replace("    while (b > 0) {\n", "    for (int n = b; n; n = next(n)) {\n        log(n);\n")
    assert relocate(OLD, new, Span(11), "a.c").span == Span(12, 12)


def test_a_bracket_of_deleted_code_is_not_taken_for_another() -> None:
    new = "".join(f"{row}\n" for row in OLD.split("\n")[7:13])
    found = relocate(OLD, new, Span(4), "a.c")
    assert found.state in ("review", "orphaned")


def test_blank_lines_go_with_the_rows_around_them() -> None:
    assert relocate(OLD, "// a remark\n\nint zero;\n" + OLD, Span(7), "a.c").span == Span(10, 10)


@pytest.mark.timeout(20)
def test_braces_on_rows_of_their_own_do_not_wait_for_each_other() -> None:
    nested = "\n".join(f"{' ' * n}{{\n{' ' * n} call_{n}();" for n in range(60))
    changed = nested.replace("call_1", "other_1").replace("call_3", "")
    spans = [Span(line) for line in range(1, 120)]
    for path in ("a.c", "a.unknown"):
        assert len(relocate_all(Source(nested, path), Source(changed, path), spans)) == len(spans)
