"""Everything works without this file: it builds an index sooner; `test_bulk_fold.py` keeps it equal to the fold.

The rows of entities grow while their events pass by, so that no event has to be held. That is right for entities whose
every event knew all that came before it: nearly all, when the events come in the order of their clocks. An entity whose
events do not form such a chain (concurrent edits, copies, another order) is marked as broken: the fold decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING

from postil.tracker.events import (
    MAX_CLOCK,
    Assigned,
    Claimed,
    CommentDeleted,
    Commented,
    Created,
    Event,
    Labelled,
    Linked,
    Released,
    Set,
    is_entity_id,
)
from postil.tracker.model import Claim
from postil.tracker.text import bound_claim, name_address
from postil.tracker.vocabulary import ADDRESS_FIELD, AT, LONGEST_NAME, NO_PRIORITY, rank_priority

if TYPE_CHECKING:
    from postil.tracker.index.tables import SqlRow

_MOST = 16384
"""Letters remembered of the ids of an entity's events and comments; beyond that the fold does it better."""
_END = slice(-6, None)
"""Letters remembered of each, the last: two that end alike, hardly ever without being one, are left to the fold."""
_MOST_CHANGES = 4096
"""Changes of labels remembered."""
_MOST_NAMES = 64
"""Labels, people or links of an entity: each change of them makes them anew."""

Names = tuple[str, ...]

_stamp: Callable[[Event], tuple[str, str, str, int, str]] = attrgetter("ent", "id", "r", "n", "ts")


class RareValues:
    """What most entities do not have."""

    __slots__ = ("assignees", "claim", "deleted", "due", "links", "milestone", "priority", "type")

    def __init__(self) -> None:
        self.assignees: Names = ()
        self.milestone: str | None = None
        self.due: str | None = None
        self.links: dict[tuple[str, str], tuple[int, str, int]] | None = None
        self.claim: Claim | None = None
        self.deleted = False
        self.priority, self.type = NO_PRIORITY, ""


NO_VALUES = RareValues()


class RowBuilder:
    """What one entity is after the events that came so far."""

    __slots__ = (
        "birth",
        "comments",
        "created_l",
        "created_ts",
        "ids",
        "l",
        "labels",
        "n",
        "other",
        "other_n",
        "places",
        "r",
        "rare",
        "seen",
        "status",
        "title",
        "ts",
    )
    places: str
    r: str
    n: int
    l: int  # noqa: E741 - as events have it
    ts: str
    ids: str
    other: str | None
    """The writer before, if there is one, and its last number."""
    other_n: int
    seen: dict[str, int] | None
    """The last number of each writer, once there are more than two."""
    birth: tuple[str, str, str]
    """Kind, author and writer of the first event."""
    created_l: int
    created_ts: str
    title: str
    status: str
    labels: Names
    comments: int
    rare: RareValues | None

    @property
    def broken(self) -> bool:
        """Whether it is left to the fold."""
        return self.l == MAX_CLOCK

    def saw_all(self, r: str, n: int, dep: dict[str, int] | None) -> bool:
        """Returns whether a writer who had seen `dep` had seen all that came before; its number is then the last."""
        if not dep:
            return False
        if self.seen is None and len(dep) == 1:  # mostly there are two
            if r == self.r:
                return n > self.n and dep.get(self.other or "") == self.other_n
            if self.other is None or (r == self.other and n > self.other_n):
                if dep.get(self.r) != self.n:
                    return False
                self.other, self.other_n, self.r = self.r, self.n, r
                return True
        return self._saw_several(r, n, dep)

    def _saw_several(self, r: str, n: int, dep: dict[str, int]) -> bool:
        seen = self.seen
        if seen is None:
            seen = self.seen = {self.r: self.n}
            if self.other is not None:
                seen[self.other] = self.other_n
        if n <= seen.get(r, 0) or r in dep:
            return False
        seen[r] = n
        self.other, self.r = self.r, r
        return {**dep, r: n} == seen  # else it lacks some, or names what is not here: not fetched yet, or a lie

    def give_up_on(self) -> None:
        """Leave it to the fold: no event follows any more."""
        self.l = MAX_CLOCK

    def set_rare(self) -> RareValues:
        """Returns what it has beside the usual, to be changed."""
        if self.rare is None:
            self.rare = RareValues()
        return self.rare

    def row(self, n: int, id_: str, labels: str) -> SqlRow:
        """As `tables.make_row` has it."""
        rare = self.rare or NO_VALUES
        claim = rare.claim
        kind, author, r = self.birth
        return (
            n,
            id_,
            kind,
            self.title,
            self.status,
            labels,
            rare.milestone or "",
            author,
            self.created_l,
            r,
            self.created_ts,
            self.l,
            self.r,
            self.ts,
            self.comments,
            rare.due or "",
            claim.who if claim else "",
            claim.until if claim else "",
            0,
            rare.priority,
            rare.type,
        )


