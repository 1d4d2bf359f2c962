"""git-mile's own refs, in both of its layouts: a tree of operations an entity, and a commit an event."""

from __future__ import annotations

import datetime
import re

import msgspec

from postil.core.others.unreadable import UNREADABLE
from postil.tracker.events import Assigned, Commented, CommentEdited, Described, Labelled, Linked, Set
from postil.tracker.imports.git_refs import ForeignObjects, read_commit_time, read_number
from postil.tracker.imports.model import (
    ForeignEvent,
    ForeignHistory,
    begin_history,
    derive_comment_id,
    derive_entity_id,
)
from postil.tracker.log.format import LogDamaged
from postil.tracker.text import format_moment
from postil.tracker.vocabulary import IDENTITY

_DONE = ("done", "closed", "completed", "cancelled", "canceled", "resolved")


# A tree of operations: it holds no times, but the history of its ref tells when each operation came into it


class _Event(msgspec.Struct, frozen=True):
    type: str
    data: msgspec.Raw = msgspec.Raw(b"{}")


class _FirstComment(msgspec.Struct, frozen=True):
    comment_id: str = ""
    body: str = ""


class _Protection(msgspec.Struct, frozen=True):
    fingerprint: str = ""
    armored_public_key: str | None = None


class _Data(msgspec.Struct, frozen=True):
    title: str = ""
    description: str | None = None
    status: str = ""
    initial_comment: _FirstComment | None = None
    labels: tuple[str, ...] = ()
    label: str = ""
    comment_id: str = ""
    body: str = ""
    display_name: str = ""
    email: str = ""
    login: str | None = None
    replica_id: str = ""
    signature: str | None = None
    protection: _Protection | None = None


class _Meta(msgspec.Struct, frozen=True):
    author: str = ""
    message: str | None = None


def read_entity(git: ForeignObjects, oid: str, name: str) -> ForeignHistory | None:
    """Returns the story of `refs/git-mile/entities/<name>`."""
    since, top = _find_first_seen(git, oid)
    payloads = git.tree(top["blobs"]) if "blobs" in top else {}
    operations: list[tuple[int, str, str, _Meta, str]] = []
    for folder, tree in (git.tree(top["pack"]) if "pack" in top else {}).items():
        files = git.tree(tree)
        counter, _, replica = git.blob(files, "id").decode("utf-8", "replace").strip().partition("@")
        meta = git.decode(git.blob(files, "meta.json"), _Meta, name)
        digest = git.blob(files, "payload").decode("ascii", "replace").strip().removeprefix("sha256:")
        payload = git.find(payloads, f"{digest}.blob")
        operations.append((read_number(counter, 0), replica, since[folder], meta, payload))
    history: list[ForeignEvent] = []
    for counter, replica, ts, meta, payload in sorted(operations, key=lambda operation: operation[:2]):
        event = git.decode(git.read_blob(payload), _Event, name)
        try:
            data = msgspec.json.decode(event.data, type=_Data)
        except msgspec.ValidationError:
            continue  # an event of a later version
        except UNREADABLE as fault:
            raise LogDamaged(name, str(fault)) from None
        past = ForeignEvent(f"{counter}@{replica}", meta.author, ts, note=meta.message or "")
        history += _convert_operation(name, event.type, data, past, bool(history))
    return ForeignHistory(name, tuple(history)) if history else None


def _convert_operation(origin: str, kind: str, data: _Data, past: ForeignEvent, begun: bool) -> list[ForeignEvent]:
    if kind == "created" and not begun and data.title:
        made = begin_history(
            past,
            origin,
            title=data.title,
            description=data.description or "",
            status=data.status or "open",
            labels=data.labels,
        )
        first = data.initial_comment
        return [made, *([_comment(origin, past, first.comment_id, first.body)] if first else [])]
    if kind == "created" and not begun and data.display_name:
        person = begin_history(past, origin, title=data.display_name, kind=IDENTITY)
        return [person, *_set_fields(past, email=data.email, login=data.login)]
    if not begun:
        return []
    if kind == "adopted":
        return _set_fields(past, adopted_by=data.replica_id, adoption_signature=data.signature)
    if kind == "protection_added" and data.protection:
        return _set_fields(past, **{f"pgp:{data.protection.fingerprint}": data.protection.armored_public_key or "-"})
    if kind == "status_changed":
        return [past.with_change(Set, f="status", value=data.status)]
    if kind == "label_attached":
        return [past.with_change(Labelled, add=(data.label,))]
    if kind == "label_detached":
        return [past.with_change(Labelled, rm=(data.label,))]
    if kind == "comment_appended":
        return [_comment(origin, past, data.comment_id, data.body)]
    return []


def _set_fields(past: ForeignEvent, **fields: str | None) -> list[ForeignEvent]:
    told = [(name, ForeignEvent(f"{past.key} {name}", past.author, past.ts, note=past.note)) for name in fields]
    return [one.with_change(Set, f=name, value=fields[name]) for name, one in told if fields[name]]


