"""Check boxes in a text."""

from __future__ import annotations

import tracemalloc

from hypothesis import given
from hypothesis import strategies as st

from postil.tracker.state.checklist import MOST, add_criteria, list_criteria, tick

texts = st.lists(st.sampled_from(["- [ ] a", "* [x] b", "words", "", "```", "  - [X] c"]), max_size=8).map("\n".join)


@given(texts, st.integers(1, 8), st.booleans())
def test_ticking_changes_one_box_and_nothing_else(text: str, number: int, done: bool):
    before = list_criteria(text)
    after = tick(text, number, done)
    if number > len(before):
        assert after is None
        return
    assert after is not None
    now = list_criteria(after)
    assert [(one.number, one.text) for one in now] == [(one.number, one.text) for one in before]
    assert [one.done for one in now] == [done if one.number == number else one.done for one in before]


def test_new_criteria_come_last():
    assert add_criteria("Text", ["one", "two"]) == "Text\n\n- [ ] one\n- [ ] two"
    assert add_criteria("- [x] old", ["new\nline"]) == "- [x] old\n- [ ] new line"


def test_only_so_many_boxes_count_and_the_text_is_not_parted_for_them():
    text = "- [ ] a\n" * 2 * MOST
    tracemalloc.start()
    try:
        assert len(list_criteria(text)) == MOST
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()
    assert tick(text, MOST, True) is not None
    assert tick(text, MOST + 1, True) is None
