"""A log that is too long to be held: its end, its ranges and its words, the same as of a short one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postil.core.others.untrusted import clean
from postil.gitlab.fitting import choose_tail, choose_window
from postil.gitlab.instance import long_log
from postil.gitlab.instance.logs import clean_log, find_in_log
from postil.gitlab.instance.long_log import LongLog

LINES = st.lists(st.text("ab \x1b[m0error", max_size=12), min_size=1, max_size=60)


def pass_by(raw: bytes, piece: int, **asked: object) -> LongLog:
    log = LongLog("", **asked)  # type: ignore[arg-type]
    for start in range(0, len(raw), piece):
        log.feed(raw[start : start + piece])
    log.finish()
    return log


@given(LINES, st.integers(1, 40), st.integers(1, 20))
def test_it_answers_as_if_the_whole_log_were_there(lines: list[str], piece: int, number: int) -> None:
    raw = ("\n".join([*lines, "the end"]) + "\n").encode()
    text = clean(clean_log(raw, ""))
    assert pass_by(raw, piece).choose(number, 10_000) == choose_tail(text, number, 10_000)
    ranged = pass_by(raw, piece, wanted=(number, number + 3)).choose(1, 10_000)
    whole = choose_window(text, (number, number + 3), 10_000)
    assert (ranged.first, ranged.total, ranged.text) == (whole.first, whole.total, whole.text)
    assert pass_by(raw, piece, words="error").hits == find_in_log(text, "error")[1]


def test_only_the_end_is_kept_under_its_own_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_log, "KEPT", 1000)
    raw = b"".join(b"line %d\n" % number for number in range(1, 10_001))
    log = pass_by(raw, 100)
    window = log.choose(3, 10_000)
    assert (window.text, window.first, window.last, window.total) == (
        "line 9998\nline 9999\nline 10000",
        9998,
        10_000,
        10_000,
    )
    assert sum(map(len, vars(log)["_kept"])) < 2000


def test_words_are_found_with_the_numbers_of_their_lines() -> None:
    raw = b"".join(b"fine\n" if number % 1000 else b"an ERROR here\n" for number in range(1, 5001))
    log = pass_by(raw, 777, words="error")
    assert log.hits == 5
    assert [line for line in log.found if ":" in line[:6]] == [f"{n}: an ERROR here" for n in range(1000, 5001, 1000)]


def test_an_endless_line_takes_no_more_room_than_a_long_one() -> None:
    log = LongLog("")
    for _ in range(100):
        log.feed(b"x" * 65536)
    assert len(vars(log)["_half"]) <= 2 * long_log.LONGEST_LINE
    log.feed(b"\nlast\n")
    log.finish()
    assert log.choose(1, 1000).text == "last"


def test_a_range_beyond_the_end_is_empty() -> None:
    assert pass_by(b"a\nb\n", 1, wanted=(10, 20)).choose(1, 1000).text == ""


def test_a_last_line_without_its_end_is_a_line() -> None:
    log = pass_by(b"a\nlast", 3)
    log.finish()
    assert (log.choose(1, 1000).text, log.total) == ("last", 2)


def test_of_a_range_no_more_is_kept_than_of_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_log, "KEPT", 100)
    log = pass_by(b"123456789\n" * 1000, 500, wanted=(1, None))
    assert sum(map(len, vars(log)["_kept"])) == 110, "the line that passes the bound is the last one"


def test_a_range_of_nothing_has_its_own_numbers() -> None:
    window = pass_by(b"a\nb\n", 1, wanted=(10, 20)).choose(1, 1000)
    assert (window.first, window.last, window.total) == (10, 9, 2)
