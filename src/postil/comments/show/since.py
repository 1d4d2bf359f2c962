"""What was said and settled since a revision: the comment files of then and now, compared by comment."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Literal, TypeAlias

from msgspec import Struct

from postil.comments.git.blame import list_sidecars_at
from postil.comments.git.objects import iterate_objects
from postil.comments.git.submodules import CommittedTree, list_pasts
from postil.comments.index.half_written import await_whole
from postil.comments.model import Comment
from postil.comments.show.changed_lines import find_base
from postil.comments.sidecar.dialects import Unreadable
from postil.comments.sidecar.document import Sidecar
from postil.comments.storage.store import SUFFIX, Store, is_sidecar, is_text
from postil.core import call
from postil.workspace.digest import blob_id
from postil.workspace.git import list_rows, run_git
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


def list_since(store: Store, revision: str) -> tuple[str, list[Step], list[str]]:
    """Returns the commit, what happened since, and the comment files that cannot be read. Raises NotFound.

    Of a revision that is no part of the present history, as a branch that moved on, it is the one that both came from.
    """
    tree = store.tree
    commit = find_base(tree, revision)
    pasts = list_pasts(tree.root, commit)
    there: dict[str, tuple[CommittedTree, str]] = {}
    for past in pasts:
        for name, blob in list_sidecars_at(past.root, past.commit).items():
            there[past.outside(name)] = past, blob
    same = {path for path in store.paths() if _is_same(store, path, there)}  # in which nothing was said since
    is_sparse = os.path.exists(os.path.join(tree.git_dir, "info", "sparse-checkout"))
    skipped = _list_skipped(tree.root) if is_sparse else {}
    same |= {name.removesuffix(SUFFIX) for name, blob in skipped.items() if there.get(name, (None, ""))[1] == blob}
    away = {blob: name.removesuffix(SUFFIX) for name, blob in skipped.items()}
    damaged: list[str] = []
    then = _hold(_read_then(there, pasts, same, damaged), damaged)
    read = iterate_objects(tree.root, (blob for blob, path in away.items() if path not in same))
    now = _hold(((away[blob], data) for blob, data in read), damaged) | _hold_present(store, same, damaged)
    unknown = {name.removesuffix(SUFFIX) for name in damaged}  # of which nobody can say what came and what went
    steps = [step for step in _compare(then, now) if step.filePath not in unknown]
    return commit, sorted(steps, key=lambda each: (each.filePath, each.line, each.commentId)), damaged


def _hold_present(store: Store, same: Collection[str], damaged: list[str]) -> Held:
    broken: list[str] = []
    found = _hold(((path, store.read_bytes(path)) for path in store.paths() if path not in same), broken)
    paths = [RelativePath(name.removesuffix(SUFFIX)) for name in broken]
    if paths and await_whole(store, paths):  # another program was writing them
        broken = []
        found |= _hold(((path, store.read_bytes(path)) for path in paths), broken)
    damaged += broken
    return found


def _list_skipped(root: str) -> dict[str, str]:
    """Returns the comment files that a sparse checkout leaves out, with their blob ids in git's index."""
    rows = (row.partition("\t") for row in list_rows(run_git(root, "ls-files", "-s", "-t", "-z")))
    return {name: about.split(" ")[2] for about, _, name in rows if about.startswith("S ") and name.endswith(SUFFIX)}


def _is_same(store: Store, path: RelativePath, there: Mapping[str, tuple[CommittedTree, str]]) -> bool:
    """Whether a comment file is, to the byte, what a revision holds."""
    call.current().check()
    _, blob = there.get(path + SUFFIX, (None, ""))
    data = store.read_bytes(path) if blob else None
    return data is not None and blob_id(data, len(blob)) == blob


def _read_then(
    there: Mapping[str, tuple[CommittedTree, str]],
    pasts: Iterable[CommittedTree],
    same: Collection[str],
    damaged: list[str],
) -> Iterator[tuple[str, bytes]]:
    """Yields the comment files of a revision that are others now; `damaged` gets those that cannot be had."""
    for past in pasts:
        held: dict[str, list[str]] = {}
        for name, (where, blob) in there.items():
            path = name.removesuffix(SUFFIX)
            if where is past and is_text(name) and is_sidecar(name.rsplit("/", 1)[-1]) and path not in same:
                held.setdefault(blob, []).append(path)
        for blob, data in iterate_objects(past.root, list(held)):
            yield from ((path, data) for path in held.pop(blob))
        damaged += sorted(path + SUFFIX for some in held.values() for path in some)


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
            yield Step("said", identity, path, line, comment.signed, comment.text, comment.tag)
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
            yield Step("deleted", identity, path, line, comment.signed, comment.text, comment.tag)


def _compare_one(old: tuple[str, int, Comment], new: tuple[str, int, Comment]) -> Iterator[Step]:
    (was, _, before), (path, line, comment) = old, new
    if comment.text != before.text:
        by = comment.editedBy or comment.author
        yield Step("edited", comment.id, path, line, by, comment.text, comment.tag, before.text)
    if comment.status != before.status:
        what: What = "reopened" if comment.status == "open" else "resolved"
        yield Step(what, comment.id, path, line, comment.resolvedBy, comment.text, comment.tag, before.status)
    if path != was:
        yield Step("moved", comment.id, path, line, comment.signed, comment.text, comment.tag, was)
