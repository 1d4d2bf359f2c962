"""Moving comments between places so that none is ever lost or doubled, even by a crash in the middle.

The target is written first, then the source; what is to be taken out of the source is noted in a journal before. The
next process that takes the lock finishes a journal that was left behind. Every move notes on the marker where the
comment was, so that it can be taken back.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import cast

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from postil.anchor.fingerprint import line_hash
from postil.anchor.model import Span
from postil.anchor.syntax.languages import language_of
from postil.anchor.syntax.symbols import innermost, symbols
from postil.comments.anchoring.marker import MOST_EVENTS, extend_history, make_marker, wrote_of
from postil.comments.anchoring.reader import CommentReader
from postil.comments.clock import new_id, now
from postil.comments.git.before_merge import BeforeMerge
from postil.comments.model import Comment, Event, Located, Marker, NewMarker, OtherFile, Place
from postil.comments.operations.answers import Moved, describe_anchor
from postil.comments.operations.validation import find_comment
from postil.comments.sidecar.demanded import make_plain_marker
from postil.comments.sidecar.dialects import OWN_KEY
from postil.comments.sidecar.document import LineTexts, Sidecar
from postil.comments.sidecar.json_edit import JsonObject
from postil.comments.source_tree import Source
from postil.comments.storage.doubled import PLACE, find_home, give_own_id, merge_into
from postil.comments.storage.first_write import tell_first
from postil.comments.storage.giants import read_to_change, refuse_grown
from postil.comments.storage.store import SUFFIX, Store
from postil.core import limits
from postil.core.arguments.typed import type_words
from postil.core.failure import Failure, NotFound
from postil.workspace.files import atomic_write, read_file, remove_file
from postil.workspace.paths import RelativePath


class Moves:
    """Takes comments to other lines and files, and back."""

    def __init__(self, reader: CommentReader) -> None:
        self._reader = reader
        self._tree, self._store, self._versions = reader.tree, reader.store, reader.versions

    def move(self, origin: str, target: str, comment: str, line: int, end: int = 0) -> Moved:
        """Tie a comment to these lines, in its file or another one."""
        path = self._tree.path(origin)
        source = self._tree.source_with_line(target, line, end)
        with self._store.locked():
            here = read_to_change(self._store, path)
            found = find_comment(here, comment)
            before = self._reader.place(here, found, source if source.path == path else self._tree.source_or_none(path))
            self._take(here, found, source, Span(line, end), before)
        self._versions.keep(source)
        symbol = innermost(symbols(source.text, language_of(source.path)), line)
        warning = ". ".join(tell_first(self._store, [source.path] if source.path != path else []))
        anchor = symbol.label if symbol else f"line {line}"
        return Moved(found.id, path, before.line, source.path, line, anchor, warning=warning)

    def follow(self, each: Located) -> None:
        """Take a comment to the file its code went to."""
        place = each.place
        source = self._tree.source(RelativePath(place.path))
        with self._store.locked():
            here = read_to_change(self._store, RelativePath(each.filePath))
            found = here.comment(each.comment.id)
            if found is None:
                return  # somebody was faster
            old = here.marker_of(found)
            wrote = wrote_of(old, place) if old else ()
            self._take(here, found, source, Span(place.line, place.endLine), place, wrote)
        self._versions.keep(source)

    def carry(self, each: Located) -> None:
        """Take a comment whose code is gone to the file that its own became, tied to the code that it was tied to."""
        with self._store.locked():
            here = read_to_change(self._store, RelativePath(each.filePath))
            found = here.comment(each.comment.id)
            marker = here.marker_of(found) if found else None
            if found is None or marker is None:
                return  # somebody was faster
            history = msgspec.to_builtins(extend_history(marker, each.place, now(), here.path, found.id))
            raw = here.raw_marker(marker.id)
            own = cast(JsonObject, raw.get(OWN_KEY) or {})
            kept: JsonObject = {**raw, "id": new_id("gm_"), "commentIds": [found.id]}
            kept[OWN_KEY] = {**own, "history": history}
            move_raw(self._store, here, RelativePath(each.place.path), {**here.raw_comment(found.id)}, kept)

    def move_all(self, origin: str, target: str, shown: Sequence[Located]) -> tuple[list[Moved], list[Located]]:
        """Take the comments that are `shown` in a file, or may be in it, to another one that has their code.

        Returns what was moved, and those that stay.
        """
        path, source = self._tree.path(origin), self._tree.source(self._tree.path(target))
        found = {each.comment.id: each for each in shown if _is_in(each, source.path)}
        others = [each for each in shown if each.comment.id not in found and each.filePath != source.path]
        for holder in dict.fromkeys(each.filePath for each in others):
            wanted = {each.comment.id for each in others if each.filePath == holder}
            there = self._look_in(RelativePath(holder), source)
            found |= {
                each.comment.id: each for each in there if each.comment.id in wanted and _is_in(each, source.path)
            }
        moved = [self._follow_all(each, found[each.comment.id], path) for each in shown if each.comment.id in found]
        return moved, [each for each in shown if each.comment.id not in found]

    def _follow_all(self, shown: Located, there: Located, path: str) -> Moved:
        self.follow(there)
        place, marker = there.place, shown.marker
        before = marker.line if marker else shown.comment.line
        options = {each.path: each.line for each in shown.place.candidates if each.path == path}
        options |= {shown.place.path: shown.place.line}
        left = (path, options[path]) if path in options else (shown.filePath, before)
        anchor = describe_anchor(place.symbolPath, place.symbolKind, place.line)
        return Moved(shown.comment.id, *left, place.path, place.line, anchor)

    def _look_in(self, path: RelativePath, target: Source) -> list[Located]:
        """Returns the comments that a file keeps as they are found if its code went to another one."""
        sizes = (len(each.text) for each in (target, self._tree.source_or_none(path)) if each)
        if max(sizes) > limits.HERE or self._tree.size(path + SUFFIX) > limits.COMMENTS_HERE:
            from postil.comments.git.past_worker import ask_past  # only for large files

            return ask_past(self._tree, "moved", path, (target.path,), list[Located])
        return find_moved(self._reader, path, target.path)

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
        old, made = here.marker_of(comment), now()
        marker = make_marker(
            source,
            innermost(symbols(source.text, language_of(source.path)), lines.start),
            lines.start,
            lines.end,
            name=new_id("gm_"),
            now=made,
            history=extend_history(old, before, made, here.path, comment.id) if old else (),
            wrote=wrote,
        )
        move(self._store, here, source.path, comment.id, marker)

    def undo(self, each: Located) -> Moved:
        """Take a comment back to where it was before its last move: to the code it was tied to, as it was then."""
        events = list_moves(each.comment, each.marker)
        if not events:
            raise NotFound(
                "This comment has not been moved, and no edit of it is known here",
                advice=f"There is nothing to undo; `postil comments delete {type_words(each.comment.id)}` deletes it",
                commentId=each.comment.id,
            )
        last = events[-1]
        target = last.path or each.filePath
        if not os.path.isdir(os.path.dirname(os.path.join(self._tree.root, target))):
            raise self._tree.not_found(target)
        marker = self._marker_then(last, self._tree.path(target), events[:-1])
        with self._store.locked():
            here = read_to_change(self._store, RelativePath(each.filePath))
            found = find_comment(here, each.comment.id)
            move(self._store, here, RelativePath(target), found.id, marker)
        tied = marker.astAnchor
        words = describe_anchor(tied.symbolPath, tied.symbolKind, last.line) if tied else f"line {last.line}"
        warning = ". ".join(tell_first(self._store, [target] if target != each.filePath else []))
        return Moved(found.id, each.filePath, each.place.line, target, last.line, words, warning=warning)

    def _marker_then(self, event: Event, path: RelativePath, before: tuple[Event, ...]) -> NewMarker:
        """Returns the marker as it was: on the version of the source it knew, or by the texts it kept."""
        text = self._versions.read([event.blob]).get(event.blob) if event.blob else None
        if text is None:
            line, previous, following = (*event.texts, "", "", "")[:3]
            texts = LineTexts(line_hash(line), line, previous, following)
            return make_plain_marker(new_id("gm_"), event.line, texts, now(), event.end)
        then = Source(path, text, event.blob)
        symbol = innermost(symbols(text, language_of(path)), event.line)
        return make_marker(then, symbol, event.line, event.end, name=new_id("gm_"), now=now(), history=before)


def _is_in(each: Located, path: str) -> bool:
    """Whether a comment's code is in a file, and its sidecar another's."""
    return each.place.path == path != each.filePath and each.place.state != "orphaned"


def find_moved(reader: CommentReader, path: str, target: str) -> list[Located]:
    """Returns the comments of a file as they are found if its code went to another one, which is there."""
    source = reader.tree.source(RelativePath(target))
    # As if the file were gone: code that is in both files is looked for in the target, too.
    other = OtherFile(source.path, source.text, renamed=True)
    return reader.locate(reader.store.read(RelativePath(path)), None, [other])


def list_moves(comment: Comment, marker: Marker | None) -> tuple[Event, ...]:
    """Returns the places that a comment left, oldest first; what its marker left before the comment came is no move.

    Only a move to another file notes the file. What was left before it was left in that file, whichever it is in now.
    """
    events = marker.anchor.history[-MOST_EVENTS:] if marker and marker.anchor else ()  # nobody writes more
    found: list[Event] = []
    path = ""
    for each in reversed(events):
        if each.at >= comment.created and each.comment in ("", comment.id):
            path = each.path or path
            found.append(replace(each, path=path) if path != each.path else each)
    return tuple(reversed(found))


class Journal(Struct, frozen=True):
    """A move that has begun: this comment leaves this file once that file has it."""

    comment: str
    source: str
    target: str


def move(store: Store, source: Sidecar, target_path: RelativePath, comment: str, marker: NewMarker) -> None:
    """Put a comment under another marker, in its file or another one. The caller holds the lock."""
    moved: JsonObject = {**source.raw_comment(comment), "line": marker.line, "startLine": marker.line}
    moved.pop("endLine", None)
    if marker.endLine:
        moved["endLine"] = marker.endLine
    move_raw(store, source, target_path, moved, msgspec.to_builtins(replace(marker, commentIds=(comment,))))


def move_raw(store: Store, source: Sidecar, target_path: RelativePath, moved: JsonObject, marker: JsonObject) -> None:
    """Put a comment as it is given under another marker, as `move` does."""
    comment = str(moved["id"])
    if source.path == target_path:
        source.remove(comment)
        source.add(moved, marker)
        store.write(source)
        return
    target = read_to_change(store, target_path)
    if target.comment(comment):
        if find_home([source, target], comment):  # a merge left it there, too: they are one
            merge_into(source, [target], comment, BeforeMerge(store.tree))
            moved = {**source.raw_comment(comment), **{key: moved[key] for key in PLACE if key in moved}}
            target.remove(comment)
        else:
            give_own_id(target, comment)
    target.add(moved, marker)
    refuse_grown(target)
    store.refuse_unknown(source)
    _note(store, Journal(comment, source.path, target.path))
    store.write(target)
    source.remove(comment)
    store.write(source)
    _forget(store)


def finish_interrupted(store: Store) -> None:
    """Complete a move that a dead process left in the middle; the caller holds the lock."""
    try:
        journal = msgspec.json.decode(read_file(store.tree.folder, _name(store)), type=Journal)
        left, reached = store.tree.path(journal.source), store.tree.path(journal.target)
    except (Failure, ValueError, RecursionError):
        return
    try:
        source, target = store.read(left), store.read(reached)
    except Failure:
        return  # the repair comes by here again; until then the other files can be written
    if target.comment(journal.comment) and source.comment(journal.comment):
        source.remove(journal.comment)
        store.write(source)
    _forget(store)


def _note(store: Store, journal: Journal) -> None:
    atomic_write(store.tree.folder, _name(store), msgspec.json.encode(journal))


def _forget(store: Store) -> None:
    remove_file(store.tree.folder, _name(store))


def _name(store: Store) -> RelativePath:
    return RelativePath(f"comments-{store.tree.key}.move")