def _comment(origin: str, past: ForeignEvent, key: str, body: str) -> ForeignEvent:
    # A comment goes by its own id, not by its operation's: the first one shares an operation with the creation.
    said = ForeignEvent(key, past.author, past.ts, note=past.note)
    return said.with_change(Commented, c=derive_comment_id(origin, key), body=body)


def _find_first_seen(git: ForeignObjects, oid: str) -> tuple[dict[str, str], dict[str, str]]:
    """Operation → when a commit held it first; and the tree of the last commit."""
    since: dict[str, str] = {}
    last: dict[str, str] = {}
    for at, head, _ in git.ancestry(oid):
        top, ts = git.tree_of(head), read_commit_time(head)
        for folder in git.tree(top["pack"]) if "pack" in top else ():
            since[folder] = min(ts, since.get(folder, ts))
        if at == oid:
            last = top
    return since, last


# A commit an event


class _Actor(msgspec.Struct, frozen=True):
    name: str = ""
    email: str = ""


class _TaskKind(msgspec.Struct, frozen=True):
    type: str
    title: str = ""
    labels: tuple[str, ...] = ()
    assignees: tuple[str, ...] = ()
    description: str | None = None
    state: str | None = None
    state_kind: str | None = None
    comment_id: str = ""
    body_md: str = ""
    parent: str = ""
    child: str = ""
    kind: str = ""
    target: str = ""


class _TaskEvent(msgspec.Struct, frozen=True):
    id: str
    ts: str
    actor: _Actor
    kind: _TaskKind
    lamport: int = 0


def read_task(git: ForeignObjects, oid: str, name: str) -> ForeignHistory | None:
    """Returns the story of `refs/git-mile/tasks/<name>`."""
    events: list[_TaskEvent] = []
    for at, _, message in git.ancestry(oid):
        title, _, body = message.partition(b"\n\n")
        if title.startswith(b"git-mile-event: "):
            events.append(git.decode(body, _TaskEvent, at))
    events.sort(key=lambda event: (event.lamport, event.ts, event.id))
    history: list[ForeignEvent] = []
    for event in events:
        past = ForeignEvent(event.id, f"{event.actor.name} <{event.actor.email}>", _read_moment(event.ts))
        history += _convert_task_event(name, event.kind, past, bool(history))
    return ForeignHistory(name, tuple(history)) if history else None


def _convert_task_event(name: str, kind: _TaskKind, past: ForeignEvent, begun: bool) -> list[ForeignEvent]:
    if kind.type == "taskCreated" and not begun:
        made = begin_history(
            past,
            name,
            title=kind.title,
            description=kind.description or "",
            status=_choose_status(kind),
            labels=kind.labels,
            assignees=kind.assignees,
        )
        return [made, *_set_state(kind, past)]
    if not begun:
        return []
    match kind.type:
        case "taskStateSet" | "taskStateCleared":
            return [past.with_change(Set, f="status", value=_choose_status(kind)), *_set_state(kind, past)]
        case "taskTitleSet":
            return [past.with_change(Set, f="title", value=kind.title)]
        case "taskDescriptionSet":
            return [past.with_change(Described, text=kind.description or "")]
        case "labelsAdded":
            return [past.with_change(Labelled, add=kind.labels)]
        case "labelsRemoved":
            return [past.with_change(Labelled, rm=kind.labels)]
        case "assigneesAdded":
            return [past.with_change(Assigned, add=kind.assignees)]
        case "assigneesRemoved":
            return [past.with_change(Assigned, rm=kind.assignees)]
        case "commentAdded":
            return [_comment(name, past, kind.comment_id, kind.body_md)]
        case "commentUpdated":
            return [past.with_change(CommentEdited, c=derive_comment_id(name, kind.comment_id), body=kind.body_md)]
        case "childLinked" | "childUnlinked" if kind.child == name:
            return [_link(past, "parent", kind.parent, kind.type == "childUnlinked")]
        case "relationAdded" | "relationRemoved":
            type_ = "blocks" if kind.kind == "blocks" else "related"
            return [_link(past, type_, kind.target, kind.type == "relationRemoved")]
        case _:
            return []


def _set_state(kind: _TaskKind, past: ForeignEvent) -> list[ForeignEvent]:
    """Returns a workflow's own word for the state, kept beside the status it amounts to."""
    word = ForeignEvent(f"{past.key} state", past.author, past.ts)
    return [word.with_change(Set, f="state", value=kind.state)] if kind.state or kind.type == "taskStateCleared" else []


def _choose_status(kind: _TaskKind) -> str:
    return "closed" if kind.state_kind == "done" or (kind.state or "").lower().rpartition("/")[2] in _DONE else "open"


def _link(past: ForeignEvent, type_: str, target: str, gone: bool) -> ForeignEvent:
    edge = ((type_, derive_entity_id(target)),)
    return past.with_change(Linked, rm=edge) if gone else past.with_change(Linked, add=edge)


def _read_moment(text: str) -> str:
    try:
        return format_moment(datetime.datetime.fromisoformat(re.sub(r"(\.\d{6})\d+", r"\1", text)))
    except ValueError:
        return ""
