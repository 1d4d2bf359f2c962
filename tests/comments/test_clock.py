"""Ids are distinct and of the contract's shape."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from postil.comments.clock import new_id, now
from postil.comments.sidecar.format import format_time, parse_time


def test_ids_of_one_millisecond_are_distinct_and_of_the_contracts_shape(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 20,000 with six random digits two hundred were alike, and an import took the later ones for there already."""
    monkeypatch.setattr("time.time_ns", lambda: 1_700_000_000_000_000_000)
    made = {new_id("c_") for _ in range(20_000)}
    assert len(made) == 20_000
    assert all(len(each) == 21 and each[2:].isdigit() for each in made)


def test_the_present_is_written_as_it_is_read() -> None:
    moment = parse_time(now())
    assert moment is not None
    assert format_time(moment) == now()[:10] + format_time(moment)[10:]
    assert abs((datetime.now(UTC) - moment).total_seconds()) < 5
