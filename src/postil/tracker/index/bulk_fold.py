"""Everything works without this file: it builds an index sooner; `test_bulk_fold.py` keeps it equal to the fold.

The rows of entities grow while their events pass by, so that no event has to be held. That is right for entities whose
every event knew all that came before it: nearly all, when the events come in the order of their clocks. An entity whose
events do not form such a chain (concurrent edits, copies, another order) is marked as broken: the fold decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
)
from postil.tracker.model import Claim
from postil.tracker.text import bound_claim
from postil.tracker.vocabulary import LONGEST_NAME, NO_PRIORITY, rank_priority

if TYPE_CHECKING:
    from postil.tracker.index.tables import SqlRow

_TELLING = -6
"""So many last letters of the ids of events and comments are remembered: enough to notice one that comes twice."""
_MOST = 4096
"""Letters remembered of an entity; beyond that the fold does it better."""

Names = tuple[str, ...]


class RowBuilder:
    """What one entity is after the events that came so far."""

    __slots__ = (
        "assignees",
        "author",
        "broken",
        "claim",
        "comments",
        "created_l",
        "created_ts",
        "deleted",
        "due",
        "ids",
        "kind",
        "l",
        "labels",
        "links",
        "milestone",
        "n",
        "places",
        "priority",
        "r",
        "seen",
        "status",
        "title",
        "ts",
        "type",
    )

    def __init__(self, event: Event, place: str) -> None:
        self.places = place
        self.r, self.n, self.l, self.ts, self.ids = event.r, event.n, event.l, event.ts, event.id[_TELLING:]
        self.seen: dict[str, int] | None = None
        """The last number of each writer, once there are several; the first is the creator."""
        self.broken = False
        if not isinstance(event, Created):
            self.give_up_on()
            return
        self.author, self.created_l, self.created_ts = event.a, event.l, event.ts
        self.kind, self.title, self.status = event.kind, event.title, event.status or "open"
        self.labels, self.assignees = event.labels, event.assignees
        self.milestone, self.due = event.milestone, event.due
        self.comments = 0
        self.links: dict[tuple[str, str], tuple[int, str, int]] | None = None
        self.claim: Claim | None = None
        self.deleted = False
        self.priority, self.type = NO_PRIORITY, ""

    def follows(self, event: Event) -> bool:
        """Returns whether the event knew all that came before it; if so, it is the last from now on."""
        ending = event.id[_TELLING:]
        if event.l <= self.l or ending in self.ids:
            return False
        seen = self.seen or {self.r: self.n}
        dep = event.dep or {}
        for replica, number in seen.items():
            if event.n <= number if replica == event.r else dep.get(replica, 0) != number:
                return False
        if len(dep) > len(seen):
            return False  # it names what is not here: not fetched yet, or a lie
        seen[event.r] = event.n
        self.seen = seen
        self.r, self.n, self.l, self.ts = event.r, event.n, event.l, event.ts
        self.ids += ending
        return True

    def give_up_on(self) -> None:
        """Leave it to the fold: no event follows any more."""
        self.broken = True
        self.l = MAX_CLOCK

    def row(self, n: int, id_: str, labels: str) -> SqlRow:
        """As `tables.make_row` has it."""
        claim = self.claim
        return (
            n,
            id_,
            self.kind,
            self.title,
            self.status,
            labels,
            self.milestone or "",
            self.author,
            self.created_l,
            self.r if self.seen is None else next(iter(self.seen)),
            self.created_ts,
            self.l,
            self.r,
            self.ts,
            self.comments,
            self.due or "",
            claim.who if claim else "",
            claim.until if claim else "",
            0,
            self.priority,
            self.type,
        )


class BulkFold:
    """All entities of a build."""

    def __init__(self) -> None:
        self.entities: dict[str, RowBuilder] = {}
        self.aims: list[tuple[str, str]] = []
        """(milestone, entity) wherever an event named a milestone."""
        self.origins: list[tuple[str, str]] = []
        """(id at another tracker, entity) of what was imported."""
        self._shared: dict[str, str] = {}
        self._same: dict[Names, Names] = {}

    def take(self, events: Iterable[tuple[Event, str]]) -> None:
        """Let events have their effect; with each comes the mark of the segment it is in, or nothing."""
        # Once an event, so the usual case is written out here: the same writer goes on, and mostly comments.
        known = self.entities.get
        for event, place in events:
            builder = known(event.ent)
            if builder is None:
                self.entities[event.ent] = self._born(event, place)
                continue
            if place not in builder.places:
                builder.places += place
            ids, ending = builder.ids, event.id[_TELLING:]
            if (
                event.l > builder.l
                and event.n > builder.n
                and event.r == builder.r
                and builder.seen is None
                and ending not in ids
            ):
                builder.n, builder.l, builder.ts = event.n, event.l, event.ts
                builder.ids = ids + ending
            elif not builder.follows(event):
                builder.give_up_on()
                continue
            if type(event) is Commented:
                own = event.c[_TELLING:]
                builder.comments += 1
                builder.ids += own
                if own in ids or len(ids) > _MOST:
                    builder.give_up_on()
            else:
                self._changed(builder, event)

    def _born(self, event: Event, place: str) -> RowBuilder:
        builder = RowBuilder(event, place)
        if isinstance(event, Created):
            # A few writers, authors and sets of labels are those of very many entities: held once.
            share = self._shared.setdefault
            builder.r, builder.author, builder.kind = (
                share(event.r, event.r),
                share(event.a, event.a),
                share(event.kind, event.kind),
            )
            builder.status = share(builder.status, builder.status)
            builder.labels = self._same.setdefault(event.labels, event.labels)
            if event.milestone:
                self.aims.append((event.milestone, event.ent))
            if event.origin:
                self.origins.append((event.origin[:LONGEST_NAME], event.ent))
        return builder

    def _changed(self, builder: RowBuilder, event: Event) -> None:
        if isinstance(event, Set):
            self._set(builder, event)
        elif isinstance(event, Labelled):
            labels = _update_names(builder.labels, event.add, event.rm)
            builder.labels = self._same.setdefault(labels, labels)
        elif isinstance(event, Assigned):
            builder.assignees = _update_names(builder.assignees, event.add, event.rm)
        elif isinstance(event, Linked):
            links = {edge: key for edge, key in (builder.links or {}).items() if edge not in event.rm}
            for edge in event.add:
                links.setdefault(edge, (event.l, event.r, event.n))
            builder.links = links
        elif isinstance(event, Claimed):
            held = builder.claim
            if held is None or (held.who, held.by) == (event.who, event.by) or held.until <= event.ts:
                builder.claim = Claim(event.who, bound_claim(event.ts, event.until), event.id, event.by)
        elif isinstance(event, Released):
            if builder.claim is not None and event.who in ("", builder.claim.who):
                builder.claim = None
        elif isinstance(event, (Created, CommentDeleted)):
            builder.give_up_on()  # rare: made twice, or a comment of which only the last letters are known

    def _set(self, builder: RowBuilder, event: Set) -> None:
        value = event.value
        if event.f == "status":
            builder.status = self._shared.setdefault(value, value) if value else "open"
            if value == "closed":
                builder.claim = None
        elif event.f == "title":
            builder.title = value or ""
        elif event.f == "milestone":
            builder.milestone = value
            if value:
                self.aims.append((value, event.ent))
        elif event.f == "due":
            builder.due = value
        elif event.f == "deleted":
            builder.deleted = value == "true"
        elif event.f == "priority":
            builder.priority = rank_priority(value)
        elif event.f == "type":
            builder.type = value or ""


def _update_names(names: Names, add: Sequence[str], rm: Sequence[str]) -> Names:
    left = tuple(name for name in names if name not in rm) if rm else names
    return (*left, *(name for name in add if name not in left))
