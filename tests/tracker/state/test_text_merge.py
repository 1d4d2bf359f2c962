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
