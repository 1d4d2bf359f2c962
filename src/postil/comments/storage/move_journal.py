"""Moving comments between places so that none is ever lost or doubled, even by a crash in the middle.

The target is written first, then the source; what is to be taken out of the source is noted in a journal before.
Whoever takes the lock next finishes a journal that was left behind. Every move notes on the marker where the comment
was, so that it can be taken back.
"""

from __future__ import annotations

import os
from typing import cast

import msgspec
from msgspec import Struct

from postil.anchor.model import Source as Version
from postil.anchor.model import Span
from postil.anchor.syntax.languages import language_of
from postil.anchor.syntax.symbols import innermost, symbols
from postil.comments.anchoring.locate import Now, current_anchor
from postil.comments.anchoring.marker import history_with, marker_for, wrote_of
from postil.comments.anchoring.read import Reading, placed_in
from postil.comments.failures import SidecarDamaged, SourceNotFound
from postil.comments.model import Comment, Event, Marker, Place, Placed
from postil.comments.operations.answers import Moved
from postil.comments.operations.validation import wanted
from postil.comments.sidecar.document import OWN_KEY, Sidecar, plain_marker
from postil.comments.sidecar.format import line_hash
from postil.comments.sidecar.json_edit import JsonObject
from postil.comments.source_tree import Source
from postil.comments.storage.file_versions import OldTexts
from postil.comments.storage.store import Store
from postil.core.failure import NotFound
from postil.workspace.failures import FileMissing
from postil.workspace.files import atomic_write, read_file, remove_file
from postil.workspace.paths import RelativePath


