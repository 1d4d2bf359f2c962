"""A file and its lines in one word."""

from __future__ import annotations

import pytest

from postil.core.arguments.file_line import split_place


@pytest.mark.parametrize(
    ("word", "place"),
    [
        ("a.py", ("a.py", 0, 0)),
        ("a.py:3", ("a.py", 3, 0)),
        ("src/a b.py:10-12", ("src/a b.py", 10, 12)),
        (":3", ("", 3, 0)),
        ("a.py:0", ("a.py:0", 0, 0)),
        ("a.py:x", ("a.py:x", 0, 0)),
        ("C:/a.py", ("C:/a.py", 0, 0)),
        ("a.py:3-", ("a.py:3-", 0, 0)),
        ("a.py:3-0", ("a.py:3-0", 0, 0)),
    ],
)
def test_a_word_that_ends_with_lines_is_a_place(word: str, place: tuple[str, int, int]) -> None:
    assert split_place(word) == place
