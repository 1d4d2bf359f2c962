"""Moving comments between places so that none is ever lost or doubled, even by a crash in the middle.

The target is written first, then the source; what is to be taken out of the source is noted in a journal before.
Whoever takes the lock next finishes a journal that was left behind.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import msgspec
from msgspec import Struct

from postil.comments.anchoring import history_with
from postil.comments.jsontext import JsonObject
from postil.comments.model import Place
from postil.comments.sidecar import OWN_KEY, Sidecar
from postil.comments.store import Store
from postil.workspace.failures import FileMissing
from postil.workspace.files import atomic_write, read_file, remove_file
from postil.workspace.paths import RelativePath


class Journal(Struct, frozen=True):
    """A move that has begun: this comment leaves this file once that file has it."""

    comment: str
    source: str
    target: str


def move(
    store: Store,
    source: Sidecar,
    target: Sidecar,
    comment: str,
    marker_in: Callable[[Sidecar], JsonObject],
    place: Place,
) -> None:
    """Take a comment from its `place` to another; the caller holds the lock. The two may be the same sidecar."""
    raw = source.raw_comment(comment)
    found = source.comment(comment)
    old = source.marker_of(found) if found else None
    same = source.path == target.path
    if same:
        source.remove(comment)
        target = source
    marker = marker_in(target)
    own = marker.get(OWN_KEY)
    if isinstance(own, dict) and old:
        history = msgspec.to_builtins(history_with(old, place, source.path))
        marker = {**marker, OWN_KEY: {**cast(JsonObject, own), "history": history}}
    moved: JsonObject = {**raw, "line": marker["line"], "startLine": marker["line"]}
    moved.pop("endLine", None)
    if marker.get("endLine"):
        moved["endLine"] = marker["endLine"]
    target.add(moved, {**marker, "commentIds": [comment]})
    if same:
        store.write(source)
        return
    store.refuse_unknown(source)
    _note(store, Journal(comment, source.path, target.path))
    store.write(target)
    source.remove(comment)
    store.write(source)
    _forget(store)


def finish_interrupted(store: Store) -> None:
    """Complete a move that a dead process left in the middle; the caller holds the lock."""
    try:
        journal = msgspec.json.decode(read_file(store.ground.folder, _name(store)), type=Journal)
    except (FileMissing, msgspec.DecodeError):
        return
    source = store.read(RelativePath(journal.source))
    target = store.read(RelativePath(journal.target))
    if target.comment(journal.comment) and source.comment(journal.comment):
        source.remove(journal.comment)
        store.write(source)
    _forget(store)


def _note(store: Store, journal: Journal) -> None:
    atomic_write(store.ground.folder, _name(store), msgspec.json.encode(journal))


def _forget(store: Store) -> None:
    remove_file(store.ground.folder, _name(store))


def _name(store: Store) -> RelativePath:
    return RelativePath(f"comments-{store.ground.key}.move")
