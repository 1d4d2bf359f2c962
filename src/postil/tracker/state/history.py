"""The history of an entity in words: one line an event, as `log` and `entity-debug` show it."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from postil.core import call
from postil.core.answer import Answer
from postil.tracker import events as ev
from postil.tracker.text import align, cut_excerpt, flatten, round_to_second


class HistoryLine(Struct, frozen=True, kw_only=True):
    """One event of an entity."""

    id: str
    type: str
    author: str
    ts: str
    clock: str
    what: str


class History(Answer, frozen=True, kw_only=True):
    """All events of an entity, in their order."""

    id: str
    events: list[HistoryLine]

    def for_person(self) -> str:
        """One line an event."""
        told = call.current().tell_moment
        return align(
            [
                [told(e.ts, round_to_second(e.ts)), flatten(e.author.partition(" <")[0]), flatten(e.type), e.what]
                for e in self.events
            ]
        )


def describe_history(id_: str, events: Sequence[ev.Event]) -> History:
    """Returns the history of an entity."""
    return History(
        id=id_,
        events=[
            HistoryLine(
                id=event.id,
                type=ev.kind_of(event),
                author=event.a,
                ts=event.ts,
                clock=f"{event.l}@{event.r}",
                what=describe_event(event),
            )
            for event in events
        ],
    )


def describe_event(event: ev.Event) -> str:
    """Returns what an event did, in words; then the note of its writer, if there is one."""
    match event:
        case ev.Created():
            given = [f"“{event.title}”", *(f"+{label}" for label in event.labels)]
            given += [f"for {name}" for name in event.assignees] + ([f"due {event.due}"] if event.due else [])
            given += [f"milestone {event.milestone[:8]}"] if event.milestone else []
            told = f"{event.kind} {event.status}: {' '.join(given)}"
        case ev.Set():
            told = f"{event.f} → {event.value if event.value is not None else 'none'}"
        case ev.Described():
            told = event.text or "(empty)"
        case ev.Labelled() | ev.Assigned():
            told = " ".join([*(f"+{name}" for name in event.add), *(f"-{name}" for name in event.rm)])
        case ev.Linked():
            told = " ".join(f"{sign}{type_} {target[:8]}" for sign, type_, target in _list_edges(event))
        case ev.Commented() | ev.CommentEdited():
            told = f"{event.c}: {event.body}"
        case ev.CommentDeleted():
            told = event.c
        case ev.Claimed():
            told = f"{event.who} until {round_to_second(event.until)}"
        case ev.Released():
            told = event.who
        case _:
            told = _describe_unknown(event) if isinstance(event, ev.Unknown) else ""
    note = "" if isinstance(event, ev.Unknown) else event.m
    return flatten(cut_excerpt(told) + (f" — {cut_excerpt(note)}" if note else ""))


def _list_edges(event: ev.Linked) -> list[tuple[str, str, str]]:
    return [("+", *edge) for edge in event.add] + [("-", *edge) for edge in event.rm]


def _describe_unknown(event: ev.Unknown) -> str:
    if event.v > ev.VERSION:
        return f"(of version {event.v}; this one knows {ev.VERSION})"
    return "(of a kind that this version does not know)"
