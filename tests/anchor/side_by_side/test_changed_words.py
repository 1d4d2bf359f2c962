"""Which words changed."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from postil.anchor.side_by_side.changed_words import mark_words, pair_lines


def test_the_words_that_differ_are_marked_on_both_sides() -> None:
    old, new = "return hello + name", "return good day + name"
    gone, come = mark_words(old, new)
    assert [old[start:end] for start, end in gone] == ["hello"]
    assert [new[start:end] for start, end in come] == ["good day"]


def test_lines_that_are_not_alike_are_no_pair() -> None:
    assert pair_lines(["abc def"], ["xyz 123"]) == []
    assert pair_lines(["x = 1"], ["x = 2"]) == [(0, 0)]


def test_of_more_new_lines_the_likest_is_the_pair() -> None:
    assert pair_lines(["value = compute(1)"], ["other()", "value = compute(2)"]) == [(0, 1)]
    assert pair_lines(["other()", "value = compute(2)"], ["value = compute(1)"]) == [(1, 0)]


@given(st.text(), st.text())
def test_what_is_not_marked_is_the_same_on_both_sides(old: str, new: str) -> None:
    gone, come = mark_words(old, new)

    def rest(text: str, pieces: tuple[tuple[int, int], ...]) -> str:
        at, kept = 0, ""
        for start, end in pieces:
            assert at <= start < end <= len(text)
            kept, at = kept + text[at:start], end
        return "".join((kept + text[at:]).split())

    assert rest(old, gone) == rest(new, come) or any(text.isspace() for text in (old, new))
