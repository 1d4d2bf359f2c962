"""No pattern and no glob takes more than linear time."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

from postil.comments.failures import PatternRefused
from postil.comments.search.regex import compile_linear
from postil.core.failure import InvalidArguments
from tests.comments.workspaces import Comments, workspace, write

SOURCE = "".join(f"value_{n} = {n}\n" for n in range(1, 11))


@pytest.fixture
def comments(tmp_path: Path) -> Comments:
    made = workspace(tmp_path / "work", **{"a.py": SOURCE})
    write(tmp_path, "work-evil/secret.py", "password = 1\n")
    return made


@pytest.mark.parametrize("pattern", ["(a+)+$", "(x+x+)+y", "(.*)*b", "(?:a|a?)+$", "(a|aa)+$", "^(([a-z])+.)+[A-Z]$"])
def test_a_hostile_pattern_is_searched_by_what_is_linear(comments: Comments, pattern: str) -> None:
    """Python's own `re`, which goes back, is not behind it: `(a+)+$` over these takes it longer than anybody lives."""
    comments.add("a.py", 1, "a" * 9_000 + "!", "NOTE")
    comments.add("a.py", 2, "x" * 9_000, "NOTE")
    assert comments.search(pattern).totalResults in (0, 1, 2)
    assert type(compile_linear(pattern, ignore_case=True)).__module__ == "re2"


@pytest.mark.parametrize("glob", ["*" * 60 + "x", "**/" * 30 + "x", "[", "[!", "a[z-a]"])
def test_a_hostile_glob_takes_no_time(comments: Comments, glob: str) -> None:
    comments.add("a.py", 1, "x", "NOTE")
    with suppress(InvalidArguments):
        assert comments.search("x", file=glob).totalResults == 0


@pytest.mark.parametrize("glob", ["*" * 1001, "[" * 4_000_000])
def test_a_glob_that_is_very_long_is_refused(comments: Comments, glob: str) -> None:
    """It was made into a pattern character by character, each time with a copy of the rest."""
    comments.add("a.py", 1, "x", "NOTE")
    with pytest.raises(InvalidArguments, match="at most 1000 characters"):
        comments.search("x", file=glob)


@pytest.mark.parametrize("pattern", [r"\pL{900}c", r"(?:\pL|\pN){500}", r"\pL{300}b\pL{100}"])
def test_a_pattern_that_becomes_very_large_is_refused(comments: Comments, pattern: str) -> None:
    """The first took 130 MB, and 9 µs for each byte that was searched."""
    with pytest.raises(PatternRefused, match="too large"):
        comments.search(pattern)


def test_a_pattern_of_a_few_classes_is_taken(comments: Comments) -> None:
    comments.add("a.py", 1, "é" * 20 + "c", "NOTE")
    assert comments.search(r"\pL{20}c").totalResults == 1
