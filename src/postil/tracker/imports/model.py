"""Issues that come from elsewhere, and how they are written into the log so that importing twice adds nothing.

A source that keeps only how things stand gives a `Foreign`; one that keeps what happened gives a `Story`, which is
told again event by event, with its people and its times. The ids of entities, events and comments are derived from
the origin, so two clones that import the same source make the same things. What the sources look like is the
importers' business (`import_files.py`, `import_refs.py`).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import cast

import msgspec
from msgspec import UNSET, UnsetType

from postil.tracker.events import Assigned, Commented, Created, Described, Envelope, Labelled, Linked, Set
from postil.tracker.model import Entity
from postil.tracker.query.tree import is_day
from postil.tracker.store import Pen
from postil.tracker.vocabulary import IDENTITY, KINDS, LINK_TYPES, LONGEST_NAME, LONGEST_TITLE, STATUSES

_UUID = re.compile(r"[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}\Z")


class ForeignComment(msgspec.Struct, frozen=True):
    """A comment of another tracker."""

    key: str
    author: str
    ts: str
    body: str


class Foreign(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An issue or milestone of another tracker, as it stands there."""

    origin: str
    """Names it uniquely: `git-bug:<id>`, `beads:<id>`, or a UUID that is kept as it is."""
    kind: str = "issue"
    title: str
    description: str = ""
    status: str = "open"
    labels: tuple[str, ...] = ()
    assignees: tuple[str, ...] = ()
    milestone: str | None = None
    due: str | None = None
    author: str = ""
    ts: str = ""
    updated_ts: str = ""
    closed_ts: str = ""
    comments: tuple[ForeignComment, ...] = ()
    links: tuple[tuple[str, str], ...] = ()
    fields: dict[str, str] = {}


class Past(msgspec.Struct, frozen=True):
    """One thing that happened elsewhere: who, when, and the event it becomes here."""

    key: str
    """Names it uniquely within its origin."""
    author: str
    ts: str
    what: type[Envelope] = Envelope
    data: Mapping[str, object] = {}
    note: str = ""

    def did(self, what: type[Envelope], **data: object) -> Past:
        """The same happening, with what it changed."""
        return msgspec.structs.replace(self, what=what, data=data)


class Story(msgspec.Struct, frozen=True):
    """What happened to an issue of another tracker, in order; the first is its creation."""

    origin: str
    history: tuple[Past, ...]


class Taken(msgspec.Struct, frozen=True, kw_only=True):
    """What an import did."""

    created: int
    updated: int
    unchanged: int
    unread: list[str] | UnsetType = UNSET
    """What could not be read, and why; nothing of it was taken."""

    @property
    def exit_status(self) -> int:
        """7 when something could not be read."""
        return 7 if self.unread else 0

    def shell(self) -> str:
        """One line, then what was left out."""
        counted = f"{self.created} created, {self.updated} updated, {self.unchanged} unchanged"
        return "\n".join([counted, *(f"not read: {line}" for line in self.unread or ())])


def take_in(pen: Pen, foreign: list[Foreign], known: dict[str, Entity]) -> Taken:
    """Write what is new; `known` holds the entities that are here already, by id."""
    created = updated = 0
    for one in foreign:
        id_ = entity_id(one.origin)
        here = known.get(id_)
        before = len(pen.lines)
        if here is None:
            _create(pen, id_, one)
            created += 1
        else:
            _update(pen, here, one)
            updated += len(pen.lines) > before
    return Taken(created=created, updated=updated, unchanged=len(foreign) - created - updated)


def retell(pen: Pen, stories: Sequence[Story], present: Callable[[str], set[str]]) -> Taken:
    """Write what is not here yet of what happened elsewhere; `present` tells the events an entity has.

    The events of all stories are written in the order of their times, so that the order of lists is that of the origin.
    """
    created = updated = 0
    due: list[tuple[str, int, str, str, Past]] = []
    for story in stories:
        id_ = entity_id(story.origin)
        known = present(id_)
        new = [past for past in story.history if _event_id(story.origin, past.key) not in known]
        created += bool(new) and not known
        updated += bool(new) and bool(known)
        latest = ""
        for past in new:
            latest = max(latest, past.ts)  # within a story its own order counts, whatever its clocks said
            due.append((latest, len(due), id_, story.origin, past))
    for _, _, id_, origin, past in sorted(due, key=itemgetter(0, 1)):
        who = past.author or str(pen.author)
        pen.write(past.what, id_, **_fitting(past), id=_event_id(origin, past.key), ts=past.ts, a=who, m=past.note)
    return Taken(created=created, updated=updated, unchanged=len(stories) - created - updated)


def created(
    past: Past,
    origin: str,
    *,
    title: str,
    kind: str = "issue",
    description: str = "",
    status: str = "open",
    labels: Sequence[str] = (),
    assignees: Sequence[str] = (),
) -> Past:
    """The creation that a story begins with."""
    return msgspec.structs.replace(past, key="created").did(
        Created,
        kind=kind,
        title=fitting_title(title),
        description=whole_title(title, description),
        status=_status(status),
        labels=fitting_names(labels),
        assignees=fitting_names(assignees),
        origin=origin,
    )


def comment_id(origin: str, key: str) -> str:
    """The id of a comment that goes by this key at its origin."""
    return _event_id(origin, key)