class Moves:
    """Takes comments to other lines and files, and back."""

    def __init__(self, reading: Reading, texts: OldTexts) -> None:
        self._reading, self._texts = reading, texts
        self._ground, self._store = reading.ground, reading.store

    def to(self, origin: str, target: str, comment: str, line: int, end: int = 0) -> Moved:
        """Tie a comment to these lines, in its file or another one."""
        path = self._ground.path(origin)
        source = self._reading.source_with_line(target, line, end)
        with self._store.locked():
            here = self._store.read(path)
            found = wanted(here, comment)
            placed = self._reading.placed(here, self._reading.source_or_none(path))
            before = next(each.place for each in placed if each.comment.id == found.id)
            self._take(here, found, source, Span(line, end), before)
        self._texts.keep(source)
        symbol = innermost(symbols(source.text, language_of(source.path)), line)
        return Moved(found.id, path, before.line, source.path, line, symbol.label if symbol else f"line {line}")

    def follow(self, each: Placed) -> None:
        """Take a comment to the file its code went to."""
        place = each.place
        source = self._ground.source(RelativePath(place.path))
        with self._store.locked():
            here = self._store.read(RelativePath(each.filePath))
            found = here.comment(each.comment.id)
            if found is None:
                return  # somebody was faster
            old = here.marker_of(found)
            wrote = wrote_of(old, place) if old else ()
            self._take(here, found, source, Span(place.line, place.endLine), place, wrote)
        self._texts.keep(source)

    def all_to(self, origin: str, target: str) -> tuple[list[Moved], list[Placed]]:
        """Take every comment of a file whose code is in another one there, and answer those that stay."""
        path = self._ground.path(origin)
        source = self._ground.source(self._ground.path(target))
        sidecar = self._store.read(path)
        gone = Now(path, None)  # as if the file were gone: also code that is in both is looked for in the target
        texts = self._texts.texts({anchor.blob for each in sidecar.markers if (anchor := current_anchor(each))})
        there = placed_in(sidecar, gone, texts, [Version(source.text, source.path)])
        found = [each for each in there if each.place.path == source.path != path]
        for each in found:
            self.follow(each)
        moved = [
            Moved(each.comment.id, path, each.comment.line, source.path, each.place.line, each.place.reason)
            for each in found
        ]
        return moved, [each for each in self._reading.file(path) if each.comment.id not in {m.commentId for m in moved}]

    def _take(
        self,
        here: Sidecar,
        comment: Comment,
        source: Source,
        lines: Span,
        before: Place,
        wrote: tuple[str, ...] = (),
    ) -> None:
        """Move a comment; `wrote` is the code it was written about, unless a person just said what it is about."""
        marker = marker_for(source, symbols(source.text, language_of(source.path)), lines.start, lines.end)
        old = here.marker_of(comment)
        own = cast(JsonObject, marker[OWN_KEY])
        if wrote:
            own["wrote"] = list(wrote)
        if old:
            own["history"] = msgspec.to_builtins(history_with(old, before, here.path, comment.id))
        move(self._store, here, source.path, comment.id, marker)

    def undo(self, each: Placed) -> Moved:
        """Take a comment back to where it was before its last move: to the code it was tied to, as it was then."""
        events = events_of(each.comment, each.marker)
        if not events:
            raise NotFound(
                "This comment has not been moved", advice="There is nothing to undo", commentId=each.comment.id
            )
        last = events[-1]
        target = last.path or each.filePath
        if not os.path.isdir(os.path.dirname(os.path.join(self._ground.root, target))):
            raise SourceNotFound(target, self._ground.shown_root())
        marker = self._marker_then(last, self._ground.path(target), events[:-1])
        with self._store.locked():
            here = self._store.read(RelativePath(each.filePath))
            found = wanted(here, each.comment.id)
            move(self._store, here, RelativePath(target), found.id, marker)
        anchor = marker.get("astAnchor")
        named = cast(JsonObject, anchor).get("symbolPath") if isinstance(anchor, dict) else None
        words = ".".join(cast("list[str]", named)) if named else f"line {last.line}"
        return Moved(found.id, each.filePath, each.place.line, target, last.line, words)

    def _marker_then(self, event: Event, path: RelativePath, before: tuple[Event, ...]) -> JsonObject:
        """The marker as it was: on the version of the source it knew, or by the texts it kept."""
        text = self._texts.texts([event.blob]).get(event.blob) if event.blob else None
        if text is None:
            line, previous, following = (*event.texts, "", "", "")[:3]
            kept: JsonObject = {"lineHash": line_hash(line), "lineText": line}
            kept |= {"prevLineText": previous, "nextLineText": following}
            marker = plain_marker(event.line, kept)
            return {**marker, "endLine": event.end} if event.end else marker
        then = Source(path, text, event.blob, "")
        marker = marker_for(then, symbols(text, language_of(path)), event.line, event.end)
        if before:
            cast(JsonObject, marker[OWN_KEY])["history"] = msgspec.to_builtins(before)
        return marker


def events_of(comment: Comment, marker: Marker | None) -> tuple[Event, ...]:
    """What happened to a comment's place, oldest first; what its marker went through before it came does not count."""
    events = marker.anchor.history if marker and marker.anchor else ()
    return tuple(each for each in events if each.at >= comment.created and each.comment in ("", comment.id))


class Journal(Struct, frozen=True):
    """A move that has begun: this comment leaves this file once that file has it."""

    comment: str
    source: str
    target: str


def move(store: Store, source: Sidecar, target_path: RelativePath, comment: str, marker: JsonObject) -> None:
    """Put a comment under another marker, in its file or another one; the caller holds the lock."""
    raw = source.raw_comment(comment)
    moved: JsonObject = {**raw, "line": marker["line"], "startLine": marker["line"]}
    moved.pop("endLine", None)
    if marker.get("endLine"):
        moved["endLine"] = marker["endLine"]
    if source.path == target_path:
        source.remove(comment)
        source.add(moved, {**marker, "commentIds": [comment]})
        store.write(source)
        return
    target = store.read(target_path)
    target.add(moved, {**marker, "commentIds": [comment]})
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
    try:
        source = store.read(RelativePath(journal.source))
        target = store.read(RelativePath(journal.target))
    except SidecarDamaged:
        return  # whoever repairs it comes by here again; until then the other files can be written
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
