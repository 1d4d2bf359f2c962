"""EphemeralStore, counts and cells as texts."""

from __future__ import annotations

import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postil.tracker.text import (
    align,
    cut_excerpt,
    cut_names,
    cut_title,
    flatten,
    format_count,
    format_moment,
    is_day,
    round_to_second,
)

SECONDS = st.integers(-30_610_224_000, 253_402_300_799)  # from the year 1000 to 9999


@given(SECONDS, SECONDS)
def test_the_order_of_moments_as_texts_is_the_order_of_time(one: int, other: int):
    first, second = (format_moment(datetime.datetime.fromtimestamp(at, datetime.UTC)) for at in (one, other))
    assert (first < second) == (one < other)


def test_a_moment_is_written_in_utc_with_milliseconds_and_shown_to_the_second():
    here = datetime.datetime(2026, 11, 15, 1, 2, 3, 456789, datetime.timezone(datetime.timedelta(hours=2)))
    assert format_moment(here) == "2026-11-14T23:02:03.456Z"
    assert round_to_second(format_moment(here)) == "2026-11-14T23:02:03Z"
    assert round_to_second("") == ""


@pytest.mark.parametrize("text", ["2026-02-30", "2026-1-1", "20260101", "", "2026-01-01T00:00", "tomorrow"])
def test_what_is_no_day_of_the_calendar_is_none(text: str):
    assert not is_day(text)
    assert is_day("2028-02-29")


@given(st.text())
def test_a_cell_is_one_line_without_control_characters(text: str):
    cell = flatten(text)
    assert not any(ord(c) < 32 or 127 <= ord(c) < 160 or c in "\u202e\u2066" for c in cell)
    assert flatten(cell) == cell


def test_an_emoji_of_several_characters_stays_whole():
    assert flatten("👩‍💻\n") == "👩‍💻"


@pytest.mark.parametrize(
    ("count", "thing", "said"), [(1, "issue", "1 issue"), (0, "entity", "0 entities"), (2, "log", "2 logs")]
)
def test_things_are_counted_in_english(count: int, thing: str, said: str):
    assert format_count(count, thing) == said


def test_columns_are_as_wide_as_their_widest_cell_and_lines_end_with_text():
    assert align([["a", "bb", ""], ["ccc", "d", "e"]]) == "a    bb\nccc  d   e"
    assert align([]) == ""


def test_an_excerpt_has_eighty_characters_of_one_line():
    assert cut_excerpt("a\n\n b") == "a b"
    assert cut_excerpt("x" * 81) == "x" * 80 + "..."


def test_few_names_stay_as_they_are_and_of_many_some_are_told():
    assert cut_names(("a", "b"), 2) == ("a", "b")
    assert cut_names(("a", "b", "c"), 2) == ("a", "b", "… 1 more")
    assert cut_names(("x" * 201,)) == ("x" * 200 + "…",)
    assert (cut_title("x" * 1000), cut_title("x" * 1001)) == ("x" * 1000, "x" * 1000 + "…")
