"""What the extension demands of comments and markers, given to those that lack it. Pure: times and ids are given."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, TypeAlias, cast

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


def rename_twins(
    comments: Sequence[Comment], markers: Sequence[Marker], items: Items, marker_items: Items, new_id: NewId
) -> None:
    """Two comments made in the same millisecond by the reference server have one id: the later gets its own."""
    seen: dict[str, int] = {}
    holders = [each.commentIds for each in markers]  # as they were, whatever is written meanwhile
    for index, comment in enumerate(comments):
        count = seen[comment.id] = seen.get(comment.id, 0) + 1
        if count == 1:
            continue
        new = new_id("c_")
        items.replace(index, {**decode_object(items.texts[index]), "id": new})
        held = [at for at, names in enumerate(holders) if comment.id in names]
        if len(held) >= count:
            raw = decode_object(marker_items.texts[held[count - 1]])
            raw["commentIds"] = [new]
            if "commentId" in raw:
                raw["commentId"] = new
            marker_items.replace(held[count - 1], raw)
        elif held:
            raw = decode_object(marker_items.texts[held[0]])
            names = raw.get("commentIds")
            names = cast(list[object], names) if isinstance(names, list) else [*holders[held[0]]]
            marker_items.replace(held[0], {**raw, "commentIds": [*names, new]})


def make_plain_marker(name: str, line: int, texts: LineTexts, now: str, end: int = 0) -> NewMarker:
    """Returns a marker that knows no more than the texts of its line and the neighbours."""
    return NewMarker(id=name, line=line, endLine=end or UNSET, lastVerified=now, **texts._asdict())


def _add_missing(items: Items, index: int, raw: JsonObject, wanted: JsonObject) -> None:
    missing = {key: value for key, value in wanted.items() if not isinstance(raw.get(key), type(value))}
    if missing:
        items.replace(index, {**raw, **missing})
