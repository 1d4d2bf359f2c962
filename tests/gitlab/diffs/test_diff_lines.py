"""The lines of a diff and their numbers on both sides."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from postil.gitlab.diffs.diff_lines import find_new, find_old, parse_hunks
from tests.emulator.changes import changed, line_codes

TEXTS = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "--- x\n", "+++ y\n", "@@ -1 +1 @@\n", "\n"]), max_size=30)


@given(TEXTS, TEXTS)
def test_every_line_of_both_texts_is_found_where_it_belongs(old: list[str], new: list[str]) -> None:
    row = changed("a", "a", "".join(old), "".join(new))
    hunks = parse_hunks(row["diff"])
    known = line_codes(row)
    for number in range(1, len(old) + 1):
        line = find_old(hunks, number)
        assert (line.old, line.new) in known
    for number in range(1, len(new) + 1):
        line = find_new(hunks, number)
        assert (line.old, line.new) in known


def test_a_file_without_a_newline_at_its_end_has_no_line_more() -> None:
    hunks = parse_hunks("@@ -1 +1,2 @@\n-a\n\\ No newline at end of file\n+a\n+b\n\\ No newline at end of file\n")
    assert [(line.kind, line.old, line.new) for line in hunks[0].lines] == [
        ("removed", 1, None),
        ("added", None, 1),
        ("added", None, 2),
    ]


def test_half_a_diff_is_read_as_far_as_it_goes() -> None:
    (hunk,) = parse_hunks("@@ -1,9 +1,9 @@\n a\n+b")
    assert len(hunk.lines) == 2
    assert parse_hunks("no diff at all") == parse_hunks("") == []
    assert parse_hunks(f"@@ -{'9' * 5_000} +1 @@\n-a\n+b\n") == []
