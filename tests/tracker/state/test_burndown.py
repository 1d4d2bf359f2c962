"""Days counted from events."""

from __future__ import annotations

from pathlib import Path

from postil.tracker import events as ev
from tests.tracker.groups import Tracker


def test_an_event_without_a_time_does_not_break_the_picture(repository: Path):
    mine = Tracker(repository)
    mile = mine.tools.create("M", "milestone").id
    with mine.issues.store.transaction() as tx:
        tx.write(ev.Created, ev.new_entity_id(), kind="issue", title="x", milestone=mile, ts="")
    chart = mine.charts.chart(mile)
    assert not isinstance(chart, str)
    assert chart.days == []
