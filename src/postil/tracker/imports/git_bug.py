"""git-bug's refs (`refs/bugs/…`): packs of operations along a history that may part and merge again."""

from __future__ import annotations

import hashlib

import msgspec

from postil.tracker.events import Commented, CommentEdited, Described, Labelled, Set
from postil.tracker.imports.git_refs import ForeignObjects, Reader, format_seconds, list_refs, read_number
from postil.tracker.imports.model import ForeignEvent, ForeignHistory, begin_history, derive_comment_id
from postil.tracker.log.format import open_objects

_CREATE, _TITLE, _COMMENT, _STATUS, _LABELS, _EDIT = range(1, 7)


class _Author(msgspec.Struct, frozen=True):
    id: str = ""
    name: str = ""


class _Pack(msgspec.Struct, frozen=True):
    ops: tuple[msgspec.Raw, ...] | None = ()
    author: _Author = _Author()


class _Op(msgspec.Struct, frozen=True):
    type: int
    author: _Author | None = None
    timestamp: int = 0
    title: str = ""
    message: str = ""
    status: int = 0
    added: tuple[str, ...] | None = ()
    removed: tuple[str, ...] | None = ()
    target: str = ""


class _Person(msgspec.Struct, frozen=True):
    name: str = ""
    login: str = ""
    email: str = ""


def make_reader(root: str) -> Reader:
    """Returns a reader of bugs that knows this repository's people."""
    people = _read_people(root)

    def bug(git: ForeignObjects, oid: str, name: str) -> ForeignHistory | None:
        origin = f"git-bug:{name}"
        history: list[ForeignEvent] = []
        comments: set[str] = set()
        first = ""
        for _, _, at in sorted(_list_packs(git, oid)):
            pack = git.decode(git.read_blob(at), _Pack, name)
            for piece in pack.ops or ():
                op = git.decode(bytes(piece), _Op, name)
                who = op.author or pack.author
                key = hashlib.sha256(bytes(piece)).hexdigest()  # by which git-bug names an operation
                if op.type == _COMMENT:
                    comments.add(key)
                first = first or (key if op.type == _CREATE else "")
                past = ForeignEvent(key, people.get(who.id, who.name or who.id[:7]), format_seconds(op.timestamp))
                history += _convert_operation(origin, op, past, first, comments)
        return ForeignHistory(origin, tuple(history)) if first else None

    return bug


def _list_packs(git: ForeignObjects, oid: str) -> list[tuple[int, str, str]]:
    """Returns the objects of the packs as git-bug orders them: by the clock in the names of files, then by commit.

    They are read one by one: many commits may name the same large one.
    """
    packs: list[tuple[int, str, str]] = []
    for at, head, _ in git.ancestry(oid):
        files = git.tree_of(head)
        clocks = [name.rpartition("-")[2] for name in files if name.startswith("edit-clock-")]
        # Without a clock (the first versions) the commits have one line of descent, and came here from its end.
        clock = read_number(clocks[0] if clocks else "", -len(packs))
        if "ops" in files:
            packs.append((clock, at, files["ops"]))
    return packs


def _convert_operation(origin: str, op: _Op, past: ForeignEvent, first: str, comments: set[str]) -> list[ForeignEvent]:
    if op.type == _CREATE:
        return [begin_history(past, origin, title=op.title, description=op.message)] if past.key == first else []
    if op.type == _TITLE:
        return [past.with_change(Set, f="title", value=op.title)]
    if op.type == _STATUS:
        return [past.with_change(Set, f="status", value="closed" if op.status == 2 else "open")]
    if op.type == _LABELS:
        return [past.with_change(Labelled, add=tuple(op.added or ()), rm=tuple(op.removed or ()))]
    if op.type == _EDIT and op.target == first:
        return [past.with_change(Described, text=op.message)]
    if op.type == _EDIT and op.target in comments:
        return [past.with_change(CommentEdited, c=derive_comment_id(origin, op.target), body=op.message)]
    if op.type in (_COMMENT, _EDIT):  # an edit of what is not here is kept as a comment of its own
        return [past.with_change(Commented, c=derive_comment_id(origin, past.key), body=op.message)]
    return []


def _read_people(root: str) -> dict[str, str]:
    people: dict[str, str] = {}
    refs = list_refs(root, "refs/identities/")
    if refs:
        with open_objects(root) as objects_of:
            git = ForeignObjects(objects_of)
            for oid, name in refs:
                files = git.tree_of(git.commit(oid)[0])
                if "version" in files:
                    person = git.decode(git.blob(files, "version"), _Person, name)
                    shown = person.name or person.login
                    people[name] = f"{shown} <{person.email}>" if person.email else shown
    return people
