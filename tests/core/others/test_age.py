"""How long ago a moment was."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postil.core.others.age import parse_age, tell_age

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("moment", "said"),
    [
        ("2026-11-15T11:59:30Z", "just now"),
        ("2026-11-15T12:00:40.123Z", "just now"),
        ("2026-11-15T11:30:00.000Z", "30 minutes ago"),
        ("2026-11-15T12:00:00+02:00", "2 hours ago"),
        ("2026-11-14T11:00:00Z", "1 day ago"),
        ("2024-11-15T00:00:00Z", "2 years ago"),
        ("2026-11-15T12:01:00Z", "just now"),
        ("2026-11-15T12:01:00.500Z", "2026-11-15T12:01:00.500Z"),
        ("2026-11-15T11:59:00Z", "1 minute ago"),
        ("2027-01-01T00:00:00Z", "2027-01-01T00:00:00Z"),
        ("2026-11-15", "2026-11-15"),
        ("0001-01-01T00:00:00+23:59", "2025 years ago"),
        ("soon", "soon"),
        ("", ""),
    ],
)
def test_an_age_has_one_unit_and_what_is_no_past_moment_stays(moment: str, said: str) -> None:
    assert tell_age(moment, NOW) == said


@given(st.integers(0, 60 * 366 * 86400 * 30))
def test_an_older_moment_is_never_told_as_a_younger_one(seconds: int) -> None:
    def rank(age: int) -> tuple[int, int]:
        told = tell_age((NOW - timedelta(seconds=age)).isoformat(), NOW)
        count, _, unit = told.removesuffix(" ago").partition(" ")
        units = ["now", "minute", "hour", "day", "month", "year"]
        return units.index(unit.removesuffix("s")), int(count) if count.isdigit() else 0

    age = min(seconds, 60 * 366 * 86400)
    assert rank(age) <= rank(age + 60)


def test_an_age_names_a_moment() -> None:
    assert parse_age("7d", NOW) == NOW - timedelta(days=7)
    assert parse_age(" 12h ", NOW) == NOW - timedelta(hours=12)
    assert parse_age("2w", NOW) == NOW - timedelta(weeks=2)
    assert parse_age("3m", NOW) == NOW - timedelta(days=90)
    assert parse_age("1y", NOW) == NOW - timedelta(days=365)
    for text in ("", "d", "7", "7 days", "2026-11-15", "99999y", "-1d"):
        assert parse_age(text, NOW) is None
