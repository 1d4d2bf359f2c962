"""From a set of events to the state: a pure function, so that everyone who has the same events sees the same thing.

Scalars: the last write in the order (clock, replica, number) wins; a write that neither won nor was known to the
winner is shown as a conflict. Labels, assignees and links: a removal removes what its writer had seen, so a
concurrent addition stays. Comments: by id, the last edit wins, a deletion is final. Descriptions: concurrent texts
are merged three ways. Claims: the first in the order wins as long as it holds. What is stored where is `log/`'s
and `index/`'s business.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from operator import attrgetter
from typing import TypeVar

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
)
from postil.tracker.model import Claim, Comment, Conflict, Entity, LabelEvent, Link, Stamp
from postil.tracker.state.text_merge import merge_texts

_order = attrgetter("l", "r", "n", "id")

Write = tuple[Event, str | None]
K = TypeVar("K")


class Causality:
    """Which event knew of which: an event knows its writer's earlier ones and what its `dep` names."""

    def __init__(self, events: Iterable[Event]) -> None:
        self._copies: dict[str, list[Event]] = {}
        for event in events:
            self._copies.setdefault(event.id, []).append(event)

    def in_order(self) -> list[Event]:
        """Returns each event once. Of copies (a log absorbed, or imported twice) the first in the order counts."""
        return sorted((min(copies, key=_order) for copies in self._copies.values()), key=_order)

    def knows(self, later: Event, earlier: Event) -> bool:
        """Returns whether the writer of `later` had seen `earlier`."""
        for one in self._copies[later.id]:
            for other in self._copies[earlier.id]:
                if one.r == other.r and one.n > other.n:
                    return True
                if one.dep is not None and one.dep.get(other.r, 0) >= other.n:
                    return True
        return False

    def heads(self, writes: Sequence[Write]) -> list[Write]:
        """Returns the writes that no other of them knew, in order; the last is the one that holds."""
        if all(self.knows(after[0], before[0]) for before, after in pairwise(writes)):
            return list(writes[-1:])
        return [
            write
            for write in writes
            if not any(other is not write and self.knows(other[0], write[0]) for other in writes)
        ]


def fold(events: Sequence[Event]) -> Entity | None:
    """Returns the entity that these events make; None when none of them creates it."""
    seen = Causality(events)
    ordered = seen.in_order()
    writes: dict[str, list[Write]] = {}
    labels: dict[str, list[Event]] = {}
    assignees: dict[str, list[Event]] = {}
    links: dict[tuple[str, str], list[Event]] = {}
    comments: dict[str, Commented] = {}
    edits: dict[str, list[Write]] = {}
    gone: set[str] = set()
    label_events: list[LabelEvent] = []
    claim: Claim | None = None
    lost: list[Claim] = []
    created: Created | None = None
    for event in ordered:
        if isinstance(event, Created):
            created = created or event
            for field, value in (
                ("title", event.title),
                ("status", event.status),
                ("milestone", event.milestone),
                ("due", event.due),
                ("description", event.description),
            ):
                writes.setdefault(field, []).append((event, value))
            for label in event.labels:
                labels.setdefault(label, []).append(event)
            for name in event.assignees:
                assignees.setdefault(name, []).append(event)
        elif isinstance(event, Set):
            writes.setdefault(event.f, []).append((event, event.value))
        elif isinstance(event, Described):
            writes.setdefault("description", []).append((event, event.text))
        elif isinstance(event, Labelled):
            _update_members(seen, labels, event, event.add, event.rm)
            label_events += [LabelEvent("remove", label, event.a, event.ts) for label in event.rm]
            label_events += [LabelEvent("add", label, event.a, event.ts) for label in event.add]
        elif isinstance(event, Assigned):
            _update_members(seen, assignees, event, event.add, event.rm)
        elif isinstance(event, Linked):
            _update_members(seen, links, event, event.add, event.rm)
        elif isinstance(event, Commented):
            comments.setdefault(event.c, event)
        elif isinstance(event, CommentEdited):
            edits.setdefault(event.c, []).append((event, event.body))
        elif isinstance(event, CommentDeleted):
            gone.add(event.c)
        elif isinstance(event, Claimed):
            mine = Claim(event.who, event.until, event.id)
            if claim is None or claim.who == event.who or claim.until <= event.ts:
                claim = mine
            else:
                lost.append(mine)
        elif isinstance(event, Released) and claim is not None and event.who in ("", claim.who):
            claim = None
    if created is None:
        return None
    conflicts: list[Conflict] = []
    values: dict[str, str | None] = {}
    for field, candidates in writes.items():
        heads = seen.heads(candidates)
        values[field] = heads[-1][1]
        if len(heads) > 1:
            text, losers = _resolve_heads(seen, field, candidates, heads)
            values[field] = text
            conflicts += [Conflict(field, value, event.a, event.ts, event.id) for event, value in losers]
    status_write = writes["status"][-1][0]
    last = ordered[-1]
    return Entity(
        id=created.ent,
        kind=created.kind,
        title=values.pop("title") or "",
        status=(status := values.pop("status") or "open"),
        description=values.pop("description") or "",
        labels=tuple(sorted(label for label, adds in labels.items() if adds)),
        assignees=tuple(sorted(name for name, adds in assignees.items() if adds)),
        milestone=values.pop("milestone"),
        due=values.pop("due"),
        links=tuple(
            Link(type_, target, (adds[0].l, adds[0].r, adds[0].n))
            for (type_, target), adds in sorted(links.items())
            if adds
        ),
        comments=tuple(_fold_comment(event, edits.get(c)) for c, event in comments.items() if c not in gone),
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


def _update_members(
    seen: Causality, members: dict[K, list[Event]], event: Event, add: Sequence[K], rm: Sequence[K]
) -> None:
    for member in rm:
        members[member] = [one for one in members.get(member, ()) if not seen.knows(event, one)]
    for member in add:
        members.setdefault(member, []).append(event)


def _fold_comment(event: Commented, edits: list[Write] | None) -> Comment:
    if not edits:
        return Comment(event.c, event.a, event.body, event.ts)
    last, body = edits[-1]
    return Comment(event.c, event.a, body or "", event.ts, last.ts)


def _resolve_heads(
    seen: Causality, field: str, candidates: Sequence[Write], heads: Sequence[Write]
) -> tuple[str | None, list[Write]]:
    """Returns the value of a field with several heads, and the writes that lost."""
    if field != "description":
        winner = heads[-1][1]
        return winner, [write for write in heads[:-1] if write[1] != winner]
    text = heads[0][1] or ""
    losers: list[Write] = []
    merged: list[Write] = [heads[0]]
    for head in heads[1:]:
        common = [write for write in candidates if all(seen.knows(one[0], write[0]) for one in (*merged, head))]
        base = (common[-1][1] if common else "") or ""
        both = merge_texts(base, head[1] or "", text)
        if both is None:
            losers += [write for write in merged if write[1] != head[1]]
            text = head[1] or ""
        else:
            text = both
        merged.append(head)
    return text, losers
