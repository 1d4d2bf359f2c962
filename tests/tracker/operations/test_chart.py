"""The days of a milestone."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest

from postil.tracker import events as ev
from postil.tracker.failures import InvalidParams
from postil.tracker.store import Store
from postil.workspace.repository import find_repository
from tests.tracker.groups import Tracker
from tests.tracker.programs import said


def test_nonsense_for_days_makes_no_picture_fail_or_grow(repository: Path):
    store = Store(find_repository(str(repository)))
    mile = ev.new_entity_id()
    with store.transaction() as tx:
        tx.write(ev.Created, mile, kind="milestone", title="M", due="never")
        for ts in ("", "9999999-99", "2026-13-45T00", "0001-01-01T00:00:00.000Z", "2026-01-01T00:00:00.000Z"):
            tx.write(ev.Created, ev.new_entity_id(), kind="issue", title="x", milestone=mile, ts=ts)
    mine = Tracker(repository)
    for words in ((), ("--svg",), ("--bar",), ("--svg", "--bar")):
        assert len(said(repository, "milestone", "chart", mile, *words)) < 400_000
    chart = mine.charts.chart(mile)
    assert not isinstance(chart, str)
    assert len(chart.days) <= 3654
    assert chart.days[0].open == 1


def test_the_days_of_a_milestone_are_what_the_events_say(story: tuple[Path, str]):
    repository, mile = story
    now = datetime.datetime(2026, 1, 6, tzinfo=datetime.UTC)
    mine = Tracker(repository, now=lambda: now)
    chart = mine.charts.chart(mile)
    assert not isinstance(chart, str)
    assert [(d.day[-2:], d.open, d.closed) for d in chart.days] == [
        ("01", 3, 0),
        ("02", 2, 1),
        ("03", 0, 2),
        ("04", 1, 1),
        ("05", 1, 1),
        ("06", 1, 1),
    ]
    assert "50% (1 of 2 closed)" in chart.for_person()
    earlier = mine.charts.chart(mile, as_of="2026-01-02")
    assert not isinstance(earlier, str)
    assert earlier.days == chart.days[:2]
    with pytest.raises(InvalidParams):
        mine.charts.chart(mile, as_of="someday")
