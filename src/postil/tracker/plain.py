"""The row of an entity that only one writer ever touched, without making its whole state: most entities.

Most of the time.

A shortcut of `merge.fold` and `schema.row_of` for building the index from nothing; a test holds the two to the same
answer. Anything unusual (several writers, copies, claims, links, deletions) is left to them.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

from postil.tracker.events import Assigned, Commented, CommentEdited, Created, Described, Event, Labelled, Set
from postil.tracker.schema import SqlRow

_number = attrgetter("n")


def plain_row(n: int, events: Sequence[Event]) -> tuple[SqlRow, list[str], list[str]] | None:
    """The row, the labels and the assignees; None when the entity is not that plain."""
    if len(events) > 1:
        events = sorted(events, key=_number)
    first = events[0]
    if type(first) is not Created:
        return None
    replica, number, clock = first.r, first.n, first.l
    title, status, milestone, due = first.title, first.status, first.milestone, first.due
    labels, assignees = dict.fromkeys(first.labels), dict.fromkeys(first.assignees)
    comments: set[str] = set()
    last: Event = first
    for event in events[1:]:
        if event.r != replica or event.n == number or event.l <= clock:
            return None
        number, clock, last = event.n, event.l, event
        if isinstance(event, Commented):
            comments.add(event.c)
        elif isinstance(event, Set):
            field, value = event.f, event.value
            if field == "status":
                status = value or "open"
            elif field == "title":
                title = value or ""
            elif field == "milestone":
                milestone = value
            elif field == "due":
                due = value
            elif field == "deleted":
                return None
        elif isinstance(event, Labelled):
            for label in event.rm:
                labels.pop(label, None)
            for label in event.add:
                labels[label] = None
        elif isinstance(event, Assigned):
            for name in event.rm:
                assignees.pop(name, None)
            for name in event.add:
                assignees[name] = None
        elif not isinstance(event, (Described, CommentEdited)):
            return None
    names = sorted(labels)
    row = (
        n,
        first.ent,
        first.kind,
        title,
        status,
        "\n".join(names),
        milestone or "",
        first.a,
        first.l,
        replica,
        first.ts,
        clock,
        replica,
        last.ts,
        len(comments),
        due or "",
        "",
        "",
        0,
    )
    return row, names, sorted(assignees)
