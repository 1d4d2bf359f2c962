"""Lines as people write them, and the limits of a comment."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postil.inbox.failures import BadLine, CommentTooLong, EmptyComment
from postil.inbox.model import LONGEST_COMMENT, check_comment, format_span, parse_span


@given(st.integers(1, 10**9 - 1), st.integers(0, 1000))
def test_a_span_is_read_back_as_it_was_written(start: int, more: int) -> None:
    span = (start, min(start + more, 10**9 - 1))
    assert parse_span(format_span(span)) == span


@given(st.text(max_size=12))
def test_any_text_is_a_line_or_a_clear_refusal(text: str) -> None:
    try:
        span = parse_span(text)
    except BadLine:
        return
    assert span is None or 1 <= span[0] <= span[1]


def test_the_whole_file_has_no_span() -> None:
    assert [parse_span(text) for text in ("", "  ", "file")] == [None, None, None]
    assert format_span(None) == ""


@pytest.mark.parametrize("text", ["0", "-1", "5-3", "1-", "-", "1-2-3", "٣", "1e3", "1234567890", "42x"])
def test_what_is_no_line_is_refused(text: str) -> None:
    with pytest.raises(BadLine):
        parse_span(text)


def test_a_comment_is_taken_up_to_its_limit_in_bytes_and_unchanged() -> None:
    longest = "ü" * (LONGEST_COMMENT // 2)
    assert check_comment(longest) == longest
    assert check_comment("  spaces stay ") == "  spaces stay "
    with pytest.raises(CommentTooLong, match=f"has {LONGEST_COMMENT + 1} bytes; at most {LONGEST_COMMENT}"):
        check_comment(longest + "x")


@pytest.mark.parametrize("nothing", ["", " ", "\n\t"])
def test_a_comment_that_says_nothing_is_refused(nothing: str) -> None:
    with pytest.raises(EmptyComment):
        check_comment(nothing)
