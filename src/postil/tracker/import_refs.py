"""Issues that other programs keep in git refs: git-mile (both of its layouts) and git-bug. Reads their objects.

Runs nothing.
"""

from __future__ import annotations

import datetime
import hashlib
import re
from collections.abc import Callable

import msgspec

from postil.tracker.interchange import Foreign, ForeignComment
from postil.tracker.log import LogDamaged, Objects, objects, tree_entries
from postil.tracker.query.sql import moment_text
from postil.workspace.git import run_git

_Reader = Callable[[Objects, str, str, dict[str, str]], Foreign | None]
_DONE = ("done", "closed", "completed", "cancelled", "canceled", "resolved")


def read_refs(root: str, source: str) -> list[Foreign]:
    """Everything that `git-mile` or `git-bug` keeps in this repository."""
    if source == "git-bug":
        return _read(root, "refs/bugs/", _bug, _identities(root))
    entities = _read(root, "refs/git-mile/entities/", _entity, {})
    return entities + _read(root, "refs/git-mile/tasks/", _task, {})


def _refs(root: str, prefix: str) -> list[tuple[str, str]]:
    listed = run_git(root, "for-each-ref", "--format=%(objectname) %(refname)", prefix).decode().splitlines()
    return [(line.partition(" ")[0], line.partition(" ")[2].rpartition("/")[2]) for line in listed]


def _read(root: str, prefix: str, reader: _Reader, people: dict[str, str]) -> list[Foreign]:
    found: list[Foreign] = []
    refs = _refs(root, prefix)
    if refs:
        with objects(root) as git:
            for oid, name in refs:
                one = reader(git, oid, name, people)
                if one is not None:
                    found.append(one)
    return found


# git-mile, one tree an entity


class _Event(msgspec.Struct, frozen=True):
    type: str
    data: msgspec.Raw = msgspec.Raw(b"{}")


class _InitialComment(msgspec.Struct, frozen=True):
    comment_id: str = ""
    body: str = ""


class _Data(msgspec.Struct, frozen=True):
    title: str = ""
    description: str | None = None
    status: str = ""
    initial_comment: _InitialComment | None = None
    labels: tuple[str, ...] = ()
    label: str = ""
    comment_id: str = ""
    body: str = ""
    display_name: str | None = None


class _Meta(msgspec.Struct, frozen=True):
    author: str = ""


def _entity(git: Objects, oid: str, name: str, people: dict[str, str]) -> Foreign | None:
    head, _ = _commit(git, oid)
    ts = _commit_time(head)
    top = _tree(git, head[b"tree"][0].decode())
    payloads = (
        {file.removesuffix(".blob"): blob for file, blob in _tree(git, top["blobs"]).items()} if "blobs" in top else {}
    )
    operations: list[tuple[int, str, str, str]] = []
    for folder in _tree(git, top["pack"]).values() if "pack" in top else ():
        files = _tree(git, folder)
        counter, _, replica = _blob(git, files["id"]).decode("utf-8", "replace").strip().partition("@")
        author = msgspec.json.decode(_blob(git, files["meta.json"]), type=_Meta).author
        operations.append((int(counter), replica, author, _blob(git, files["payload"]).decode().strip()))
    title, description, status, first = "", "", "open", ""
    labels: set[str] = set()
    comments: dict[str, ForeignComment] = {}
    for _, _, author, digest in sorted(operations):
        event = msgspec.json.decode(_blob(git, payloads[digest.removeprefix("sha256:")]), type=_Event)
        try:
            data = msgspec.json.decode(event.data, type=_Data)
        except msgspec.ValidationError:
            continue  # an event of another kind: identities have their own
        if event.type == "created":
            if not data.title:
                return None
            title, description, status, first = data.title, data.description or "", data.status or "open", author
            labels = set(data.labels)
            if data.initial_comment:
                c = data.initial_comment
                comments[c.comment_id] = ForeignComment(c.comment_id, author, ts, c.body)
        elif event.type == "status_changed":
            status = data.status
        elif event.type == "label_attached":
            labels.add(data.label)
        elif event.type == "label_detached":
            labels.discard(data.label)
        elif event.type == "comment_appended":
            comments.setdefault(data.comment_id, ForeignComment(data.comment_id, author, ts, data.body))
    if not title:
        return None
    return Foreign(
        origin=name,
        title=title,
        description=description,
        status=status,
        labels=tuple(sorted(labels)),
        author=first,
        ts=ts,
        updated_ts=ts,
        comments=tuple(comments.values()),
    )