class BulkFold:
    """All entities of a build."""

    def __init__(self) -> None:
        self.entities: dict[str, RowBuilder] = {}
        self.aims: list[tuple[str, str]] = []
        """(milestone, entity) wherever an event named a milestone."""
        self.origins: list[tuple[str, str]] = []
        """(id or address at another tracker, entity) wherever an event named one."""
        # A few writers, authors and sets of labels are those of very many entities: held once.
        self._shared: dict[str, str] = {}
        self._births: dict[tuple[str, str, str], tuple[str, str, str]] = {}
        self._same: dict[Names, Names] = {}
        self._changes: dict[tuple[Names, Names, Names], Names] = {}

    def take(self, events: Iterable[tuple[int, Event, str]]) -> None:
        """Let events have their effect; with each comes its clock, and the mark of the segment it is in, or nothing."""
        # Once an event, so the usual case is written out here: the same writer goes on, and mostly comments.
        known, end = self.entities.get, _END
        for l, event, place in events:  # noqa: E741 - as events have it
            # For each kind by itself: Python finds the attributes of one class where it found them before.
            # Two and three at a time, for which it makes no tuple.
            kind = type(event)
            if kind is Commented:  # noqa: SIM114
                entity, id_ = event.ent, event.id
                r, n, ts = event.r, event.n, event.ts
            elif kind is Labelled:  # noqa: SIM114
                entity, id_ = event.ent, event.id
                r, n, ts = event.r, event.n, event.ts
            elif kind is Set:  # noqa: SIM114
                entity, id_ = event.ent, event.id
                r, n, ts = event.r, event.n, event.ts
            elif kind is Created:
                entity, id_ = event.ent, event.id
                r, n, ts = event.r, event.n, event.ts
            else:
                entity, id_, r, n, ts = _stamp(event)
            builder = known(entity)
            if builder is None:
                builder = self.entities[entity] = RowBuilder()
                builder.r, builder.n, builder.l = r, n, l
                builder.ts, builder.places, builder.ids = ts, place, id_[end]
                builder.other = builder.seen = builder.rare = None
                self._begin(builder, event)
                continue
            places = builder.places
            if place is not places and place not in places:
                builder.places = places + place
            ids, name = builder.ids, id_[end]
            if (
                l <= builder.l
                or name in ids
                or (
                    n <= builder.n if builder.other is None and r == builder.r else not builder.saw_all(r, n, event.dep)
                )
            ):
                builder.l = MAX_CLOCK
                continue
            builder.n, builder.l, builder.ts = n, l, ts
            if kind is Commented:
                comment = event.c[end]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownVariableType, reportUnknownMemberType]
                builder.ids = f"{ids}{name}{comment}"
                builder.comments += 1
                if comment in ids or len(ids) > _MOST:
                    builder.l = MAX_CLOCK
                continue
            builder.ids = ids + name
            if len(ids) > _MOST:
                builder.l = MAX_CLOCK
            elif type(event) is Labelled:
                change = (builder.labels, event.add, event.rm)
                builder.labels = self._changes.get(change) or self._label(builder, change)
            elif type(event) is Set:
                self._set(builder, event)
            else:
                self._change(builder, event)

    def leave_odd_names(self) -> None:
        """Leave what cannot be an entity's name to the fold; to be called once, when all events have come."""
        names = "\n".join(self.entities)
        # All at once: nearly always there is none.
        plain = names.count("\n") == len(self.entities) - 1 and "\n-" not in names
        if not (plain and is_entity_id(names.replace("\n", ""))):
            for name, builder in self.entities.items():
                if not is_entity_id(name):
                    builder.give_up_on()

    def _begin(self, builder: RowBuilder, event: Event) -> None:
        if type(event) is not Created or len(event.labels) + len(event.assignees) > _MOST_NAMES:
            builder.give_up_on()
            return
        birth = (event.kind, event.a, builder.r)
        birth = builder.birth = self._births.setdefault(birth, birth)
        builder.r, builder.created_l, builder.created_ts = birth[2], builder.l, builder.ts
        status, labels = event.status or "open", event.labels
        builder.title, builder.status, builder.comments = event.title, self._shared.setdefault(status, status), 0
        builder.labels = self._same.setdefault(labels, labels)
        if event.milestone or event.due or event.assignees:
            rare = builder.set_rare()
            rare.milestone, rare.due, rare.assignees = event.milestone, event.due, event.assignees
            if event.milestone:
                self.aims.append((event.milestone, event.ent))
        if event.origin:
            self.origins.append((event.origin[:LONGEST_NAME], event.ent))

    def _label(self, builder: RowBuilder, change: tuple[Names, Names, Names]) -> Names:
        if sum(map(len, change)) > _MOST_NAMES:
            builder.give_up_on()
            return builder.labels
        labels = _update_names(*change)
        labels = self._same.setdefault(labels, labels)
        if len(self._changes) < _MOST_CHANGES:
            self._changes[change] = labels
        return labels

    def _change(self, builder: RowBuilder, event: Event) -> None:
        if isinstance(event, (Assigned, Linked)) and _count_names(builder, event) > _MOST_NAMES:
            builder.give_up_on()
        elif isinstance(event, Assigned):
            rare = builder.set_rare()
            rare.assignees = _update_names(rare.assignees, event.add, event.rm)
        elif isinstance(event, Linked):
            rare = builder.set_rare()
            links = {edge: key for edge, key in (rare.links or {}).items() if edge not in event.rm}
            for edge in event.add:
                links.setdefault(edge, (event.l, event.r, event.n))
            rare.links = links
        elif isinstance(event, Claimed):
            rare = builder.set_rare()
            held = rare.claim
            if held is None or (held.who, held.by) == (event.who, event.by) or held.until <= event.ts:
                rare.claim = Claim(event.who, bound_claim(event.ts, event.until), event.id, event.by)
        elif isinstance(event, Released):
            rare = builder.rare
            if rare is not None and rare.claim is not None and event.who in ("", rare.claim.who):
                rare.claim = None
        elif isinstance(event, (Created, CommentDeleted)):
            builder.give_up_on()  # rare: made twice, or a comment of which only the id is known

    def _set(self, builder: RowBuilder, event: Set) -> None:
        value = event.value
        if event.f == "status":
            builder.status = self._shared.setdefault(value, value) if value else "open"
            if value == "closed" and builder.rare is not None:
                builder.rare.claim = None
        elif event.f == "title":
            builder.title = value or ""
        elif event.f == "milestone":
            builder.set_rare().milestone = value
            if value:
                self.aims.append((value, event.ent))
        elif event.f == "due":
            builder.set_rare().due = value
        elif event.f == "deleted":
            builder.set_rare().deleted = value == "true"
        elif event.f == "priority":
            builder.set_rare().priority = rank_priority(value)
        elif event.f == "type":
            builder.set_rare().type = value or ""
        elif event.f == ADDRESS_FIELD and value:
            self.origins.append((AT + name_address(value)[:LONGEST_NAME], event.ent))


def _count_names(builder: RowBuilder, event: Assigned | Linked) -> int:
    rare = builder.rare or NO_VALUES
    return len(event.add) + len(event.rm) + len(rare.assignees) + len(rare.links or ())


def _update_names(names: Names, add: Sequence[str], rm: Sequence[str]) -> Names:
    left = tuple(name for name in names if name not in rm) if rm else names
    return (*left, *(name for name in add if name not in left))
