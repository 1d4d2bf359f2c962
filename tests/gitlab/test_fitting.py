"""Text that fits: windows, ends, pages that go on where the last one was cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postil.core.failure import Failure
from postil.gitlab import fitting

TEXT = st.text(st.sampled_from('ab\n"\\é€😀\x01'), max_size=300)


@given(TEXT, st.integers(0, 400))
def test_what_is_cut_fits_and_is_the_beginning(text: str, room: int) -> None:
    short = fitting.cut(text, room)
    assert text.startswith(short)
    assert fitting.measure(short) <= room
    if len(short) < len(text):
        assert fitting.measure(text[: len(short) + 1]) > room


@given(TEXT, st.integers(10, 400))
def test_windows_one_after_another_are_the_whole_text(text: str, room: int) -> None:
    lines = text.removesuffix("\n").split("\n")
    if not text or any(fitting.measure(line) + 2 > room for line in lines):
        return
    seen: list[str] = []
    at = 1
    while at <= len(lines):
        window = fitting.choose_window(text, (at, None), room)
        assert fitting.measure(window.text) <= room
        seen += window.text.split("\n")
        assert window.last >= at
        at = window.last + 1
    assert seen == lines


@given(TEXT, st.integers(1, 20), st.integers(10, 400))
def test_the_end_of_a_text_ends_it(text: str, wanted: int, room: int) -> None:
    window = fitting.choose_tail(text, wanted, room)
    assert fitting.measure(window.text) <= room
    assert window.last == window.total
    if not window.is_cut:
        assert text.removesuffix("\n").endswith(window.text)
        assert window.last - window.first + 1 <= wanted


def test_a_line_that_does_not_fit_is_cut_and_said_to_be() -> None:
    window = fitting.choose_window("x" * 5000, None, 1000)
    assert (len(window.text), window.is_cut, window.is_whole) == (1000, True, False)


def test_a_small_text_is_whole_to_its_last_newline() -> None:
    window = fitting.choose_window("a\nb\n", None, 100)
    assert (window.text, window.is_whole) == ("a\nb\n", True)


@given(st.integers(1, 50), st.integers(1, 100), st.data())
def test_the_next_page_begins_where_the_shown_rows_end(page: int, per_page: int, data: st.DataObject) -> None:
    kept = data.draw(st.integers(1, per_page))
    shown, number, size = fitting.next_page(page, per_page, kept)
    assert 1 <= shown <= kept
    assert (number - 1) * size == (page - 1) * per_page + shown
    assert size <= kept


@pytest.mark.parametrize(("given", "read"), [("10-20", (10, 20)), ("10-", (10, None)), ("7", (7, 7)), (None, None)])
def test_ranges_of_lines_are_read(given: str | None, read: tuple[int, int | None] | None) -> None:
    assert fitting.read_lines(given) == read


@pytest.mark.parametrize("given", ["", "0", "-3", "5-2", "a", "1-2-3", "1\n2", "9" * 12])
def test_other_ranges_are_refused(given: str) -> None:
    with pytest.raises(Failure, match="lines"):
        fitting.read_lines(given)
