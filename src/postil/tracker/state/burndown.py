"""How the issues of a milestone came and went, day by day, from the events alone. Pure: events in, numbers out."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence
from operator import itemgetter

import msgspec

from postil.tracker.events import Created, Event, Set
from postil.tracker.state.causality import Causality
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
    """Returns the days on which this issue may have changed for the milestone, and what it was at their ends.

    In one pass: of the events up to a day, the last in the order of all decides.
    """
    writes: list[tuple[str, int, str, str | None]] = []
    kinds: list[str] = []
    for place, event in enumerate(Causality(events).order):
        day = event.ts[:10]
        if isinstance(event, Created):
            kinds.append(event.kind)
            made = {"status": event.status, "milestone": event.milestone, "created": ""}
            writes += [(day, place, field, value) for field, value in made.items()]
        elif isinstance(event, Set) and event.f in _TELLING:
            writes.append((day, place, event.f, event.value))
    if len(set(kinds)) > 1:  # made more than once, by a forger: the fold says which counts
        entity = fold(events)
        kinds = [entity.kind] if entity else []
    if kinds[:1] != ["issue"]:
        return []
    now: dict[str, tuple[int, str | None]] = {}
    story: dict[str, str] = {}
    for day, place, field, value in sorted(writes, key=itemgetter(0)):
        if place >= now.get(field, (0, None))[0]:
            now[field] = place, value
        if is_day(day):
            story[day] = _describe(now, milestone)
    return list(story.items()) if any(story.values()) else []


def _describe(now: dict[str, tuple[int, str | None]], milestone: str) -> str:
    """Returns what the issue is for the milestone: open, closed or nothing."""
    known = {field: value for field, (_, value) in now.items()}
    if "created" not in known or known.get("milestone") != milestone or known.get("deleted") == "true":
        return ""
    return "closed" if known["status"] == "closed" else "open"
