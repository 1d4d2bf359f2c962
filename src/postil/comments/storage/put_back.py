"""Writing comments and replies again that are gone (`storage/erased.py`), into files that changed since.

A sidecar that another program deleted whole comes back as it was committed, with what was written here since. Of a
comment that both have, what was said later counts, and the replies of both.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import cast

from msgspec.structs import replace

from postil.comments.failures import CommentNotFound
from postil.comments.git.taken_out import find_commit_time, find_vanished, read_committed, read_staged
from postil.comments.sidecar.dialects import AnyMarker, Unreadable, find_id
from postil.comments.sidecar.document import Sidecar
from postil.comments.sidecar.json_edit import JsonObject
from postil.comments.sidecar.merge import WHERE, add_replies
from postil.comments.sidecar.noted import LostReply, list_replies
from postil.comments.storage.store import Store, sidecar_path
from postil.comments.storage.write_log import Written
from postil.core.failure import Failure
from postil.workspace.files import atomic_write
from postil.workspace.paths import RelativePath


def put_back_reply(store: Store, name: str, each: LostReply) -> None:
    """Write an erased reply into its comment again, where it was in time."""

    def add(sidecar: Sidecar) -> None:
        if not sidecar.comment(each.comment):
            raise CommentNotFound(each.path, each.comment)
        here = dict(list_replies(sidecar.raw_comment(each.comment)))
        if name not in here:
            replies = sorted([*here.values(), each.reply], key=lambda reply: str(reply.get("created", "")))
            sidecar.change(each.comment, {"replies": replies})

    store.change(RelativePath(each.path), add)


def put_back(
    store: Store, path: RelativePath, some: Collection[Written], taken_out: Mapping[str, str]
) -> list[Written]:
    """Write erased comments of one file into it again. Returns them as they are in it.

    Of a sidecar that comes back as it was committed, comments that were `taken_out` after that (by when) stay out.
    """
    is_back = _write_committed(store, path)
    again = {each.id for each in some}
    left = {name: at for name, at in taken_out.items() if name not in again} if is_back else {}

    def add(sidecar: Sidecar) -> list[Written]:
        _leave_out(store, sidecar, left)
        return [_put(sidecar, each, is_back) for each in some]

    return store.change(path, add)


def read_deleted(store: Store, path: RelativePath, taken_out: Mapping[str, str]) -> Sidecar | None:
    """Returns what would come back of a sidecar that git has and another program deleted; None if it cannot be read."""
    try:
        content = _read_known(store, path)
        sidecar = store.parse(path, content) if content else None
    except (Failure, Unreadable):
        return None
    if sidecar is not None:
        _leave_out(store, sidecar, taken_out)
    return sidecar


def _leave_out(store: Store, sidecar: Sidecar, taken_out: Mapping[str, str]) -> None:
    """Take out what was taken out after the last commit."""
    committed = find_commit_time(store.tree, sidecar.path) if taken_out else ""
    for name, at in taken_out.items():
        if sidecar.comment(name) and at > max(committed, _find_moment(sidecar.raw_comment(name))):
            sidecar.remove(name)


def _read_known(store: Store, path: RelativePath) -> bytes | None:
    """Returns a sidecar as the last commit has it, or, where that has none, the index."""
    return read_committed(store.tree, path) or read_staged(store.tree, path).ours


def _write_committed(store: Store, path: RelativePath) -> bool:
    """Write a sidecar that another program deleted as the last commit has it. Returns whether it was so."""
    if store.has(path) or not store.tree.git or path not in find_vanished(store.tree, [path]):
        return False
    content = _read_known(store, path)
    if not content:
        return False
    with store.locked():
        if store.has(path):
            return False
        atomic_write(store.tree.root, sidecar_path(path), content)
    return True


def _put(sidecar: Sidecar, each: Written, is_back: bool) -> Written:
    if not sidecar.comment(each.id):
        _add(sidecar, each)
        return each
    if is_back:  # else somebody was faster
        _renew(sidecar, each)
    return replace(each, comment=sidecar.raw_comment(each.id))


def _renew(sidecar: Sidecar, each: Written) -> None:
    """Say of a committed comment what was said here later, and tie it to where it was moved here later."""
    here, written = sidecar.raw_comment(each.id), each.comment or {}
    is_later = _find_moment(written) > _find_moment(here)
    new = add_replies(written, here) if is_later else add_replies(here, written)
    found = sidecar.comment(each.id)
    held = sidecar.marker_of(found) if found else None
    marker = each.marker
    is_moved = (
        marker is not None
        and find_id(marker, AnyMarker) != ""
        and written.get("line") != here.get("line")
        and str(marker.get("lastVerified", "")) > (held.lastVerified if held else "")
    )
    where = {**written, "ghostMarkerId": marker["id"]} if marker and is_moved else here
    new = {key: value for key, value in new.items() if key not in WHERE}
    new |= {key: where[key] for key in WHERE if key in where}
    if new != here:
        sidecar.change(each.id, new, tuple(key for key in here if key not in new))
    if marker and is_moved:
        sidecar.hang(each.id, held.id if held else "", marker)


def _find_moment(raw: JsonObject) -> str:
    """Returns when something was said last in a comment."""
    return str(raw.get("updated") or raw.get("created") or "")


def _add(sidecar: Sidecar, each: Written) -> None:
    comment, marker = each.comment, each.marker
    if comment is None:
        raise CommentNotFound(each.path, each.id)
    if marker and find_id(marker, AnyMarker):
        placed = comment if "line" in comment else {"line": marker.get("line", 1), **comment}
        sidecar.add(placed, {**marker, "commentIds": [each.id]}, _list_behind(marker, each.id))
    else:
        sidecar.add_bare(comment)


def _list_behind(marker: JsonObject, comment: str) -> list[object]:
    """Returns the comments that stood behind one on its marker."""
    held = marker.get("commentIds")
    names = cast("list[object]", held) if isinstance(held, list) else []
    return names[names.index(comment) + 1 :] if comment in names else []
