"""The lines of a large text are those of a small one, cut out when they are asked for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as some

from postil.comments import lines
from postil.comments.lines import LazyLines, split_lines
from postil.core import limits


@given(some.text(alphabet="ab\r\n é", max_size=40))
def test_lines_of_a_large_text_are_those_of_a_small_one(text: str) -> None:
    held = list(lines._split(text))  # pyright: ignore[reportPrivateUsage]
    cut = LazyLines(text)
    assert list(cut) == held
    assert [cut[at] for at in range(-len(cut), len(cut))] == [*held, *held]
    assert cut[1:3] == held[1:3]


def test_a_large_text_is_not_cut_into_lines_and_remembered_once() -> None:
    text = "ab\n" * limits.HERE
    found = split_lines(text)
    assert isinstance(found, LazyLines)
    assert (len(found), found[-1], found[5:7]) == (limits.HERE, "ab", ["ab", "ab"])
    assert split_lines(text) is found
    with pytest.raises(IndexError):
        _ = found[limits.HERE]
    assert split_lines("a\n" + text) is not found
