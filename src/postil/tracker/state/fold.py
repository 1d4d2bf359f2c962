"""From a set of events to the state: a pure function, so that everyone who has the same events sees the same thing.

In the order of `causality.py`. Scalars: the last write wins; a write that neither won nor was known to the winner is
shown as a conflict. Labels, assignees and links: a removal removes what its writer had seen, so a concurrent addition
stays. Comments: by id, the last edit wins, a deletion is final. Descriptions: concurrent texts are merged three ways.
Claims: the first wins as long as it holds, a month at most; closing ends it. What is stored where is `log/`'s and
`index/`'s business. Linear in the events, whatever they are and however many contradict each other; very
many are not held, and what they make is read again when somebody looks at it (`large_history.py`).
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, MutableSequence, Sequence
from typing import TYPE_CHECKING

from postil.tracker.events import (
    LARGE,
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
    is_entity_id,
)
from postil.tracker.model import Claim, Comment, Conflict, Entity, LabelEvent, Link, Stamp
from postil.tracker.state.causality import Causality, History, Replica, find_heads
from postil.tracker.state.members import Members
from postil.tracker.state.text_merge import resolve_texts
from postil.tracker.text import bound_claim, paused_collection

if TYPE_CHECKING:
    from postil.tracker.state.large_history import StoredLines

_CREATED = ("title", "status", "milestone", "due", "description")
"""The fields that a creation writes."""


def fold_lines(lines: StoredLines) -> Entity | None:
    """Returns the entity that stored lines make."""
    if len(lines) < LARGE:
        return fold(decode_lines(lines[:]))
    from postil.tracker.state.large_history import LargeHistory, Tangled  # hardly an entity is so large

    with paused_collection():  # among millions of objects that form no cycles
        try:
            return _fold(LargeHistory(lines))
        except Tangled:
            return fold(decode_lines(lines[:]))


def fold(events: Iterable[Event]) -> Entity | None:
    """Returns the entity that these events make; None when none of them creates it."""
    return _fold(Causality(events))


def _fold(seen: History[Replica]) -> Entity | None:
    writes: dict[str, MutableSequence[int]] = defaultdict(seen.make_refs)
    labels: Members[str, Replica] = Members(seen)
    assignees: Members[str, Replica] = Members(seen)
    links: Members[tuple[str, str], Replica] = Members(seen)
    comments = _Comments(seen)
    labelled, label_ends = seen.make_refs(), seen.make_refs()
    """The events that changed labels, and how many changes there are with each."""
    claim: Claim | None = None
    lost, creations = seen.make_refs(), seen.make_refs()
    ref = -1
    for ref, event in enumerate(seen.stream()):
        if isinstance(event, Created):
            creations.append(ref)
            for field in _CREATED:
                writes[field].append(ref)
            labels.update(ref, event.labels)
            assignees.update(ref, event.assignees)
        elif isinstance(event, Set):
            writes[event.f].append(ref)
            if event.f == "status" and event.value == "closed":
                claim = None
        elif isinstance(event, Described):
            writes["description"].append(ref)
        elif isinstance(event, Labelled):
            labels.update(ref, event.add, event.rm)
            labelled.append(ref)
            label_ends.append((label_ends[-1] if label_ends else 0) + len(event.rm) + len(event.add))
        elif isinstance(event, Assigned):
            assignees.update(ref, event.add, event.rm)
        elif isinstance(event, Linked):
            links.update(ref, event.add, event.rm)
        elif isinstance(event, (Commented, CommentEdited, CommentDeleted)):
            comments.update(ref, event)
        elif isinstance(event, Claimed):
            if claim is None or (claim.who, claim.by) == (event.who, event.by) or claim.until <= event.ts:
                claim = _make_claim(event)
            else:
                lost.append(ref)
        elif isinstance(event, Released) and claim is not None and event.who in ("", claim.who):
            claim = None
    if not creations:
        return None
    created = seen.read(creations[0] if len(creations) == 1 else _choose_creation(seen, creations))
    assert isinstance(created, Created)
    if not is_entity_id(created.ent):
        return None
    values, conflicts = _decide(seen, writes)
    status_write = seen.read(writes["status"][-1])
    last = seen.read(ref)
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
        links=tuple(
            Link(*edge, (made.l, made.r, made.n)) for edge in sorted(links) for made in [seen.read(links.first(edge))]
        ),
        comments=comments.make(),
        claim=claim,
        lost_claims=seen.gather(len(lost), lambda at: _make_claim(seen.read(lost[at]))),
        deleted=values.pop("deleted", None) == "true",
        fields={key: value for key, value in sorted(values.items()) if value is not None},
        conflicts=conflicts,
        author=created.a,
        created=Stamp(created.l, created.r),
        created_ts=created.ts,
        updated=Stamp(last.l, last.r),
        updated_ts=last.ts,
        label_events=seen.gather(
            label_ends[-1] if label_ends else 0, lambda at: _make_label_event(seen, labelled, label_ends, at)
        ),
        origin=created.origin,
        closed_ts=status_write.ts if status == "closed" else None,
    )


def _decide(
    seen: History[Replica], writes: dict[str, MutableSequence[int]]
) -> tuple[dict[str, str | None], Sequence[Conflict]]:
    """Returns the value of each field, and the values that lost against it without being known to it."""
    values: dict[str, str | None] = {}
    lost: dict[str, Sequence[int]] = {}
    for candidates, fields in _group_fields(writes):
        heads = find_heads(seen, candidates) if len(candidates) > 1 else candidates
        last = seen.read(heads[-1])
        values.update((field, _read_value(last, field)) for field in fields)
        if len(heads) > 1:
            if "description" in fields:
                fields.remove("description")
                values["description"], losers = resolve_texts(seen, candidates, heads, _read_text)
                lost |= _sort_by_id(seen, losers, ["description"], values)
            lost |= _sort_by_id(seen, heads[:-1], fields, values)
    refs, fields, ends = seen.make_refs(), sorted(lost), [0]
    for field in fields:
        refs.extend(lost[field])
        ends.append(len(refs))

    def make(at: int) -> Conflict:
        field, event = fields[bisect_right(ends, at) - 1], seen.read(refs[at])
        return Conflict(field, _read_value(event, field), event.a, event.ts, event.id)

    return values, seen.gather(len(refs), make)


def _group_fields(writes: dict[str, MutableSequence[int]]) -> list[tuple[MutableSequence[int], list[str]]]:
    """Returns the writes and the fields that have just these: a creation writes five of them."""
    groups: list[tuple[MutableSequence[int], list[str]]] = []
    for field in _CREATED:
        own = writes[field]
        same = next((fields for other, fields in groups if len(other) == len(own) and other == own), None)
        if same is None:
            groups.append((own, [field]))
        else:
            same.append(field)
    return groups + [(own, [field]) for field, own in writes.items() if field not in _CREATED]


def _sort_by_id(
    seen: History[Replica], refs: Sequence[int], fields: Sequence[str], held: dict[str, str | None]
) -> dict[str, Sequence[int]]:
    """Returns by field those of some events that wrote another value, by their ids."""
    other, ids, which = seen.make_refs(), list[str](), bytearray()
    for ref, event in zip(refs, seen.read_many(refs), strict=True) if fields else ():
        differing = sum(1 << at for at, field in enumerate(fields) if _read_value(event, field) != held[field])
        if differing:
            other.append(ref)
            ids.append(event.id)
            which.append(differing)
    order = sorted(range(len(ids)), key=ids.__getitem__)
    found: dict[str, Sequence[int]] = {}
    for at, field in enumerate(fields):
        own = seen.make_refs()
        own.extend(other[one] for one in order if which[one] >> at & 1)
        found[field] = own
    return found


def _read_value(event: Event, field: str) -> str | None:
    """Returns what an event made of a field."""
    if isinstance(event, Set):
        return event.value
    if isinstance(event, Described):
        return event.text
    value: str | None = getattr(event, field)
    return value


def _read_text(event: Event) -> str:
    return _read_value(event, "description") or ""


def _make_label_event(seen: History[Replica], labelled: Sequence[int], ends: Sequence[int], at: int) -> LabelEvent:
    """Returns one of the changes that events made: of each, removals first."""
    which = bisect_right(ends, at)
    event, place = seen.read(labelled[which]), at - (ends[which - 1] if which else 0)
    assert isinstance(event, Labelled)
    if place < len(event.rm):
        return LabelEvent("remove", event.rm[place], event.a, event.ts)
    return LabelEvent("add", event.add[place - len(event.rm)], event.a, event.ts)


def _make_claim(event: Event) -> Claim:
    assert isinstance(event, Claimed)
    return Claim(event.who, bound_claim(event.ts, event.until), event.id, event.by)


def _choose_creation(seen: History[Replica], creations: Sequence[int]) -> int:
    """Returns the creation that most writers began from; only a forger, or two imports, create a thing twice."""
    counts = seen.count_first_knowing(creations)
    return creations[max(range(len(creations)), key=lambda at: (counts[at], -at))]


class _Comments:
    """The comments so far: by id, the last edit wins, a deletion is final."""

    def __init__(self, seen: History[Replica]) -> None:
        self._seen = seen
        self._first: dict[str, int] = {}
        self._renamed: set[int] = set()
        """Comments that go by the id of their event, because another has theirs."""
        self._edits: dict[str, int] = {}
        self._gone: set[str] = set()

    def update(self, ref: int, event: Commented | CommentEdited | CommentDeleted) -> None:
        """Take in one event; they must come in their order."""
        if isinstance(event, CommentEdited):
            self._edits[event.c] = ref
        elif isinstance(event, CommentDeleted):
            self._gone.add(event.c)
        else:
            first = self._first.setdefault(event.c, ref)
            replaced = first != ref and _read_body(self._seen.read(first)) != event.body
            if replaced and self._first.setdefault(event.id, ref) == ref:
                self._renamed.add(ref)  # nobody replaces a comment by writing another with its id

    def make(self) -> Sequence[Comment]:
        """Returns the comments."""
        seen, renamed = self._seen, self._renamed
        refs = seen.make_refs()
        edits: dict[int, int] = {}
        for id_, ref in self._first.items():
            if id_ not in self._gone:
                refs.append(ref)
                if id_ in self._edits:
                    edits[ref] = self._edits[id_]

        def make(at: int) -> Comment:
            ref = refs[at]
            event = seen.read(ref)
            assert isinstance(event, Commented)
            id_ = event.id if ref in renamed else event.c
            if ref not in edits:
                return Comment(id_, event.a, event.body, event.ts)
            last = seen.read(edits[ref])
            return Comment(id_, event.a, _read_body(last), event.ts, last.ts)

        return seen.gather(len(refs), make)


def _read_body(event: Event) -> str:
    assert isinstance(event, (Commented, CommentEdited))
    return event.body
