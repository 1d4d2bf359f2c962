"""Hunks of a unified diff, with their lines on both sides."""

from hypothesis import given
from hypothesis import strategies as st

from postil.inbox.diff import find_span, make_added, parse_hunks
from tests.inbox.examples import DIFF


def test_hunks_know_the_lines_of_both_sides() -> None:
    first, second = parse_hunks(DIFF)
    assert first.covers((2, 2), "new")
    assert not first.covers((9, 9), "new")
    assert second.covers((12, 12), "old")
    assert [(line.sign, line.old, line.new) for line in first.lines][1:3] == [("-", 2, 0), ("+", 0, 2)]
    assert first.text() == "@@ -1,4 +1,4 @@ def top\n one\n-two\n+TWO\n three\n four"


def test_changed_blocks_have_their_lines_in_the_new_file_or_else_in_the_old_one() -> None:
    blocks = [find_span(block) for hunk in parse_hunks(DIFF) for block in hunk.changed_blocks()]
    assert blocks == [((2, 2), "new"), ((11, 12), "new"), ((12, 12), "old")]
    assert find_span([]) is None


def test_the_hunks_of_several_files_know_theirs() -> None:
    odd = "t\\303\\244b\\t.txt"
    diff = (
        f'diff --git "a/{odd}" "b/{odd}"\n--- "a/{odd}"\n+++ "b/{odd}"\n'
        "@@ -1 +1 @@\n--- a/no header\n+++ b/nor this\n"
        "diff --git a/gone b/gone\ndeleted file mode 100644\n--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-it\n"
        "diff --git a/old b/new name\nsimilarity index 100%\nrename from old\nrename to new name\n"
    )
    hunks = parse_hunks(diff)
    assert [hunk.file for hunk in hunks] == ["täb\t.txt", "gone", "new name"]
    assert [(line.sign, line.text) for line in hunks[0].lines] == [("-", "-- a/no header"), ("+", "++ b/nor this")]
    assert hunks[2].lines == ()


def test_a_file_that_git_does_not_know_is_wholly_new() -> None:
    (hunk,) = make_added("n.txt", ["one", "two"], "abcdef0123")
    assert parse_hunks("\n".join([*hunk.preamble, hunk.text()]) + "\n") == [hunk]
    assert make_added("n.txt", [], "") == []


@given(st.text(max_size=300))
def test_no_text_breaks_the_reader_of_diffs(text: str) -> None:
    for hunk in parse_hunks(text):
        hunk.text()