# git-mile, one commit an event


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


def _task(git: Objects, oid: str, name: str, people: dict[str, str]) -> Foreign | None:
    events: list[_TaskEvent] = []
    waiting, seen = [oid], {oid}
    while waiting:
        head, message = _commit(git, waiting.pop())
        title, _, body = message.partition(b"\n\n")
        if title.startswith(b"git-mile-event: "):
            events.append(msgspec.json.decode(body, type=_TaskEvent))
        for parent in head.get(b"parent", []):
            if parent.decode() not in seen:
                seen.add(parent.decode())
                waiting.append(parent.decode())
    events.sort(key=lambda event: (event.lamport, event.ts, event.id))
    one = Foreign(origin=name, title="")
    labels: set[str] = set()
    people_now: set[str] = set()
    comments: dict[str, ForeignComment] = {}
    links: set[tuple[str, str]] = set()
    for event in events:
        k, who, ts = event.kind, f"{event.actor.name} <{event.actor.email}>", _iso(event.ts)
        if k.type == "taskCreated":
            one = msgspec.structs.replace(
                one, title=k.title, description=k.description or "", status=_state(k), author=who, ts=ts
            )
            labels |= set(k.labels)
            people_now |= set(k.assignees)
        elif k.type in ("taskStateSet", "taskStateCleared"):
            status = _state(k)
            one = msgspec.structs.replace(one, status=status, closed_ts=ts if status == "closed" else "")
        elif k.type == "taskTitleSet":
            one = msgspec.structs.replace(one, title=k.title)
        elif k.type == "taskDescriptionSet":
            one = msgspec.structs.replace(one, description=k.description or "")
        elif k.type == "labelsAdded":
            labels |= set(k.labels)
        elif k.type == "labelsRemoved":
            labels -= set(k.labels)
        elif k.type == "assigneesAdded":
            people_now |= set(k.assignees)
        elif k.type == "assigneesRemoved":
            people_now -= set(k.assignees)
        elif k.type == "commentAdded":
            comments[k.comment_id] = ForeignComment(k.comment_id, who, ts, k.body_md)
        elif k.type == "commentUpdated" and k.comment_id in comments:
            comments[k.comment_id] = msgspec.structs.replace(comments[k.comment_id], body=k.body_md)
        elif k.type == "childLinked" and k.child == name:
            links.add(("parent", k.parent))
        elif k.type == "childUnlinked":
            links.discard(("parent", k.parent))
        elif k.type == "relationAdded":
            links.add(("blocks" if k.kind == "blocks" else "related", k.target))
        elif k.type == "relationRemoved":
            links.discard(("blocks" if k.kind == "blocks" else "related", k.target))
        one = msgspec.structs.replace(one, updated_ts=max(one.updated_ts, ts))
    if not one.title:
        return None
    return msgspec.structs.replace(
        one,
        labels=tuple(sorted(labels)),
        assignees=tuple(sorted(people_now)),
        comments=tuple(comments.values()),
        links=tuple(sorted(links)),
    )


def _state(kind: _TaskKind) -> str:
    return "closed" if kind.state_kind == "done" or (kind.state or "").lower().rpartition("/")[2] in _DONE else "open"


# git-bug


class _BugAuthor(msgspec.Struct, frozen=True):
    id: str = ""
    name: str = ""


class _BugPack(msgspec.Struct, frozen=True):
    ops: tuple[msgspec.Raw, ...]
    author: _BugAuthor = _BugAuthor()


