"""What the extension demands of comments and markers, given to those that lack it. Pure: times and ids are given."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from msgspec import UNSET
from msgspec.structs import replace

from postil.comments.model import Comment, Marker, NewMarker
from postil.comments.sidecar.json_edit import Items, JsonObject, decode_object

if TYPE_CHECKING:
    from postil.comments.sidecar.document import LineTexts

NewId: TypeAlias = Callable[[str], str]
"""Makes an id that begins with a prefix."""


def finish_markers(markers: Sequence[Marker], items: Items, texts_of: Callable[[int], LineTexts], now: str) -> None:
    """Give each marker what it lacks; `items` are the same as they are written."""
    for index, marker in enumerate(markers):
        raw = decode_object(items.texts[index])
        wanted: JsonObject = {"commentIds": list(marker.commentIds), **texts_of(marker.line)._asdict()}
        wanted["lastVerified"] = marker.lastVerified or now
        _add_missing(items, index, raw, wanted)


def finish_comments(
    comments: Sequence[Comment],
    items: Items,
    marker_of: Callable[[Comment], Marker | None],
    texts_of: Callable[[int], LineTexts],
    now: str,
    new_id: NewId,
) -> Iterable[NewMarker]:
    """Give each comment what it lacks. Returns the markers that are to be added, for those that had none."""
    made: dict[int, NewMarker] = {}
    for index, comment in enumerate(comments):
        raw = decode_object(items.texts[index])
        marker = marker_of(comment)
        line = marker.line if marker else max(comment.line, 1)
        if not marker:
            new = made.get(line) or make_plain_marker(new_id("gm_"), line, texts_of(line), now)
            made[line] = replace(new, commentIds=(*new.commentIds, str(raw["id"])))
        wanted: JsonObject = {
            "line": line,
            "author": comment.author,
            "created": comment.created or now,
            "updated": comment.updated or comment.created or now,
            "ghostMarkerId": marker.id if marker else made[line].id,
        }
        _add_missing(items, index, raw, wanted)
    return made.values()


def make_plain_marker(name: str, line: int, texts: LineTexts, now: str, end: int = 0) -> NewMarker:
    """Returns a marker that knows no more than the texts of its line and the neighbours."""
    return NewMarker(id=name, line=line, endLine=end or UNSET, lastVerified=now, **texts._asdict())


def _add_missing(items: Items, index: int, raw: JsonObject, wanted: JsonObject) -> None:
    missing = {key: value for key, value in wanted.items() if not isinstance(raw.get(key), type(value))}
    if missing:
        items.replace(index, {**raw, **missing})
