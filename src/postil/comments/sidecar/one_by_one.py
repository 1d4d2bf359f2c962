"""A large sidecar, read one comment at a time: it may have 16 MB, and nobody holds all of it as objects.

What is there is asked of the text whenever somebody wants it; a change of one comment changes its piece of the text,
and the others stay views of the file. Pure. Not here: what is changed.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from postil.comments.model import LineNumber
from postil.comments.sidecar import dialects
from postil.comments.sidecar.json_edit import ReadAnew
from postil.core.others.number import read_float
from postil.core.others.unreadable import UNREADABLE

if TYPE_CHECKING:
    from postil.comments.model import Comment
    from postil.comments.sidecar.json_edit import Document, Items, Piece

_comment = msgspec.json.Decoder(dialects.AnyComment, float_hook=read_float).decode
_full_comment = msgspec.json.Decoder(dialects.ExtensionComment, float_hook=read_float).decode
_marker = msgspec.json.Decoder(dialects.AnyMarker, float_hook=read_float).decode
_full_marker = msgspec.json.Decoder(dialects.ExtensionMarker, float_hook=read_float).decode


class _Lined(Struct, frozen=True):
    id: str
    line: LineNumber | None = None


class _Holds(Struct, frozen=True):
    line: LineNumber
    commentIds: list[str] | None = None
    commentId: str | None = None


_lined = msgspec.json.Decoder(_Lined).decode
_holds = msgspec.json.Decoder(_Holds).decode


class OneByOne:
    """The comments and markers of one large sidecar, as its document is now."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._comments, self._markers = document.items("comments"), document.items("ghostMarkers")
        self._holders: _Holders | None = None
        self.raw_markers = ReadAnew(self._markers, _marker)
        self.markers = ReadAnew(self._markers, lambda piece: dialects.read_marker(_marker(piece)))

    @property
    def comments(self) -> ReadAnew[Comment]:
        """The comments, in the file's order."""
        # Not kept: it would refer to itself, and the file be held until Python looks for such things.
        return ReadAnew(self._comments, self._read_comment)

    @property
    def names(self) -> dialects.AnyFile:
        """What the file says of itself."""
        said = (self._document.value(key) for key in ("file", "filePath", "fileName", "version"))
        file, path, name, version = (each if isinstance(each, str) else None for each in said)
        return dialects.AnyFile(file, path, name, version)

    def list_lines(self) -> list[tuple[str, int]]:
        """Returns the id and the line of each comment."""
        return [(each.id, each.line or 0) for each in map(_lined, self._comments.texts)]

    def forget_holders(self) -> None:
        """Other comments hang on the markers than before, or they have other places."""
        self._holders = None

    def move_holder(self, at: int) -> None:
        """A marker has another line than before."""
        if self._holders:
            self._holders.read_line(at)

    def is_complete(self) -> bool:
        """Whether the extension takes it as it is."""
        known, values = self._document.keys(), self._document
        if not all(isinstance(values.value(key), str) for key in ("file", "version")):
            return False
        if not self._is_list("comments") or ("ghostMarkers" in known and not self._is_list("ghostMarkers")):
            return False
        ids = self._comments.ids
        return (
            len({*ids}) == len(ids)
            and all(_is_full(each, _full_comment) for each in self._comments.texts)
            and all(_is_full(each, _full_marker) for each in self._markers.texts)
        )

    def _is_list(self, key: str) -> bool:
        first = bytes(memoryview(self._document.raw(key))[:1])
        return first == b"[" or self._document.items(key).changed

    def _read_comment(self, piece: Piece) -> Comment:
        raw = _comment(piece)
        if self._holders is None:
            self._holders = _Holders(self._markers)
        return dialects.read_comment(raw, self._holders.find(raw.id, raw.ghostMarkerId))


class _Holders:
    """Which marker each comment hangs on: found without reading a marker again, which may hold very many."""

    def __init__(self, markers: Items) -> None:
        self._markers = markers
        self._lines = array("i")
        self._first: dict[str, int] = {}
        self._others: dict[tuple[str, str], int] = {}
        for index, piece in enumerate(markers.texts):
            each = _holds(piece)
            self._lines.append(max(each.line, 1))
            held = each.commentIds if each.commentIds is not None else [each.commentId] if each.commentId else []
            for comment in held:
                if self._first.setdefault(comment, index) != index:
                    self._others.setdefault((comment, markers.ids[index]), index)

    def read_line(self, at: int) -> None:
        """Read anew where a marker is."""
        self._lines[at] = max(_holds(self._markers.texts[at]).line, 1)

    def find(self, comment: str, named: str | None) -> dialects.Holder | None:
        """Returns the marker that holds a comment, of several the one that it names; else the one that it names."""
        at = self._first.get(comment, -1)
        if named is not None:
            at = self._markers.find(named) if at < 0 else self._others.get((comment, named), at)
        return dialects.Holder(self._markers.ids[at], self._lines[at]) if at >= 0 else None


def check_items(text: bytes) -> None:
    """Raises Unreadable where a large file is no sidecar, or a field of a comment or marker has the wrong type."""
    outline = dialects.read_outline(text)
    for key, pieces, read in (
        ("comments", outline.comments, _comment),
        ("ghostMarkers", outline.ghostMarkers, _marker),
    ):
        for index, piece in enumerate(pieces or ()):
            try:
                read(piece)
            except UNREADABLE as fault:
                said = str(fault).replace("`$", f"`$.{key}[{index}]", 1)
                raise dialects.Unreadable(f"a field has the wrong type: {said}") from None


def _is_full(piece: Piece, read: Callable[[Piece], object]) -> bool:
    try:
        read(piece)
    except UNREADABLE:
        return False
    return True
