"""What the fold means, said as simply as possible: every event compared with every other one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from postil.tracker import events as ev
from postil.tracker.events import Event
from postil.tracker.model import Claim, Comment, Conflict, Entity, LabelEvent, Link, Stamp
from postil.tracker.state.causality import Causality
from postil.tracker.state.text_merge import merge_texts
from postil.tracker.text import bound_claim

Member = str | tuple[str, str]
Write = tuple[int, str | None]


def fold_simply(events: Sequence[Event]) -> Entity | None:
    """The entity of these events; they are in conflict as often as they like, but few."""
    seen = Causality(events)
    order = seen.order

    def knew(later: int, earlier: int) -> bool:
        known = list(seen.knowledge(later))
        return any(r == replica and n <= upto for r, n in seen.places(earlier) for replica, upto in known)

    writes: dict[str, list[Write]] = {}
    sets: dict[str, list[tuple[int, Member, bool]]] = {"label": [], "assignee": [], "link": []}
    said: dict[str, tuple[int, str]] = {}
    edits: dict[str, int] = {}
    gone: set[str] = set()
    label_events: list[LabelEvent] = []
    claim, lost = None, list[Claim]()
    for at, event in enumerate(order):
        match event:
            case ev.Created():
                for field in ("title", "status", "milestone", "due", "description"):
                    writes.setdefault(field, []).append((at, getattr(event, field)))
                sets["label"] += [(at, name, True) for name in event.labels]
                sets["assignee"] += [(at, name, True) for name in event.assignees]
            case ev.Set():
                writes.setdefault(event.f, []).append((at, event.value))
                claim = None if (event.f, event.value) == ("status", "closed") else claim
            case ev.Described():
                writes.setdefault("description", []).append((at, event.text))
            case ev.Labelled() | ev.Assigned() | ev.Linked():
                kind = {ev.Labelled: "label", ev.Assigned: "assignee", ev.Linked: "link"}[type(event)]
                sets[kind] += [(at, one, False) for one in event.rm] + [(at, one, True) for one in event.add]
                if isinstance(event, ev.Labelled):
                    label_events += [LabelEvent("remove", one, event.a, event.ts) for one in event.rm]
                    label_events += [LabelEvent("add", one, event.a, event.ts) for one in event.add]
            case ev.Commented():
                at_first, body = said.setdefault(event.c, (at, event.body))
                if at_first != at and body != event.body:
                    said.setdefault(event.id, (at, event.body))
            case ev.CommentEdited():
                edits[event.c] = at
            case ev.CommentDeleted():
                gone.add(event.c)
            case ev.Claimed():
                mine = Claim(event.who, bound_claim(event.ts, event.until), event.id, event.by)
                if claim is None or (claim.who, claim.by) == (event.who, event.by) or claim.until <= event.ts:
                    claim = mine
                else:
                    lost.append(mine)
            case ev.Released() if claim is not None and event.who in ("", claim.who):
                claim = None
            case _:
                pass
    creations = [at for at, event in enumerate(order) if isinstance(event, ev.Created)]
    if not creations:
        return None
    created = order[_most_began_from(order, creations)]
    assert isinstance(created, ev.Created)
    values: dict[str, str | None] = {}
    conflicts: list[Conflict] = []
    for field, candidates in writes.items():
        heads = [one for one in candidates if not any(knew(two[0], one[0]) for two in candidates if two[0] > one[0])]
        values[field], losers = heads[-1][1], heads[:-1]
        if field == "description" and losers:
            values[field], losers = _merged(candidates, heads, knew)
        conflicts += [
            Conflict(field, value, order[at].a, order[at].ts, order[at].id)
            for at, value in losers
            if value != values[field]
        ]
    members = {kind: _members(changes, knew) for kind, changes in sets.items()}
    closing, last = order[writes["status"][-1][0]], order[-1]
    comments: list[Comment] = []
    for id_, (at, body) in said.items():
        if id_ not in gone:
            edit = order[edits[id_]] if id_ in edits else None
            told = edit.body if isinstance(edit, ev.CommentEdited) else body
            comments.append(Comment(id_, order[at].a, told, order[at].ts, edit.ts if edit else None))
    links: list[Link] = []
    for edge in sorted(members["link"], key=str):
        made = order[members["link"][edge]]
        links.append(Link(edge[0], edge[1], (made.l, made.r, made.n)))
    fields = {key: value for key, value in sorted(values.items()) if value is not None}
    status = values["status"] or "open"
    return Entity(
        id=created.ent,
        kind=created.kind,
        title=values["title"] or "",
        status=status,
        description=values["description"] or "",
        labels=tuple(sorted(map(str, members["label"]))),
        assignees=tuple(sorted(map(str, members["assignee"]))),
        milestone=values["milestone"],
        due=values["due"],
        links=tuple(links),
        comments=tuple(comments),
        claim=claim,
        lost_claims=tuple(lost),
        fields={
            key: value
            for key, value in fields.items()
            if key not in ("title", "status", "milestone", "due", "description", "deleted")
        },
        conflicts=tuple(sorted(conflicts, key=lambda one: (one.field, one.event))),
        deleted=values.get("deleted") == "true",
        author=created.a,
        created=Stamp(created.l, created.r),
        created_ts=created.ts,
        updated=Stamp(last.l, last.r),
        updated_ts=last.ts,
        label_events=tuple(label_events),
        origin=created.origin,
        closed_ts=closing.ts if status == "closed" else None,
    )


def _members(changes: list[tuple[int, Member, bool]], knew: Callable[[int, int], bool]) -> dict[Member, int]:
    """Each member that an addition keeps in which no later removal knew, with the first such addition."""
    found: dict[Member, int] = {}
    for place, (at, member, added) in enumerate(changes):
        removals = [then for then, other, kept in changes[place + 1 :] if other == member and not kept]
        if added and not any(knew(then, at) for then in removals):
            found.setdefault(member, at)
    return found


def _merged(candidates: list[Write], heads: list[Write], knew: Callable[[int, int], bool]) -> tuple[str, list[Write]]:
    text, together, losers = heads[0][1] or "", [heads[0]], list[Write]()
    for number, head in enumerate(heads[1:], 2):
        common = [one for one in candidates if all(one[0] == two[0] or knew(two[0], one[0]) for two in heads[:number])]
        both = merge_texts((common[-1][1] if common else "") or "", head[1] or "", text)
        if both is None:
            losers, together = losers + together, []
        text = head[1] or "" if both is None else both
        together.append(head)
    return text, losers


def _most_began_from(order: Sequence[Event], creations: list[int]) -> int:
    firsts = {event.r: event for event in reversed(order)}.values()

    def count(at: int) -> int:
        made = order[at]
        return sum(
            number >= made.n
            for first in firsts
            for replica, number in ((first.r, first.n), *(first.dep or {}).items())
            if replica == made.r
        )

    return max(creations, key=lambda at: (count(at), -at))
