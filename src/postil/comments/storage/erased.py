"""Comments and replies that we wrote and that are gone: another program took them out, or they were deleted here.

An editor with an old copy in memory takes out what was written meanwhile. What git did (a checkout, a pull, a commit)
is not told: then the sidecar is what the last commit holds, or the comment is in a commit of another branch or an
earlier one, and not in the last. So a comment counts as erased while its sidecar is there, differs from the last
commit, no file of the workspace holds it, and no commit but the last has it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import TypeAlias, cast

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from postil.comments.failures import CommentNotFound
from postil.comments.git.blame import list_committed_blobs, read_at
from postil.comments.git.objects import read_objects
from postil.comments.model import Comment
from postil.comments.sidecar.dialects import AnyComment, AnyMarker
from postil.comments.sidecar.document import Sidecar
from postil.comments.sidecar.json_edit import JsonObject
from postil.comments.sidecar.noted import Noted
from postil.comments.storage.store import SUFFIX, Store
from postil.comments.storage.write_log import Written
from postil.core.failure import Failure
from postil.workspace.paths import RelativePath

MOST_READ = 32 << 20
"""Bytes of committed versions in which is looked for a comment, the newest first."""


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


def delete(sidecar: Sidecar, comment: Comment) -> None:
    """Take a comment out of its file, and note what it was: `find_deleted` knows it as long as the log does."""
    marker = sidecar.marker_of(comment)
    held = sidecar.raw_marker(marker.id) if marker else None
    sidecar.steps.append(Noted(comment.id, sidecar.raw_comment(comment.id), held))
    sidecar.remove(comment.id)


def find_deleted(store: Store, find_held: FindHeld) -> dict[str, Written]:
    """Returns the comments that were deleted here, as they were, by id, the last one last."""
    _, deleted = _read_log(store)
    held = find_held(deleted)
    return {name: each for name, each in deleted.items() if name not in held}


def list_believed(store: Store) -> Iterator[Written]:
    """Yields what the log holds of files that may have comments: a repository may bring a log of its own."""
    known: dict[str, bool] = {}
    for each in store.log.list_written():
        if each.path not in known:
            try:
                known[each.path] = store.tree.path(each.path) == each.path
            except Failure:
                known[each.path] = False
        if known[each.path] and _is_sound(each):
            yield each


def _is_sound(each: Written) -> bool:
    """Whether a sidecar that holds this comment, or what it was before, can still be read."""
    if each.comment is None:
        return True
    before = {**each.comment, **{key: value for key, value in (each.was or {}).items() if value is not None}}
    return bool(each.id) and all(_find_id(raw, AnyComment) == each.id for raw in (each.comment, before))


def _find_id(raw: JsonObject, kind: type[AnyComment | AnyMarker]) -> str:
    """Returns the id of a comment or marker; nothing where it is none."""
    try:
        return msgspec.json.decode(msgspec.json.encode(raw), type=kind).id
    except (msgspec.MsgspecError, OverflowError, RecursionError):
        return ""


def _read_log(store: Store) -> tuple[dict[str, dict[str, Written]], dict[str, Written]]:
    """Returns what we wrote last of each comment, by file, and what was deleted, as it was."""
    by_comment: dict[str, dict[str, Written]] = {}
    deleted: dict[str, Written] = {}
    for each in list_believed(store):
        places = by_comment.setdefault(each.id, {})
        before = places.pop(each.path, None)
        deleted.pop(each.id, None)
        if each.comment is not None:
            marker = each.marker or (before.marker if before else None)
            places[each.path] = replace(each, marker=marker)
        elif before and not places:  # else it was moved to another file, where it was written first
            deleted[each.id] = replace(before, at=each.at)
    return by_comment, deleted


def find_erased(store: Store, find_held: FindHeld) -> dict[str, Written]:
    """Returns the comments that we wrote last and nobody holds, by id."""
    by_comment, _ = _read_log(store)
    lost = {name: next(reversed(places.values())) for name, places in by_comment.items() if places}
    held = find_held(lost)
    lost = {name: each for name, each in lost.items() if name not in held}
    by_path: dict[str, list[str]] = {}
    for name, each in lost.items():
        by_path.setdefault(each.path, []).append(name)
    erased = {
        name for path, names in by_path.items() if _is_changed(store, path) for name in _uncommitted(store, path, names)
    }
    return {name: each for name, each in lost.items() if name in erased}


def find_erased_replies(store: Store) -> dict[str, LostReply]:
    """Returns the replies that we wrote and that their comment, which is there, has not got any more, by id."""
    by_path: dict[str, dict[str, LostReply]] = {}
    for each in list_believed(store):
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
            found |= {name: some[name] for name in _uncommitted(store, path, lost)}
    return found


def _list_replies(comment: JsonObject) -> Iterator[tuple[str, JsonObject]]:
    replies = comment.get("replies")
    for each in cast("list[object]", replies) if isinstance(replies, list) else ():
        if isinstance(each, dict) and isinstance(name := cast(JsonObject, each).get("id"), str):
            yield name, cast(JsonObject, each)


def _uncommitted(store: Store, path: str, names: Collection[str]) -> Collection[str]:
    """Returns the ids of comments that git did not take out: the last commit has them, or none."""
    if not store.tree.git:
        return names
    last = read_at(store.tree, "HEAD", path + SUFFIX) or b""
    unknown = [name for name in names if name.encode() not in last]
    elsewhere = list_committed_blobs(store.tree, path + SUFFIX) if unknown else []
    texts = read_objects(store.tree.root, elsewhere, most=MOST_READ).values()
    committed = {name for name in unknown if any(name.encode() in text for text in texts)}
    return [name for name in names if name not in committed]


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


def put_back(store: Store, each: Written) -> None:
    """Write an erased comment into its file again, as it was."""
    comment, marker = each.comment, each.marker
    if comment is None:
        raise CommentNotFound(each.path, each.id)

    def add(sidecar: Sidecar) -> None:
        if sidecar.comment(each.id):
            return  # somebody was faster
        if marker and _find_id(marker, AnyMarker):
            sidecar.add({"line": marker.get("line", 1), **comment}, {**marker, "commentIds": [each.id]})
        else:
            sidecar.add_bare(comment)

    store.change(RelativePath(each.path), add)


def _is_changed(store: Store, path: str) -> bool:
    """Whether a sidecar is there and is not what the last commit holds."""
    try:
        now = store.read_bytes(RelativePath(path))
        store.read(RelativePath(path))
    except Failure:
        return False  # a damaged file has its comments still, and is told as damaged
    return now is not None and not (store.tree.git and read_at(store.tree, "HEAD", path + SUFFIX) == now)
