"""From a set of events to the state: a pure function, so that everyone who has the same events sees the same thing.

In the order of `causality.py`. Scalars: the last write wins; a write that neither won nor was known to the winner is
shown as a conflict. Labels, assignees and links: a removal removes what its writer had seen, so a concurrent addition
stays. Comments: by id, the last edit wins, a deletion is final. Descriptions: concurrent texts are merged three ways.
Claims: the first wins as long as it holds, a month at most; closing ends it. What is stored where is `log/`'s and
`index/`'s business. Linear in the events, whatever they are and however many contradict each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from postil.tracker.events import (
    Assigned,
    Claimed,
    CommentDeleted,
    Commented,
    CommentEdited,
    Created,
    Described,
    Event,
    Labelled,
    Linked,
    Released,
    Set,
    decode_lines,
    decode_stream,
)
from postil.tracker.model import Claim, Comment, Conflict, Entity, LabelEvent, Link, Stamp
from postil.tracker.state.causality import Causality, Write
from postil.tracker.state.members import Members
from postil.tracker.state.text_merge import resolve_texts
from postil.tracker.text import bound_claim, paused_collection

_MANY = 1 << 20
"""Bytes of events from which on Python's search for cycles costs more than the fold."""


def fold_lines(lines: bytes) -> Entity | None:
    """Returns the entity that stored lines make."""
    if len(lines) < _MANY:
        return fold(decode_lines(lines))
    with paused_collection():
        return fold(decode_stream(lines))


def fold(events: Iterable[Event]) -> Entity | None:
    """Returns the entity that these events make; None when none of them creates it."""
    seen = Causality(events)
    writes: dict[str, list[Write]] = {}
    labels: Members[str] = Members(seen)
    assignees: Members[str] = Members(seen)
    links: Members[tuple[str, str]] = Members(seen)
    comments: dict[str, Commented] = {}
    edits: dict[str, list[Write]] = {}
    gone: set[str] = set()
    label_events: list[LabelEvent] = []
    claim: Claim | None = None
    lost: list[Claim] = []
    creations: list[Created] = []
    for event in seen.order:
        if isinstance(event, Created):
            creations.append(event)
            for field, value in (
                ("title", event.title),
                ("status", event.status),
                ("milestone", event.milestone),
                ("due", event.due),
                ("description", event.description),
            ):
                writes.setdefault(field, []).append((event, value))
            labels.update(event, event.labels)
            assignees.update(event, event.assignees)
        elif isinstance(event, Set):
            writes.setdefault(event.f, []).append((event, event.value))
            if event.f == "status" and event.value == "closed":
                claim = None
        elif isinstance(event, Described):
            writes.setdefault("description", []).append((event, event.text))
        elif isinstance(event, Labelled):
            labels.update(event, event.add, event.rm)
            label_events += [LabelEvent("remove", label, event.a, event.ts) for label in event.rm]
            label_events += [LabelEvent("add", label, event.a, event.ts) for label in event.add]
        elif isinstance(event, Assigned):
            assignees.update(event, event.add, event.rm)
        elif isinstance(event, Linked):
            links.update(event, event.add, event.rm)
        elif isinstance(event, Commented):
            first = comments.setdefault(event.c, event)
            if first is not event and first.body != event.body:
                comments.setdefault(event.id, event)  # nobody replaces a comment by writing another with its id
        elif isinstance(event, CommentEdited):
            edits.setdefault(event.c, []).append((event, event.body))
        elif isinstance(event, CommentDeleted):
            gone.add(event.c)
        elif isinstance(event, Claimed):
            mine = Claim(event.who, bound_claim(event.ts, event.until), event.id, event.by)
            if claim is None or (claim.who, claim.by) == (event.who, event.by) or claim.until <= event.ts:
                claim = mine
            else:
                lost.append(mine)
        elif isinstance(event, Released) and claim is not None and event.who in ("", claim.who):
            claim = None
    if not creations:
        return None
    created = creations[0] if len(creations) == 1 else _choose_creation(seen, creations)
    conflicts: list[Conflict] = []
    values: dict[str, str | None] = {}
    for field, candidates in writes.items():
        heads = seen.heads(candidates)
        values[field] = heads[-1][1]
        if len(heads) > 1:
            losers = heads[:-1]
            if field == "description":
                values[field], losers = resolve_texts(seen, candidates, heads)
            conflicts += [
                Conflict(field, value, event.a, event.ts, event.id) for event, value in losers if value != values[field]
            ]
    status_write = writes["status"][-1][0]
    last = seen.order[-1]
    return Entity(
        id=created.ent,
        kind=created.kind,
        title=values.pop("title") or "",
        status=(status := values.pop("status") or "open"),
        description=values.pop("description") or "",
        labels=tuple(sorted(labels)),
        assignees=tuple(sorted(assignees)),
        milestone=values.pop("milestone"),
        due=values.pop("due"),
        links=tuple(Link(*edge, (made.l, made.r, made.n)) for edge in sorted(links) for made in [links.first(edge)]),
        comments=tuple(_fold_comment(c, event, edits.get(c)) for c, event in comments.items() if c not in gone),
        claim=claim,
        lost_claims=tuple(lost),
        deleted=values.pop("deleted", None) == "true",
        fields={key: value for key, value in sorted(values.items()) if value is not None},
        conflicts=tuple(sorted(conflicts, key=lambda c: (c.field, c.event))),
        author=created.a,
        created=Stamp(created.l, created.r),
        created_ts=created.ts,
        updated=Stamp(last.l, last.r),
        updated_ts=last.ts,
        label_events=tuple(label_events),
        origin=created.origin,
        closed_ts=status_write.ts if status == "closed" else None,
    )


def _choose_creation(seen: Causality, creations: Sequence[Created]) -> Created:
    """Returns the creation that most writers began from; only a forger, or two imports, create a thing twice."""
    counts = seen.count_first_knowing(creations)
    return creations[max(range(len(creations)), key=lambda at: (counts[at], -at))]


def _fold_comment(id_: str, event: Commented, edits: list[Write] | None) -> Comment:
    if not edits:
        return Comment(id_, event.a, event.body, event.ts)
    last, body = edits[-1]
    return Comment(id_, event.a, body or "", event.ts, last.ts)
