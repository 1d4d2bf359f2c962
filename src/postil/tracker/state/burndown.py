"""How the issues of a milestone came and went, day by day, from the events alone. Pure: events in, numbers out."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence

import msgspec

from postil.tracker.events import Created, Event, Set
from postil.tracker.state.fold import fold
from postil.tracker.text import is_day

_TELLING = ("status", "milestone", "deleted")
_LONGEST = 3653
"""Ten years of days: a writer with a broken clock must not make the picture of a thousand."""


class Day(msgspec.Struct, frozen=True):
    """The issues of a milestone at the end of a day."""

    day: str
    open: int
    closed: int


def count_days(histories: Iterable[Sequence[Event]], milestone: str, until: datetime.date) -> list[Day]:
    """Returns one entry a day, from the first issue on: each day is the state that the events up to its end make."""
    changes: dict[str, list[tuple[str, str]]] = {}
    first = ""
    for number, events in enumerate(histories):
        for day, state in _trace_issue(events, milestone):
            changes.setdefault(day, []).append((str(number), state))
            first = min(first or day, day)
    if not first:
        return []
    found: list[Day] = []
    now: dict[str, str] = {}
    at = max(datetime.date.fromisoformat(first), until - datetime.timedelta(days=_LONGEST))
    for day in sorted(day for day in changes if day < at.isoformat()):
        now.update(changes[day])
    while at <= until:
        now.update(changes.get(at.isoformat(), ()))
        states = list(now.values())
        found.append(Day(at.isoformat(), states.count("open"), states.count("closed")))
        at += datetime.timedelta(days=1)
    return found


def _trace_issue(events: Sequence[Event], milestone: str) -> list[tuple[str, str]]:
    """Returns the days on which this issue may have changed for the milestone, and what it was at their ends."""
    telling = sorted(
        {
            event.ts[:10]
            for event in events
            if is_day(event.ts[:10])
            and (isinstance(event, Created) or (isinstance(event, Set) and event.f in _TELLING))
        }
    )
    story: list[tuple[str, str]] = []
    for day in telling:
        entity = fold([event for event in events if event.ts[:10] <= day])
        counted = entity is not None and entity.kind == "issue" and entity.milestone == milestone and not entity.deleted
        state = "" if not counted or entity is None else "closed" if entity.status == "closed" else "open"
        story.append((day, state))
    return story if any(state for _, state in story) else []