def fitting_title(title: str) -> str:
    """A title from elsewhere on one line, without control characters, no longer than titles are here."""
    line = _line(title) or "(no title)"
    return line if len(line) <= LONGEST_TITLE else line[: LONGEST_TITLE - 1] + "…"


def whole_title(title: str, description: str) -> str:
    """The description, with the title before it where that had to be shortened: nothing is lost."""
    return (f"{title.strip()}\n\n{description}" if len(_line(title)) > LONGEST_TITLE else description).rstrip()


def fitting_names(names: Sequence[str]) -> tuple[str, ...]:
    """Labels or people from elsewhere, each once and on one line."""
    return tuple(dict.fromkeys(name for name in (_line(each)[:LONGEST_NAME] for each in names) if name))


def _fitting(past: Past) -> Mapping[str, object]:
    data = past.data
    if past.what is Set and data["f"] == "title":
        return {**data, "value": fitting_title(str(data["value"]))}
    if past.what is Set and data["f"] == "status":
        return {**data, "value": _status(str(data["value"]))}
    if past.what in (Labelled, Assigned):
        return {side: fitting_names(cast("Sequence[str]", names)) for side, names in data.items()}
    return data


def _line(text: str) -> str:
    return " ".join("".join(" " if unicodedata.category(c) in ("Cc", "Cs") else c for c in text).split())


def entity_id(origin: str) -> str:
    """The id of what comes from an origin: a UUID stays, anything else is hashed into one."""
    if _UUID.match(origin):
        return origin
    import hashlib  # other commands than import do not pay for it

    hexes = hashlib.sha256(f"postil import {origin}".encode()).hexdigest()
    return f"{hexes[:8]}-{hexes[8:12]}-8{hexes[13:16]}-a{hexes[17:20]}-{hexes[20:32]}"


def _create(pen: Pen, id_: str, one: Foreign) -> None:
    stamp = {"ts": one.ts, "a": one.author or str(pen.author)} if one.ts else {}
    pen.write(
        Created,
        id_,
        id=_event_id(one.origin, "created"),
        kind=one.kind if one.kind in (*KINDS, IDENTITY) else "issue",
        title=fitting_title(one.title),
        description=whole_title(one.title, one.description),
        status="open" if one.status == "closed" else _status(one.status),
        labels=fitting_names(one.labels),
        assignees=fitting_names(one.assignees),
        milestone=entity_id(one.milestone) if one.milestone else None,
        due=one.due if is_day(one.due or "") else None,
        origin=one.origin,
        **stamp,
    )
    for field, value in one.fields.items():
        pen.write(Set, id_, id=_event_id(one.origin, f"field {field}"), f=field, value=value, **stamp)
    for comment in one.comments:
        _comment(pen, id_, one.origin, comment)
    _link(pen, id_, one, set())
    if one.status == "closed":
        pen.write(Set, id_, id=_event_id(one.origin, "closed"), f="status", value="closed", **_closing(one, stamp))


def _closing(one: Foreign, stamp: dict[str, str]) -> dict[str, str]:
    return {**stamp, "ts": one.closed_ts or one.updated_ts or one.ts} if stamp else {}


def _update(pen: Pen, here: Entity, one: Foreign) -> None:
    present = {comment.id for comment in here.comments}
    for comment in one.comments:
        if comment.key not in present and _event_id(one.origin, comment.key) not in present:
            _comment(pen, here.id, one.origin, comment)
    _link(pen, here.id, one, {(link.type, link.target) for link in here.links})
    # What was changed here since is not undone by an older import.
    if one.updated_ts and one.updated_ts <= here.updated_ts:
        return
    title, status = fitting_title(one.title), _status(one.status)
    for field, value, old in (("title", title, here.title), ("status", status, here.status)):
        if value != old:
            pen.write(Set, here.id, f=field, value=value)
    for field, value in one.fields.items():
        if here.fields.get(field) != value:
            pen.write(Set, here.id, f=field, value=value)
    description = whole_title(one.title, one.description)
    if description != here.description:
        pen.write(Described, here.id, text=description)
    labels = fitting_names(one.labels)
    add = tuple(label for label in labels if label not in here.labels)
    rm = tuple(label for label in here.labels if label not in labels)
    if add or rm:
        pen.write(Labelled, here.id, add=add, rm=rm)
    people = tuple(name for name in fitting_names(one.assignees) if name not in here.assignees)
    if people:
        pen.write(Assigned, here.id, add=people)


def _comment(pen: Pen, id_: str, origin: str, comment: ForeignComment) -> None:
    key = _event_id(origin, comment.key)
    stamp = {"ts": comment.ts, "a": comment.author or str(pen.author)} if comment.ts else {}
    pen.write(Commented, id_, id=key, c=key, body=comment.body.rstrip(), **stamp)


def _link(pen: Pen, id_: str, one: Foreign, present: set[tuple[str, str]]) -> None:
    edges = {(type_, entity_id(target)) for type_, target in one.links if type_ in LINK_TYPES} - present
    if edges:
        pen.write(Linked, id_, id=_event_id(one.origin, repr(sorted(edges))), add=tuple(sorted(edges)))


def _status(status: str) -> str:
    return status if status in STATUSES else "open"


def _event_id(origin: str, key: str) -> str:
    import hashlib

    alphabet = "abcdefghijklmnopqrstuvwxyz234567"
    number = int.from_bytes(hashlib.sha256(f"{origin}\n{key}".encode()).digest()[:13], "big")
    return "".join(alphabet[(number >> shift) & 31] for shift in range(0, 100, 5))
