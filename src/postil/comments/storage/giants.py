"""Comment files that are not changed here: they hold a comment that is too large, or too many, or would be too large.

To change a comment is to hold it several times, as bytes and as characters. Ours never grow so large (`limits.THREAD`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from postil.comments.failures import CommentFileFull, CommentTooLarge, SidecarDamaged, refuse_full
from postil.comments.sidecar.dialects import Unreadable, read_outline
from postil.core import limits
from postil.core.others.unreadable import UNREADABLE

if TYPE_CHECKING:
    from postil.comments.sidecar.document import Sidecar
    from postil.comments.storage.store import Store
    from postil.workspace.paths import RelativePath


class _Named(msgspec.Struct, frozen=True):
    id: object = None


def read_to_change(store: Store, path: RelativePath) -> Sidecar:
    """Returns a sidecar that is to be changed. Raises CommentTooLarge before a giant comment is understood."""
    data = store.read_bytes(path)
    refuse_giants(path, data)
    try:
        return store.parse(path, data)
    except SidecarDamaged:
        return store.read(path)  # which waits for who is writing it


def refuse_giants(path: str, data: bytes | None) -> None:
    """Raises CommentTooLarge where a file holds a comment or marker that is too large to be changed here.

    Raises CommentFileFull where it holds too many of them.
    """
    if data is None or len(data) <= limits.CHANGED_COMMENT:
        return
    try:
        outline = read_outline(data)
    except Unreadable:
        return  # whoever reads it says so
    for what, some in (("comment", outline.comments), ("marker", outline.ghostMarkers)):
        if len(some or ()) > limits.CHANGED_COMMENTS:
            raise CommentFileFull(path, f"holds more than {limits.CHANGED_COMMENTS:,} {what}s")
        for each in some or ():
            size = len(memoryview(each))
            if size > limits.CHANGED_COMMENT:
                raise CommentTooLarge(path, _read_id(each), size, limits.CHANGED_COMMENT, what)


def refuse_merge(path: str, *sides: bytes | None) -> None:
    """Raises CommentFileFull, or CommentTooLarge, where versions of a comment file are too large to be merged here."""
    size = sum(len(side or b"") for side in sides)
    if size > limits.MERGED:
        raise CommentFileFull(path, f"has versions of {size:,} bytes, and no more than {limits.MERGED:,} are merged")
    for side in sides:
        refuse_giants(path, side)


def merge_or_keep(name: str, base: bytes | None, ours: bytes | None, theirs: bytes | None) -> bytes:
    """Returns what both sides of a comment file say; ours, or else theirs, where they cannot be merged here.

    `name` is that of the comment file. For who has to go on: theirs is kept by the commits it came with.
    """
    from postil.comments.sidecar.merge import merge_sidecars  # only for a workspace that many hosts share

    path = name.removesuffix(".comments")
    try:
        refuse_merge(path, base, ours, theirs)
        merged = merge_sidecars(path, base, ours, theirs)
        refuse_full(path, len(merged))
    except (Unreadable, CommentFileFull, CommentTooLarge):
        return (theirs if ours is None else ours) or b""
    return merged


def refuse_grown(sidecar: Sidecar) -> None:
    """Raises CommentTooLarge where a comment became too long to be changed again: tiny values grow, indented."""
    size, comment = sidecar.longest
    if size > limits.CHANGED_COMMENT:
        raise CommentTooLarge(sidecar.path, comment, size, limits.CHANGED_COMMENT)


def _read_id(piece: msgspec.Raw) -> str:
    try:
        return str(msgspec.json.decode(piece, type=_Named).id)[:100]
    except UNREADABLE:
        return "without an id"
