"""Comments and replies that we wrote and that are gone: another program took them out, or they were deleted here.

An editor with an old copy in memory takes out what was written meanwhile; another program deletes the whole sidecar
(`git/taken_out.py`). What git did (a checkout, a pull, a commit) is not told: then the sidecar is what the last commit
holds, or the comment is in a commit of another branch or an earlier one, and not in the last. So a comment counts as
erased while its sidecar differs from the last commit, no file of the workspace holds it, and no commit but the last
has it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple, TypeAlias, cast

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from postil.comments.failures import CommentNotFound
from postil.comments.git.blame import read_at
from postil.comments.git.taken_out import find_taken_by_git, find_vanished
from postil.comments.model import Comment
from postil.comments.sidecar.dialects import AnyComment, AnyMarker
from postil.comments.sidecar.document import Sidecar
from postil.comments.sidecar.json_edit import JsonObject
from postil.comments.sidecar.noted import Noted
from postil.comments.storage.store import SUFFIX, Store, sidecar_path
from postil.comments.storage.write_log import LogReader, Written, decode_line
from postil.core.failure import Failure
from postil.workspace.failures import GitTimedOut
from postil.workspace.files import atomic_write
from postil.workspace.git import TIMEOUT
from postil.workspace.paths import RelativePath

QUICKLY = 1.0
"""Seconds that git has to say what it took out, where somebody only glances."""


class Erased(Struct, frozen=True, omit_defaults=True):
    """A comment that is in no file any more, and what it said."""

    id: str
    filePath: str
    author: str
    text: str
    written: str
    replyTo: str = ""
    """Of a reply, the comment that it is missing from."""


class LostReply(Struct, frozen=True):
    """A reply that is not in its comment any more."""

    path: str
    comment: str
    reply: JsonObject
    at: str


FindHeld: TypeAlias = Callable[[Collection[str]], Collection[str]]
"""Tells which of some ids a file of the workspace holds."""


class Kept(NamedTuple):
    """A comment as the log keeps it, by where it is in there: very many need not be held."""

    id: str
    path: str
    at: str
    places: tuple[int, ...]
    """The line with the comment, then those with what was changed since."""
    marker: int = -1
    """The line with its marker."""


def delete(sidecar: Sidecar, comment: Comment) -> None:
    """Take a comment out of its file, and note what it was: `find_deleted` knows it as long as the log does."""
    marker = sidecar.marker_of(comment)
    held = sidecar.raw_marker(marker.id) if marker else None
    sidecar.steps.append(Noted(comment.id, sidecar.raw_comment(comment.id), held))
    sidecar.remove(comment.id)


class Gone:
    """What the log of a workspace says of comments that no file holds."""

    def __init__(self, store: Store, log: LogReader, find_held: FindHeld) -> None:
        self._store, self._log, self._find_held = store, log, find_held
        self._written: dict[str, dict[str, Kept]] = {}
        self._deleted: dict[str, Kept] = {}
        self._left: dict[str, set[str]] = {}
        self._read()

    def _read(self) -> None:
        """Find what we wrote last of each comment, by file, and what was deleted, as it was."""
        believe = _Belief(self._store)
        for row in self._log.rows():
            if not believe.path(row.path):
                continue
            places = self._written.setdefault(row.id, {})
            before = places.pop(row.path, None)
            self._deleted.pop(row.id, None)
            left = self._left.setdefault(row.path, set())
            if row.has_comment:
                left.discard(row.id)
                earlier = before.places if row.part and before else ()
                if row.part and not before:
                    continue  # the comment itself was too long to be noted
                marker = row.place if row.has_marker else before.marker if before else -1
                places[row.path] = Kept(row.id, row.path, row.at, (*earlier, row.place), marker)
                continue
            left.add(row.id)
            if before and not places:  # else it was moved to another file, where it was written first
                self._deleted[row.id] = before._replace(at=row.at)

    def find_deleted(self) -> dict[str, Kept]:
        """Returns the comments that were deleted here, by id, the last one last."""
        held = self._find_held(self._deleted)
        return {name: each for name, each in self._deleted.items() if name not in held}

    def find_erased(self, among: Collection[str] | None = None, timeout: float = TIMEOUT) -> dict[str, Kept]:
        """Returns the comments that we wrote last and nobody holds, by id; of some files alone, where these are given.

        Raises GitTimedOut.
        """
        lost = {name: next(reversed(places.values())) for name, places in self._written.items() if places}
        if among is not None:
            lost = {name: each for name, each in lost.items() if each.path in among}
        held = self._find_held(lost)
        by_path: dict[str, list[str]] = {}
        for name, each in lost.items():
            if name not in held:
                by_path.setdefault(each.path, []).append(name)
        erased = _find_erased(self._store, by_path, timeout)
        return {name: each for name, each in lost.items() if name in erased}

    def load(self, kept: Kept) -> Written | None:
        """Returns a comment as it was written last; None where what the log holds is none."""
        found = self._log.read(kept.places[0])
        for place in kept.places[1:]:
            change = self._log.read(place)
            if found and found.comment is not None and change and change.comment:
                found = replace(found, comment={**found.comment, **change.comment})
        if found is None or (found.id, found.path) != (kept.id, kept.path) or not _is_sound(found):
            return None
        marker = self._log.read(kept.marker) if kept.marker >= 0 else None
        return replace(found, at=kept.at, marker=marker.marker if marker else None)

    def list_taken_out(self, path: str) -> Collection[str]:
        """Returns the comments that were deleted from a file, or moved out of it."""
        return self._left.get(path, ())


@contextmanager
def read_gone(store: Store, find_held: FindHeld) -> Generator[Gone]:
    """Yields what the log says of comments that are gone."""
    with store.log.open() as log:
        yield Gone(store, log, find_held)


def count_vanished(store: Store, there: Collection[str], find_held: FindHeld) -> str:
    """Returns how many comments are gone with their sidecars, which are not `there`; empty if none, quickly."""
    with store.log.open() as log:
        gone = log.paths().difference(there)
        if not gone:
            return ""
        try:
            found = len(Gone(store, log, find_held).find_erased(gone, QUICKLY))
        except GitTimedOut:
            return "Comment files that were written here are gone"
    return f"{found} that were written here are gone" if found else ""


class _Belief:
    """Which files may have comments: a repository may bring a log of its own."""

    def __init__(self, store: Store) -> None:
        self._tree = store.tree
        self._known: dict[str, bool] = {}

    def path(self, path: str) -> bool:
        """Whether a file may have comments."""
        if path not in self._known:
            try:
                self._known[path] = self._tree.path(path) == path
            except Failure:
                self._known[path] = False
        return self._known[path]


def list_believed(store: Store, is_wanted: Callable[[bytes], bool]) -> Iterator[Written]:
    """Yields what the log holds of files that may have comments, in the lines that are wanted, oldest first."""
    believe = _Belief(store)
    with store.log.open() as log:
        for _, line in log.lines():
            each = decode_line(line) if is_wanted(line) else None
            if each and believe.path(each.path) and _is_sound(each):
                yield each


def _is_sound(each: Written) -> bool:
    """Whether a sidecar that holds this comment, or what it was before, can still be read."""
    if each.comment is None:
        return True
    now = {"text": "", **each.comment} if each.part else each.comment
    before = {**now, **{key: value for key, value in (each.was or {}).items() if value is not None}}
    return bool(each.id) and all(_find_id(raw, AnyComment) == each.id for raw in (now, before))


def _find_id(raw: JsonObject, kind: type[AnyComment | AnyMarker]) -> str:
    """Returns the id of a comment or marker; nothing where it is none."""
    try:
        return msgspec.json.decode(msgspec.json.encode(raw), type=kind).id
    except (msgspec.MsgspecError, OverflowError, RecursionError):
        return ""


def _find_erased(store: Store, lost: Mapping[str, Collection[str]], timeout: float = TIMEOUT) -> set[str]:
    """Returns those of some ids, by file, that another program took out."""
    vanished = find_vanished(store.tree, [path for path in lost if not store.has(RelativePath(path))], timeout)
    changed = [path for path in lost if path in vanished or _is_changed(store, path)]
    asked = {path: lost[path] for path in changed}
    taken = find_taken_by_git(store.tree, asked, timeout) if store.tree.git else {}
    return {name for path, names in asked.items() for name in names if name not in taken.get(path, ())}


def find_erased_replies(store: Store) -> dict[str, LostReply]:
    """Returns the replies that we wrote and that their comment, which is there, has not got any more, by id."""
    by_path: dict[str, dict[str, LostReply]] = {}
    for each in list_believed(store, lambda line: b'"replies"' in line or b'"comment"' not in line):
        if each.comment is None:  # deleted, or moved to another file, where it was written first
            known = by_path.get(each.path, {})
            by_path[each.path] = {name: lost for name, lost in known.items() if lost.comment != each.id}
        else:
            made = by_path.setdefault(each.path, {})
            made |= {name: LostReply(each.path, each.id, reply, each.at) for name, reply in _list_replies(each.comment)}
    found: dict[str, LostReply] = {}
    for path, some in by_path.items():
        if some and _is_changed(store, path):
            held = {each.id: {reply.id for reply in each.replies} for each in store.read(RelativePath(path)).comments}
            lost = [name for name, each in some.items() if name not in held.get(each.comment, {name})]
            taken = find_taken_by_git(store.tree, {path: lost}).get(path, ()) if store.tree.git and lost else ()
            found |= {name: some[name] for name in lost if name not in taken}
    return found


def _list_replies(comment: JsonObject) -> Iterator[tuple[str, JsonObject]]:
    replies = comment.get("replies")
    for each in cast("list[object]", replies) if isinstance(replies, list) else ():
        if isinstance(each, dict) and isinstance(name := cast(JsonObject, each).get("id"), str):
            yield name, cast(JsonObject, each)


def describe(each: Written) -> Erased:
    """Returns what is told of an erased comment."""
    raw = each.comment or {}
    return Erased(each.id, each.path, str(raw.get("author", "")), str(raw.get("text", "")), each.at)


def describe_reply(name: str, each: LostReply) -> Erased:
    """Returns what is told of an erased reply."""
    raw = each.reply
    return Erased(name, each.path, str(raw.get("author", "")), str(raw.get("text", "")), each.at, each.comment)


def put_back_reply(store: Store, name: str, each: LostReply) -> None:
    """Write an erased reply into its comment again, where it was in time."""

    def add(sidecar: Sidecar) -> None:
        if not sidecar.comment(each.comment):
            raise CommentNotFound(each.path, each.comment)
        here = dict(_list_replies(sidecar.raw_comment(each.comment)))
        if name not in here:
            replies = sorted([*here.values(), each.reply], key=lambda reply: str(reply.get("created", "")))
            sidecar.change(each.comment, {"replies": replies})

    store.change(RelativePath(each.path), add)


def put_back(store: Store, some: Collection[Written], taken_out: Collection[str] = ()) -> None:
    """Write erased comments of one file into it again, as they were.

    A sidecar that is gone whole and that the last commit has comes back as it was committed, with what was written
    since: without the comments that were `taken_out`, and these as they were last.
    """
    path = RelativePath(next(iter(some)).path)
    is_back = _write_committed(store, path)

    def add(sidecar: Sidecar) -> None:
        for name in taken_out if is_back else ():
            if sidecar.comment(name):
                sidecar.remove(name)
        for each in some:
            if sidecar.comment(each.id):
                if not is_back:
                    continue  # somebody was faster
                if sidecar.raw_comment(each.id) == {**(each.comment or {}), "ghostMarkerId": _holder(sidecar, each.id)}:
                    continue
                sidecar.remove(each.id)
            _add(sidecar, each)

    store.change(path, add)


def _write_committed(store: Store, path: RelativePath) -> bool:
    """Write a sidecar that another program deleted as the last commit has it. Returns whether it was so."""
    if store.has(path) or not store.tree.git or path not in find_vanished(store.tree, [path]):
        return False
    content = read_at(store.tree, "HEAD", path + SUFFIX)
    if content is None:
        return False
    with store.locked():
        if store.has(path):
            return False
        atomic_write(store.tree.root, sidecar_path(path), content)
    return True


def _holder(sidecar: Sidecar, comment: str) -> str:
    found = sidecar.comment(comment)
    return found.markerId if found else ""


def _add(sidecar: Sidecar, each: Written) -> None:
    comment, marker = each.comment, each.marker
    if comment is None:
        raise CommentNotFound(each.path, each.id)
    if marker and _find_id(marker, AnyMarker):
        sidecar.add({"line": marker.get("line", 1), **comment}, {**marker, "commentIds": [each.id]})
    else:
        sidecar.add_bare(comment)


def _is_changed(store: Store, path: str) -> bool:
    """Whether a sidecar is there and is not what the last commit holds."""
    try:
        now = store.read_bytes(RelativePath(path))
        store.read(RelativePath(path))
    except Failure:
        return False  # a damaged file has its comments still, and is told as damaged
    return now is not None and not (store.tree.git and read_at(store.tree, "HEAD", path + SUFFIX) == now)