class _BugOp(msgspec.Struct, frozen=True):
    type: int
    author: _BugAuthor | None = None
    timestamp: int = 0
    title: str = ""
    message: str = ""
    status: int = 0
    added: tuple[str, ...] | None = ()
    removed: tuple[str, ...] | None = ()
    target: str = ""


class _BugPerson(msgspec.Struct, frozen=True):
    name: str = ""
    login: str = ""
    email: str = ""


def _bug(git: Objects, oid: str, name: str, people: dict[str, str]) -> Foreign | None:
    packs: list[bytes] = []
    at: str | None = oid
    while at is not None:
        head, _ = _commit(git, at)
        files = _tree(git, head[b"tree"][0].decode())
        if "ops" in files:
            packs.append(_blob(git, files["ops"]))
        parents = head.get(b"parent", [])
        at = parents[0].decode() if parents else None
    title, description, status, first, began, last, closed = "", "", "open", "", "", "", ""
    labels: set[str] = set()
    comments: dict[str, ForeignComment] = {}
    for raw in reversed(packs):
        pack = msgspec.json.decode(raw, type=_BugPack)
        for piece in pack.ops:
            op = msgspec.json.decode(piece, type=_BugOp)
            who = op.author or pack.author
            author = people.get(who.id, who.name or who.id[:7])
            ts = moment_text(datetime.datetime.fromtimestamp(op.timestamp, datetime.UTC))
            key = hashlib.sha256(bytes(piece)).hexdigest()
            last = max(last, ts)
            if op.type == 1:
                title, description, first, began = op.title, op.message, author, ts
            elif op.type == 2:
                title = op.title
            elif op.type == 3:
                comments[key] = ForeignComment(key, author, ts, op.message)
            elif op.type == 4:
                status, closed = ("closed", ts) if op.status == 2 else ("open", "")
            elif op.type == 5:
                labels = (labels | set(op.added or ())) - set(op.removed or ())
            elif op.type == 6 and op.target in comments:
                comments[op.target] = msgspec.structs.replace(comments[op.target], body=op.message)
            elif op.type == 6:
                description = op.message
    if not title:
        return None
    return Foreign(
        origin=f"git-bug:{name}",
        title=title,
        description=description,
        status=status,
        labels=tuple(sorted(labels)),
        author=first,
        ts=began,
        updated_ts=last,
        closed_ts=closed,
        comments=tuple(comments.values()),
    )


def _identities(root: str) -> dict[str, str]:
    people: dict[str, str] = {}
    refs = _refs(root, "refs/identities/")
    if not refs:
        return people
    with objects(root) as git:
        for oid, name in refs:
            head, _ = _commit(git, oid)
            files = _tree(git, head[b"tree"][0].decode())
            if "version" in files:
                person = msgspec.json.decode(_blob(git, files["version"]), type=_BugPerson)
                shown = person.name or person.login
                people[name] = f"{shown} <{person.email}>" if person.email else shown
    return people


# Objects


def _commit(git: Objects, oid: str) -> tuple[dict[bytes, list[bytes]], bytes]:
    kind, content = git.read(oid)
    if kind != "commit":
        raise LogDamaged(oid, f"a {kind} where a commit belongs")
    top, _, message = content.partition(b"\n\n")
    head: dict[bytes, list[bytes]] = {}
    for line in top.split(b"\n"):
        key, _, value = line.partition(b" ")
        head.setdefault(key, []).append(value)
    return head, message


def _commit_time(head: dict[bytes, list[bytes]]) -> str:
    seconds = int(head[b"committer"][0].split()[-2])
    return moment_text(datetime.datetime.fromtimestamp(seconds, datetime.UTC))


def _iso(text: str) -> str:
    return moment_text(datetime.datetime.fromisoformat(re.sub(r"(\.\d{6})\d+", r"\1", text)))


def _tree(git: Objects, oid: str) -> dict[str, str]:
    kind, content = git.read(oid)
    if kind != "tree":
        raise LogDamaged(oid, f"a {kind} where a tree belongs")
    return dict(tree_entries(content, len(oid) // 2))


def _blob(git: Objects, oid: str) -> bytes:
    return git.read(oid)[1]
