"""Issues that come from elsewhere: one neutral form.

And how it is written into the log so that importing twice adds nothing.

Who wrote what and when is kept. The ids of entities and comments are derived from the origin, so two clones that
import the same source make the same things. What the sources look like is the importers' business
(`import_files.py`, `import_refs.py`).
"""

from __future__ import annotations

import hashlib
import re

import msgspec

from postil.tracker.events import Assigned, Commented, Created, Described, Labelled, Linked, Set
from postil.tracker.model import Entity
from postil.tracker.store import Pen
from postil.tracker.vocabulary import LINK_TYPES, STATUSES

_UUID = re.compile(r"[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}\Z")


class ForeignComment(msgspec.Struct, frozen=True):
    """A comment of another tracker."""

    key: str
    author: str
    ts: str
    body: str


class Foreign(msgspec.Struct, frozen=True, kw_only=True):
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


class Taken(msgspec.Struct, frozen=True, kw_only=True):
    """What an import did."""

    created: int
    updated: int
    unchanged: int

    def shell(self) -> str:
        """One line."""
        return f"{self.created} created, {self.updated} updated, {self.unchanged} unchanged"


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


def entity_id(origin: str) -> str:
    """The id of what comes from an origin: a UUID stays, anything else is hashed into one."""
    if _UUID.match(origin):
        return origin
    hexes = hashlib.sha256(f"postil import {origin}".encode()).hexdigest()
    return f"{hexes[:8]}-{hexes[8:12]}-8{hexes[13:16]}-a{hexes[17:20]}-{hexes[20:32]}"


def _create(pen: Pen, id_: str, one: Foreign) -> None:
    stamp = {"ts": one.ts, "a": one.author or str(pen.author)} if one.ts else {}
    pen.write(
        Created,
        id_,
        id=_event_id(one.origin, "created"),
        kind=one.kind,
        title=" ".join(one.title.split()) or "(no title)",
        description=one.description.rstrip(),
        status="open" if one.status == "closed" else _status(one.status),
        labels=tuple(dict.fromkeys(one.labels)),
        assignees=tuple(dict.fromkeys(one.assignees)),
        milestone=entity_id(one.milestone) if one.milestone else None,
        due=one.due,
        origin=one.origin,
        **stamp,
    )
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
    for field, value, old in (("title", one.title, here.title), ("status", _status(one.status), here.status)):
        if value != old:
            pen.write(Set, here.id, f=field, value=value)
    if one.description.rstrip() != here.description:
        pen.write(Described, here.id, text=one.description.rstrip())
    add = tuple(label for label in one.labels if label not in here.labels)
    rm = tuple(label for label in here.labels if label not in one.labels)
    if add or rm:
        pen.write(Labelled, here.id, add=add, rm=rm)
    people = tuple(name for name in one.assignees if name not in here.assignees)
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
    alphabet = "abcdefghijklmnopqrstuvwxyz234567"
    number = int.from_bytes(hashlib.sha256(f"{origin}\n{key}".encode()).digest()[:13], "big")
    return "".join(alphabet[(number >> shift) & 31] for shift in range(0, 100, 5))
