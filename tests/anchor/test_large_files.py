"""A file of very many lines is compared where it changed, and nothing of it is put elsewhere than it stands."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postil.anchor import large_files
from postil.anchor.model import Span
from postil.anchor.relocate import relocate

NUMBERED = [f"value_{number} = compute({number})" for number in range(60)]


def edit(at: int, removed: int, added: int) -> list[str]:
    new = [f"added_{number} = other[{number}]" for number in range(added)]
    return [*NUMBERED[:at], *new, *NUMBERED[at + removed :]]


@given(st.integers(0, 60), st.integers(0, 5), st.integers(0, 5), st.integers(1, 60), st.booleans())
def test_a_line_that_stands_once_is_found_whether_the_file_is_large_or_not(
    at: int, removed: int, added: int, line: int, compared: bool
) -> None:
    now = edit(at, removed, added)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(large_files, "MOST_LINES", 60 if compared else 5)
        patch.setattr(large_files, "AROUND", 3)
        found = relocate("\n".join(NUMBERED), "\n".join(now), Span(line))
    wanted = NUMBERED[line - 1]
    if wanted in now:
        assert found.span is not None
        assert (found.span.start, found.new_text) == (now.index(wanted) + 1, wanted)
        assert found.state == ("exact" if found.span.start == line else "moved")
    assert found.old_text == wanted


def test_lines_that_are_not_the_only_ones_of_their_kind_are_left_to_a_person(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large_files, "MOST_LINES", 5)
    monkeypatch.setattr(large_files, "AROUND", 0)
    old = ["first", *["the same line"] * 20, "last"]
    found = relocate("\n".join(old), "\n".join(["new", *old[:10], "and", *old[10:], "end"]), Span(12))
    assert found.state == "orphaned"
    assert "too many lines" in found.reason


def test_sixteen_megabytes_of_short_lines_are_compared_at_once() -> None:
    """They took minutes and gigabytes: every line cost 10 µs and 1.5 KB."""
    old = "x\n" * 4_000_000
    new = "y\n" + old + "z\n"
    assert relocate(old, new, Span(2_000_000)).state == "orphaned"
    assert relocate(old, old[:2_000_000] + "q\n" + old[2_000_000:], Span(3_000_000)).span is not None


def test_a_line_that_is_past_the_end_is_said_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large_files, "MOST_LINES", 5)
    monkeypatch.setattr(large_files, "AROUND", 1)
    old = "\n".join(NUMBERED) + "\n"
    for line in (0, 61, 90):
        assert relocate(old, "new\n" + old, Span(line)).state == "orphaned"
    assert relocate(old, "new\n" + old, Span(59, 90)).span == Span(60, 61)
