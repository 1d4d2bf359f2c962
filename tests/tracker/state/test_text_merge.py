"""Three-way merges of texts."""

from __future__ import annotations

from hypothesis import given

from postil.tracker.state.text_merge import merge_texts
from tests.tracker.worlds import lines


@given(lines, lines, lines)
def test_a_three_way_merge_does_not_depend_on_the_side(base: str, ours: str, theirs: str):
    assert merge_texts(base, ours, theirs) == merge_texts(base, theirs, ours)


@given(lines, lines)
def test_a_change_on_one_side_only_is_taken(base: str, changed: str):
    assert merge_texts(base, changed, base) == changed
    assert merge_texts(base, base, changed) == changed
    assert merge_texts(base, changed, changed) == changed


def test_ticks_of_neighbouring_criteria_are_merged():
    base = "Epic\n\n- [ ] one\n- [ ] two\n- [ ] three"
    ours, theirs = base.replace("[ ] one", "[x] one"), base.replace("[ ] two", "[x] two")
    assert merge_texts(base, ours, theirs) == "Epic\n\n- [x] one\n- [x] two\n- [ ] three"


def test_a_tick_is_merged_with_a_criterion_added_below_it():
    base = "- [ ] one\n- [x] two"
    assert merge_texts(base, "- [ ] one\n- [ ] two", f"{base}\n- [ ] three") == "- [ ] one\n- [ ] two\n- [ ] three"


def test_a_tick_of_a_criterion_that_another_rewrote_is_left_to_people():
    assert merge_texts("- [ ] one", "- [x] one", "- [ ] one of two") is None
    assert merge_texts("- [ ] one", "- [x] one", "- [X] one") == merge_texts("- [ ] one", "- [X] one", "- [x] one")
