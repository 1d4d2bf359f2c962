"""What was said and settled since a revision: the comment files of then and now, compared by comment."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, TypeAlias

from msgspec import Struct

from postil.comments.git.blame import list_sidecars_at, require_revision
from postil.comments.git.objects import iterate_objects
from postil.comments.model import Comment
from postil.comments.sidecar.dialects import Unreadable
from postil.comments.sidecar.document import Sidecar
from postil.comments.storage.store import SUFFIX, Store, is_sidecar, is_text
from postil.core import call
from postil.workspace.digest import blob_id
from postil.workspace.paths import RelativePath

What: TypeAlias = Literal["said", "replied", "edited", "resolved", "reopened", "moved", "deleted"]


class Step(Struct, frozen=True, omit_defaults=True):
    """One thing that happened to a comment."""

    what: What
    commentId: str
    filePath: str
    line: int
    author: str
    text: str
    tag: str | None = None
    before: str = ""
    movedTo: str = ""
    """The other file that its code is in now; the line is one of that file then."""


Held: TypeAlias = dict[str, tuple[str, int, Comment]]


def list_since(store: Store, revision: str, wanted: Iterable[str] = ()) -> tuple[str, list[Step], list[str]]:
    """Returns the commit, what happened since, and the comment files that cannot be read. Raises NotFound."""
    tree = store.tree
    commit = require_revision(tree, revision)
    there = list_sidecars_at(tree, commit.id)
    same = {path for path in store.paths() if _is_same(store, path, there)}  # in which nothing was said since
    names = [
        name
        for name in there
        if is_text(name) and is_sidecar(name.rsplit("/", 1)[-1]) and name.removesuffix(SUFFIX) not in same
    ]
    damaged: list[str] = []
    large: set[str] = set()
    begins = len(commit.id) + 1
    found = iterate_objects(tree.root, (f"{commit.id}:{name}" for name in names), left_out=large)
    then = _hold(((name[begins:].removesuffix(SUFFIX), data) for name, data in found), damaged)
    damaged += sorted(name[begins:] for name in large)
    now = _hold(((path, store.read_bytes(path)) for path in store.paths() if path not in same), damaged)
    steps = [step for step in _compare(then, now) if not wanted or step.filePath in set(wanted)]
    return commit.id, sorted(steps, key=lambda each: (each.filePath, each.line, each.commentId)), damaged


def _is_same(store: Store, path: RelativePath, there: Mapping[str, str]) -> bool:
    """Whether a comment file is, to the byte, what a revision holds."""
    call.current().check()
    blob = there.get(path + SUFFIX)
    data = store.read_bytes(path) if blob else None
    return data is not None and blob_id(data, store.tree.id_width) == blob


def _hold(files: Iterable[tuple[str, bytes | None]], damaged: list[str]) -> Held:
    found: Held = {}
    for path, data in files:
        try:
            sidecar = Sidecar(path, data)
            lines = {marker.id: marker.line for marker in sidecar.markers}
            for comment in sidecar.comments:
                found[comment.id] = path, lines.get(comment.markerId, comment.line), comment
        except Unreadable:
            damaged.append(path + SUFFIX)
    return found


def _compare(then: Held, now: Held) -> Iterator[Step]:
    for identity, (path, line, comment) in now.items():
        old = then.get(identity)
        if old is None:
            yield Step("said", identity, path, line, comment.author, comment.text, comment.tag)
            if comment.status != "open":
                yield Step("resolved", identity, path, line, comment.resolvedBy, comment.text, comment.tag)
        else:
            yield from _compare_one(old, (path, line, comment))
        known = {reply.id for reply in old[2].replies} if old else set[str]()
        for reply in comment.replies:
            if reply.id not in known:
                yield Step("replied", identity, path, line, reply.author, reply.text, comment.tag)
    for identity, (path, line, comment) in then.items():
        if identity not in now:
            yield Step("deleted", identity, path, line, comment.author, comment.text, comment.tag)


def _compare_one(old: tuple[str, int, Comment], new: tuple[str, int, Comment]) -> Iterator[Step]:
    (was, _, before), (path, line, comment) = old, new
    if comment.text != before.text:
        by = comment.editedBy or comment.author
        yield Step("edited", comment.id, path, line, by, comment.text, comment.tag, before.text)
    if comment.status != before.status:
        what: What = "reopened" if comment.status == "open" else "resolved"
        yield Step(what, comment.id, path, line, comment.resolvedBy, comment.text, comment.tag, before.status)
    if path != was:
        yield Step("moved", comment.id, path, line, comment.author, comment.text, comment.tag, was)
