"""Hunks of a unified diff, with their lines on both sides."""

from hypothesis import given
from hypothesis import strategies as st

from postil.inbox.diff import parse_hunks
from tests.inbox.examples import DIFF


def test_hunks_know_the_lines_of_both_sides() -> None:
    first, second = parse_hunks(DIFF)
    assert first.covers((2, 2), "new")
    assert not first.covers((9, 9), "new")
    assert second.covers((12, 12), "old")
    assert [(line.sign, line.old, line.new) for line in first.lines][1:3] == [("-", 2, 0), ("+", 0, 2)]
    assert first.text() == "@@ -1,4 +1,4 @@ def top\n one\n-two\n+TWO\n three\n four"


def test_changed_blocks_name_the_lines_to_choose() -> None:
    blocks = [(line, shown.text) for hunk in parse_hunks(DIFF) for line, shown in hunk.changed_blocks()]
    assert blocks == [("2", "TWO"), ("11-12", "added"), ("14", "twelve")]


@given(st.text(max_size=300))
def test_no_text_breaks_the_reader_of_diffs(text: str) -> None:
    for hunk in parse_hunks(text):
        hunk.text()
