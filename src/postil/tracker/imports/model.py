"""Issues that come from elsewhere, and how they are written into the log so that importing twice adds nothing.

A source that keeps only the present state gives a `ForeignIssue`; one that keeps what happened gives a
`ForeignHistory`, which is written event by event, with its people and its times. The ids of entities, events and
comments are derived from the origin, so two clones that import the same source make the same things. The formats of
the sources are in `files.py`, `git_bug.py` and `git_mile.py`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, cast

import msgspec
from msgspec import UNSET, UnsetType

from postil.core.answer import Answer
from postil.tracker.events import (
    Assigned,
    Commented,
    CommentEdited,
    Created,
    Described,
    Envelope,
    Labelled,
    Linked,
    Set,
)
from postil.tracker.model import Entity
from postil.tracker.text import is_day
from postil.tracker.vocabulary import ADDRESS_FIELD, IDENTITY, KINDS, LINK_TYPES, LONGEST_NAME, LONGEST_TITLE, STATUSES

if TYPE_CHECKING:
    from postil.tracker.store import Transaction

_UUID = re.compile(r"[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}\Z")
_WAITS_FOR = "waits_for"
"""The field that names what an issue waits for and that is not here."""
_MOST_NAMED = 50


class ForeignComment(msgspec.Struct, frozen=True):
    """A comment of another tracker."""

    key: str
    author: str
    ts: str
    body: str
    edited_ts: str = ""


class ForeignIssue(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
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
    waits_for: tuple[str, ...] = ()
    """The origins of what blocks it; the link is kept by the one that blocks, if that comes along or is here."""
    fields: dict[str, str] = {}


class ForeignEvent(msgspec.Struct, frozen=True):
    """One thing that happened elsewhere: who, when, and the event it becomes here."""

    key: str
    """Names it uniquely within its origin."""
    author: str
    ts: str
    what: type[Envelope] = Envelope
    data: Mapping[str, object] = {}
    note: str = ""

    def with_change(self, what: type[Envelope], **data: object) -> ForeignEvent:
        """Returns the same happening, with what it changed."""
        return msgspec.structs.replace(self, what=what, data=data)


class ForeignHistory(msgspec.Struct, frozen=True):
    """What happened to an issue of another tracker, in order; the first is its creation."""

    origin: str
    history: tuple[ForeignEvent, ...]


class Imported(Answer, frozen=True, kw_only=True):
    """What an import did."""

    created: int
    updated: int
    unchanged: int
    unread: list[str] | UnsetType = UNSET
    """What could not be read, and why; nothing of it was taken."""
    missing: list[str] | UnsetType = UNSET
    """What issues wait for that is not here; they keep it in the field `waits_for`."""
    confidential: int | UnsetType = UNSET
    """How many not everybody may see where they come from."""

    @property
    def exit_status(self) -> int:
        """7 when something could not be read."""
        return 7 if self.unread else 0

    def for_person(self) -> str:
        """One line, then what was left out."""
        counted = f"{self.created} created, {self.updated} updated, {self.unchanged} unchanged"
        left = [f"not read: {line}" for line in self.unread or ()] + [
            f"not here: {line}" for line in self.missing or ()
        ]
        if self.confidential:
            left.append(
                f"confidential there: {self.confidential}; here whoever may fetch reads them once they are pushed"
            )
        return "\n".join([counted, *left])


def write_issues(
    tx: Transaction, foreign: list[ForeignIssue], known: dict[str, Entity], at: Mapping[str, str] | None = None
) -> Imported:
    """Write what is new; `known` holds the entities that are here already, by id.

    `at` names those that are at an origin without having come from there.
    """

    def find(origin: str) -> str:
        id_ = derive_entity_id(origin)
        return (at or {}).get(origin, id_) if id_ not in known else id_

    created = updated = 0
    new: list[_Story] = []
    waiting: dict[str, list[str]] = {}
    for one in foreign:
        for origin in one.waits_for:
            waiting.setdefault(origin, []).append(one.origin)
    origins = {one.origin for one in foreign}
    lost = {origin for origin in waiting if origin not in origins and find(origin) not in known}
    for one in foreign:
        id_ = find(one.origin)
        here = known.get(id_)
        before = len(tx.lines)
        blocks = tuple(("blocks", origin) for origin in waiting.get(one.origin, ()))
        links = tuple((type_, find(target)) for type_, target in (*one.links, *blocks))
        aim = find(one.milestone) if one.milestone else None
        linked = msgspec.structs.replace(one, links=links, milestone=aim)
        absent = [origin for origin in one.waits_for if origin in lost]
        if absent:
            named = _flatten(", ".join(absent))
            linked = msgspec.structs.replace(linked, fields={**linked.fields, _WAITS_FOR: named})
        if here is None:
            new.append(_Story(tx.ts, len(new)))
            _write_new(new[-1], str(tx.author), id_, linked)
            created += 1
        else:
            _write_changes(tx, here, linked)
            if one.waits_for and not absent and _WAITS_FOR in here.fields:
                tx.write(Set, id_, f=_WAITS_FOR, value=None)
            updated += len(tx.lines) > before
    # In the order of their times over all issues, so that lists by creation and by change are as they were there.
    for _, _, kind, id_, data in sorted((one for story in new for one in story.events), key=itemgetter(0, 1)):
        tx.write(kind, id_, **data)
    for origin in waiting.keys() - origins - lost:  # here since an earlier import
        _link_waiting(tx, known[find(origin)], origin, [find(one) for one in waiting[origin]])
    missing = [f"{origin}, for which {', '.join(waiting[origin])[:200]} waits" for origin in sorted(lost)]
    if len(missing) > _MOST_NAMED:
        missing[_MOST_NAMED:] = [f"and {len(missing) - _MOST_NAMED} more"]
    unchanged = len(foreign) - created - updated
    return Imported(created=created, updated=updated, unchanged=unchanged, missing=missing or UNSET)


def _link_waiting(tx: Transaction, blocker: Entity, origin: str, waiting: Sequence[str]) -> None:
    edges = {("blocks", id_) for id_ in waiting}
    edges -= {(link.type, link.target) for link in blocker.links}
    if edges:
        key = _derive_event_id(origin, repr(sorted(edges)))
        tx.write(Linked, blocker.id, id=key, add=tuple(sorted(edges)))


class _Story:
    """The events of a new issue, to be written between those of others."""

    def __init__(self, now: str, number: int) -> None:
        self._now = self._latest = now
        self._number = number
        self._begun = False
        self.events: list[tuple[str, int, type[Envelope], str, dict[str, object]]] = []

    def write(self, kind: type[Envelope], id_: str, /, **data: object) -> None:
        """Take an event; within a story its own order counts, whatever its clocks say."""
        ts = str(data.get("ts") or self._now)
        self._latest = max(self._latest, ts) if self._begun else ts
        self._begun = True
        self.events.append((self._latest, self._number, kind, id_, data))


def write_histories(tx: Transaction, stories: Sequence[ForeignHistory], present: Callable[[str], set[str]]) -> Imported:
    """Write what is not here yet of what happened elsewhere; `present` tells the events an entity has.

    The events of all stories are written in the order of their times, so that the order of lists is that of the origin.
    """
    created = updated = 0
    due: list[tuple[str, int, str, str, ForeignEvent]] = []
    for story in stories:
        id_ = derive_entity_id(story.origin)
        known = present(id_)
        new = [past for past in story.history if _derive_event_id(story.origin, past.key) not in known]
        created += bool(new) and not known
        updated += bool(new) and bool(known)
        latest = ""
        for past in new:
            latest = max(latest, past.ts)  # within a story its own order counts, whatever its clocks said
            due.append((latest, len(due), id_, story.origin, past))
    for _, _, id_, origin, past in sorted(due, key=itemgetter(0, 1)):
        who = past.author or str(tx.author)
        tx.write(
            past.what, id_, **_fit_data(past), id=_derive_event_id(origin, past.key), ts=past.ts, a=who, m=past.note
        )
    return Imported(created=created, updated=updated, unchanged=len(stories) - created - updated)


def begin_history(
    past: ForeignEvent,
    origin: str,
    *,
    title: str,
    kind: str = "issue",
    description: str = "",
    status: str = "open",
    labels: Sequence[str] = (),
    assignees: Sequence[str] = (),
) -> ForeignEvent:
    """Returns the creation that a story begins with."""
    return msgspec.structs.replace(past, key="created").with_change(
        Created,
        kind=kind,
        title=fit_title(title),
        description=fit_description(title, description),
        status=_fit_word(status),
        labels=fit_names(labels),
        assignees=fit_names(assignees),
        origin=origin,
    )


def derive_comment_id(origin: str, key: str) -> str:
    """Returns the id of a comment that goes by this key at its origin."""
    return _derive_event_id(origin, key)


def fit_title(title: str) -> str:
    """Returns a title from elsewhere on one line, without control characters, no longer than titles are here."""
    line = _flatten(title) or "(no title)"
    return line if len(line) <= LONGEST_TITLE else line[: LONGEST_TITLE - 1] + "…"


def fit_description(title: str, description: str) -> str:
    """Returns the description, with the title before it where that had to be shortened: nothing is lost."""
    return (f"{title.strip()}\n\n{description}" if len(_flatten(title)) > LONGEST_TITLE else description).rstrip()


def fit_names(names: Sequence[str]) -> tuple[str, ...]:
    """Returns labels or people from elsewhere, each once and on one line."""
    return tuple(dict.fromkeys(name for name in (_flatten(each)[:LONGEST_NAME] for each in names) if name))


def _fit_data(past: ForeignEvent) -> Mapping[str, object]:
    data = past.data
    if past.what is Set and data["f"] == "title":
        return {**data, "value": fit_title(str(data["value"]))}
    if past.what is Set and data["f"] == "status":
        return {**data, "value": _fit_word(str(data["value"]))}
    if past.what in (Labelled, Assigned):
        return {side: fit_names(cast("Sequence[str]", names)) for side, names in data.items()}
    return data


def _flatten(text: str) -> str:
    return " ".join("".join(" " if unicodedata.category(c) in ("Cc", "Cs") else c for c in text).split())


def derive_entity_id(origin: str) -> str:
    """Returns the id of what comes from an origin: a UUID stays, anything else is hashed into one."""
    if _UUID.match(origin):
        return origin
    import hashlib  # other commands than import do not pay for it

    hexes = hashlib.sha256(f"postil import {origin}".encode()).hexdigest()
    return f"{hexes[:8]}-{hexes[8:12]}-8{hexes[13:16]}-a{hexes[17:20]}-{hexes[20:32]}"


def _write_new(tx: _Story, writer: str, id_: str, one: ForeignIssue) -> None:
    stamp = {"ts": one.ts, "a": one.author or writer} if one.ts else {}
    tx.write(
        Created,
        id_,
        id=_derive_event_id(one.origin, "created"),
        kind=one.kind if one.kind in (*KINDS, IDENTITY) else "issue",
        title=fit_title(one.title),
        description=fit_description(one.title, one.description),
        status="open" if one.status == "closed" else _fit_status(one),
        labels=fit_names(one.labels),
        assignees=fit_names(one.assignees),
        milestone=derive_entity_id(one.milestone) if one.milestone else None,
        due=one.due if is_day(one.due or "") else None,
        origin=one.origin,
        **stamp,
    )
    for field, value in one.fields.items():
        tx.write(Set, id_, id=_derive_event_id(one.origin, f"field {field}"), f=field, value=value, **stamp)
    closing = _stamp_closing(one, stamp)
    before = [comment for comment in one.comments if not closing or comment.ts <= closing["ts"]]
    for comment in before:
        _write_comment(tx, writer, id_, one.origin, comment)
    _write_links(tx, id_, one, set(), stamp)
    if one.status == "closed":
        tx.write(Set, id_, id=_derive_event_id(one.origin, "closed"), f="status", value="closed", **closing)
    for comment in one.comments[len(before) :]:
        _write_comment(tx, writer, id_, one.origin, comment)
    if stamp and one.updated_ts and one.updated_ts != tx.events[-1][4].get("ts"):
        # What changed it last is not known any more; that it was changed then is.
        tx.write(Labelled, id_, id=_derive_event_id(one.origin, "updated"), **{**stamp, "ts": one.updated_ts})


def _stamp_closing(one: ForeignIssue, stamp: dict[str, str]) -> dict[str, str]:
    return {**stamp, "ts": one.closed_ts or one.updated_ts or one.ts} if stamp else {}


def _write_changes(tx: Transaction, here: Entity, one: ForeignIssue) -> None:
    present = {comment.id for comment in here.comments}
    for comment in one.comments:
        if comment.key not in present and _derive_event_id(one.origin, comment.key) not in present:
            _write_comment(tx, str(tx.author), here.id, one.origin, comment)
    _write_links(tx, here.id, one, {(link.type, link.target) for link in here.links}, {})
    # What was changed here since is not undone by an older import.
    if one.updated_ts and one.updated_ts <= here.updated_ts:
        return
    title, status = fit_title(one.title), _fit_status(one)
    for field, value, old in (("title", title, here.title), ("status", status, here.status)):
        if value != old:
            tx.write(Set, here.id, f=field, value=value)
    for field, value in one.fields.items():
        present = "true" if field == "deleted" and here.deleted else here.fields.get(field)
        if present != value and not (present and field == ADDRESS_FIELD):  # opened at another place since
            tx.write(Set, here.id, f=field, value=value)
    description = fit_description(one.title, one.description)
    if description != here.description:
        tx.write(Described, here.id, text=description)
    labels = fit_names(one.labels)
    add = tuple(label for label in labels if label not in here.labels)
    rm = tuple(label for label in here.labels if label not in labels)
    if add or rm:
        tx.write(Labelled, here.id, add=add, rm=rm)
    if one.milestone and one.milestone != here.milestone:
        tx.write(Set, here.id, f="milestone", value=one.milestone)
    people = tuple(name for name in fit_names(one.assignees) if name not in here.assignees)
    if people:
        tx.write(Assigned, here.id, add=people)


def _write_comment(tx: Transaction | _Story, writer: str, id_: str, origin: str, comment: ForeignComment) -> None:
    key = _derive_event_id(origin, comment.key)
    own = comment.key if _UUID.match(origin) and re.fullmatch(r"\S{1,64}", comment.key) else key
    stamp = {"ts": comment.ts, "a": comment.author or writer} if comment.ts else {}
    body = comment.body.rstrip()
    tx.write(Commented, id_, id=key, c=own, body=body, **stamp)
    if comment.edited_ts:
        edit = _derive_event_id(origin, f"{comment.key} edited")
        tx.write(CommentEdited, id_, id=edit, c=own, body=body, **{**stamp, "ts": comment.edited_ts})


def _write_links(
    tx: Transaction | _Story, id_: str, one: ForeignIssue, present: set[tuple[str, str]], stamp: dict[str, str]
) -> None:
    known = [link for link in one.links if link[0] in LINK_TYPES or _UUID.match(one.origin)]
    edges = {(_flatten(type_)[:LONGEST_NAME], derive_entity_id(target)) for type_, target in known} - present
    if edges:
        key = _derive_event_id(one.origin, repr(sorted(edges)))
        tx.write(Linked, id_, id=key, add=tuple(sorted(edges)), **stamp)


def _fit_word(status: str) -> str:
    return status if status in STATUSES else "open"


def _fit_status(one: ForeignIssue) -> str:
    """Returns a status; of our own exports also one of a later version."""
    if one.status in STATUSES:
        return one.status
    return _flatten(one.status)[:LONGEST_NAME] if _UUID.match(one.origin) and one.status.strip() else "open"


def _derive_event_id(origin: str, key: str) -> str:
    import hashlib

    alphabet = "abcdefghijklmnopqrstuvwxyz234567"
    number = int.from_bytes(hashlib.sha256(f"{origin}\n{key}".encode()).digest()[:13], "big")
    return "".join(alphabet[(number >> shift) & 31] for shift in range(0, 100, 5))
