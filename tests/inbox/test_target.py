"""What a remark is aimed at, as one word."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postil.inbox.failures import BadLine, BadTarget
from postil.inbox.target import Target, format_target, parse_target, split_typed_line

VERSIONS = ("", "unstaged", "staged", "1a2b3c4d", "1a2b3c4d..5e6f7081")
spans = st.none() | st.integers(1, 10**6).flatmap(lambda first: st.tuples(st.just(first), st.integers(first, 10**6)))
files = st.text(st.characters(codec="utf-8"), min_size=1, max_size=30).filter(lambda file: file.strip() == file)


def make(file: str, span: tuple[int, int] | None, old: bool, version: str, typed: bool) -> Target:
    return Target(file, span, "old" if span and old else "new", version, typed and span is None)


targets = st.builds(make, files, spans, st.booleans(), st.sampled_from(VERSIONS), st.booleans())


@given(targets)
def test_a_word_means_the_target_it_was_made_of(target: Target) -> None:
    word = format_target(target)
    assert parse_target(word) == target
    assert "|" not in word
    assert "\n" not in word


def test_the_word_of_a_whole_file_reads_well_and_its_older_form_is_taken() -> None:
    assert format_target(Target("a.txt", version="staged", typed=True)) == "a.txt:whole @staged"
    assert parse_target("a.txt:? @staged") == Target("a.txt", version="staged", typed=True)


def test_commits_and_ranges_have_words_too() -> None:
    assert format_target(Target(version="1a2b3c4d")) == "@1a2b3c4d"
    found = parse_target("@1a2b3c4d..5e6f7081")
    assert (found.base, found.commit, found.file, found.context) == ("1a2b3c4d", "5e6f7081", "", "commits")


@pytest.mark.parametrize("word", ["", " ", "code.txt", "code.txt:x", "@nothex", ":7", "a:0", "a:9-7", "@staged;rm"])
def test_another_word_is_refused(word: str) -> None:
    with pytest.raises((BadTarget, BadLine)):
        parse_target(word)


@pytest.mark.parametrize(
    ("comment", "expected"),
    [
        ("42: handle it", ("42", "new", "handle it")),
        (" 42 - 45 : these", ("42-45", "new", "these")),
        ("-7: why gone?", ("7", "old", "why gone?")),
        ("no line: here", ("", "new", "no line: here")),
        ("42 is the answer", ("", "new", "42 is the answer")),
        ("42:", ("", "new", "42:")),
    ],
)
def test_a_remark_may_begin_with_its_line(comment: str, expected: tuple[str, str, str]) -> None:
    assert split_typed_line(comment) == expected
