"""No pattern and no glob takes more than linear time."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

from postil.comments.failures import PatternRefused
from postil.comments.search import regex
from postil.comments.search.patterns import END, GAP, Pattern
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


SLOW = "(?:.{0,30}a){20}c"


def test_a_pattern_that_is_slow_for_each_byte_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """It took 20 µs a byte, in one call that nothing stopped: minutes for eight megabytes."""
    clock = iter(number * 0.01 for number in range(10_000))
    looks: list[int] = []
    look = regex.Meter.look

    def note(self: regex.Meter, size: int, steps: int, text: regex.Bytes) -> None:
        looks.append(size)
        look(self, size, steps, text)

    monkeypatch.setattr(regex.Meter, "look", note)
    monkeypatch.setattr(regex.time, "thread_time", lambda: next(clock))
    run = b"\n" + (b"ab" * 50 + GAP) * 20_000
    with pytest.raises(PatternRefused, match="takes too long"):
        Pattern(SLOW).ends(run, [])
    assert len(looks) == 202, "each took 10 ms, and all together may take 2 s"
    assert max(looks) <= regex.SMALLEST_PIECE + 110


def test_a_text_that_is_very_long_is_not_searched_with_a_very_large_pattern() -> None:
    with pytest.raises(PatternRefused, match="too large for a text of 100000 bytes"):
        Pattern(SLOW).matches(b"ab" * 50_000)
    assert not Pattern("a.*c").matches(b"ab" * 500_000)


@pytest.mark.parametrize("query", ["b+", "^a", "a$", r"\bz", "(?i)Y.z", "[^x]+z", "x|z"])
def test_pieces_give_what_the_whole_gives(query: str, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [b"ab\nxy%d" % number if number % 3 else b"yyz z" for number in range(500)]
    run = b"\n" + b"".join(each + GAP for each in texts)
    known = [at for at, byte in enumerate(run) if byte == END[0]]
    whole = Pattern(query).ends(run, known)
    monkeypatch.setattr(regex, "SMALLEST_PIECE", 1)
    monkeypatch.setattr(regex, "SURE_STEPS", 40)
    assert Pattern(query).ends(run, known) == whole
