"""Days counted from events."""

from __future__ import annotations

import datetime
import random
from pathlib import Path

import msgspec

from postil.tracker import events as ev
from postil.tracker.events import Event
from postil.tracker.state.burndown import count_days
from postil.tracker.state.fold import fold
from tests.tracker.groups import Tracker
from tests.tracker.worlds import Replica, act

UNTIL = datetime.date(2026, 1, 9)


def test_an_event_without_a_time_does_not_break_the_picture(repository: Path):
    mine = Tracker(repository)
    mile = mine.tools.create("M", "milestone").id
    with mine.issues.store.transaction() as tx:
        tx.write(ev.Created, ev.new_entity_id(), kind="issue", title="x", milestone=mile, ts="")
    chart = mine.charts.chart(mile)
    assert not isinstance(chart, str)
    assert chart.days == []


def state_at(events: list[Event], day: str) -> str:
    entity = fold([event for event in events if event.ts[:10] <= day])
    if entity is None or entity.milestone != "m1" or entity.deleted:
        return ""
    return "closed" if entity.status == "closed" else "open"


def test_each_day_is_what_the_events_up_to_it_make():
    told = 0
    for seed in range(300):
        dice = random.Random(seed)
        one, two = Replica("aaa"), Replica("bbb")
        one.write(ev.Created, kind="issue", title="T", milestone=dice.choice((None, "m1")))
        two.fetch(one)
        for _ in range(dice.randrange(25)):
            writer, other = dice.sample((one, two), 2)
            if dice.random() < 0.5:
                writer.fetch(other)
            if dice.random() < 0.3:
                writer.write(ev.Set, f=dice.choice(("milestone", "deleted")), value=dice.choice((None, "m1", "true")))
            else:
                act(writer, dice)
        one.fetch(two)
        events: list[Event] = [
            msgspec.structs.replace(event, ts=f"2026-01-0{dice.randrange(1, 9)}T00:00:00.000Z") for event in one.known()
        ]
        for found in count_days([events], "m1", UNTIL):
            told += 1
            state = state_at(events, found.day)
            assert (found.open, found.closed) == (state == "open", state == "closed"), f"seed {seed}"
    assert told > 500
