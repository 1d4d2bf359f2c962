"""When a read is asked again, and after how long."""

from __future__ import annotations

from email.utils import formatdate

import pytest

from postil.gitlab.instance import retries
from postil.gitlab.instance.retries import choose_pause, read_retry_after

NOW = 1_700_000_000.0


@pytest.fixture
def spread(monkeypatch: pytest.MonkeyPatch) -> list[tuple[float, float]]:
    """The bounds that chance was given; chance itself is half of the way."""
    given: list[tuple[float, float]] = []

    def uniform(low: float, high: float) -> float:
        given.append((low, high))
        return (low + high) / 2

    monkeypatch.setattr(retries.random, "uniform", uniform)
    return given


def test_a_long_retry_after_is_the_callers_to_wait_for() -> None:
    assert choose_pause(1, 429, 30.1) is None
    assert choose_pause(1, 429, 30.0) is not None


def test_the_pause_doubles_and_is_spread(spread: list[tuple[float, float]]) -> None:
    assert [choose_pause(attempt, 503, None) for attempt in (1, 2, 3, 4)] == [0.375, 0.75, None, None]
    assert spread == [(0, 0.25), (0, 0.5)]


def test_what_gitlab_asks_for_comes_before_our_own_pause(spread: list[tuple[float, float]]) -> None:
    assert [choose_pause(attempt, 429, 7.0) for attempt in (1, 2)] == [7.125, 7.25]
    assert choose_pause(1, 503, 0.0) == 0.125


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_a_busy_or_broken_front_is_asked_again(status: int) -> None:
    assert choose_pause(1, status, None) is not None


@pytest.mark.parametrize("status", [200, 304, 400, 401, 404, 428, 430, 500, 501, 505])
def test_every_other_answer_is_the_last(status: int) -> None:
    assert choose_pause(1, status, None) is None


def test_retry_after_is_read_in_both_forms() -> None:
    assert read_retry_after({"retry-after": " 7 "}, NOW) == 7
    assert read_retry_after({"retry-after": formatdate(NOW + 60, usegmt=True)}, NOW) == 60
    assert read_retry_after({"retry-after": formatdate(NOW - 60, usegmt=True)}, NOW) == 0
    assert read_retry_after({"retry-after": "soon"}, NOW) is None
    assert read_retry_after({"retry-after": "²"}, NOW) is None
    assert read_retry_after({}, NOW) is None
    assert read_retry_after({"retry-after": formatdate(usegmt=True)}) == 0, "the clock is today's"


def test_nobody_waits_for_more_than_a_day() -> None:
    assert read_retry_after({"retry-after": "86400"}, NOW) == 86_400
    assert read_retry_after({"retry-after": "86401"}, NOW) == 86_400
    assert read_retry_after({"retry-after": "9" * 5000}, NOW) == 86_400, "however long it is written"


def test_an_exhausted_limit_says_when_it_ends() -> None:
    spent = {"ratelimit-remaining": "0", "ratelimit-reset": str(int(NOW) + 9)}
    assert read_retry_after(spent, NOW) == 9
    assert read_retry_after({**spent, "ratelimit-reset": str(int(NOW) - 9)}, NOW) == 0
    assert read_retry_after({**spent, "ratelimit-remaining": "1"}, NOW) is None
    assert read_retry_after({**spent, "ratelimit-reset": "later"}, NOW) is None
    assert read_retry_after({**spent, "ratelimit-reset": "²"}, NOW) is None
    assert read_retry_after({**spent, "retry-after": "3"}, NOW) == 3
