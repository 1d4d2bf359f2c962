"""What the extension demands of comments and markers, given to those that lack it. Pure: times and ids are given."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias, cast

from msgspec import UNSET
from msgspec.structs import replace

from postil.comments.model import Comment, Marker, NewMarker
from postil.comments.sidecar.json_edit import Items, JsonObject, decode_object

if TYPE_CHECKING:
    from postil.comments.sidecar.document import LineTexts

_TEXTS = ("lineHash", "lineText", "prevLineText", "nextLineText")
NewId: TypeAlias = Callable[[str], str]
"""Makes an id that begins with a prefix."""


def finish_markers(markers: Sequence[Marker], items: Items, texts_of: Callable[[int], LineTexts], now: str) -> None:
    """Give each marker what it lacks; `items` are the same as they are written."""
    for index, marker in enumerate(markers):
        raw = decode_object(items.texts[index])
        wanted: JsonObject = {"commentIds": list(marker.commentIds)}
        if not all(isinstance(raw.get(key), str) for key in _TEXTS):
            wanted |= texts_of(marker.line)._asdict()
        wanted["lastVerified"] = marker.lastVerified or now
        _add_missing(items, index, raw, wanted)


def finish_comments(
    comments: Sequence[Comment],
    items: Items,
    lines: Mapping[str, int],
    texts_of: Callable[[int], LineTexts],
    now: str,
    new_id: NewId,
) -> Iterable[NewMarker]:
    """Give each comment what it lacks; `lines` are those of the markers. Returns the markers of those that had none."""
    made: dict[int, NewMarker] = {}
    held: dict[int, list[str]] = {}
    for index, comment in enumerate(comments):
        raw = decode_object(items.texts[index])
        has_marker = comment.markerId in lines
        line = lines[comment.markerId] if has_marker else max(comment.line, 1)
        if not has_marker:
            if line not in made:
                made[line] = make_plain_marker(new_id("gm_"), line, texts_of(line), now)
            held.setdefault(line, []).append(str(raw["id"]))
        wanted: JsonObject = {
            "line": line,
            "author": comment.author,
            "created": comment.created or now,
            "updated": comment.updated or comment.created or now,
            "ghostMarkerId": comment.markerId if has_marker else made[line].id,
        }
        _add_missing(items, index, raw, wanted)
    return [replace(marker, commentIds=tuple(held[line])) for line, marker in made.items()]


def rename_twins(
    comments: Items, markers: Items, list_held: Callable[[], Sequence[Sequence[str]]], new_id: NewId
) -> None:
    """Two comments made in the same millisecond by the reference server have one id: the later gets its own.

    `list_held` returns the comments that hang on each marker.
    """
    ids = [*comments.ids]
    if len({*ids}) == len(ids):
        return
    holders, held_by = list_held(), dict[str, list[int]]()
    for at, names in enumerate(holders):
        for name in dict.fromkeys(names):
            held_by.setdefault(name, []).append(at)
    seen, known = dict[str, int](), {*ids}
    joined: dict[int, list[str]] = {}
    for index, name in enumerate(ids):
        count = seen[name] = seen.get(name, 0) + 1
        if count == 1:
            continue
        while (new := new_id("c_")) in known:  # of tens of thousands made in one second some are alike
            pass
        known.add(new)
        comments.replace(index, {**decode_object(comments.texts[index]), "id": new})
        held = held_by.get(name, [])
        if len(held) >= count:
            raw = decode_object(markers.texts[held[count - 1]])
            markers.replace(
                held[count - 1], {**raw, "commentIds": [new]} | {key: new for key in ("commentId",) if key in raw}
            )
        elif held:
            joined.setdefault(held[0], []).append(new)
    for at, more in joined.items():
        raw = decode_object(markers.texts[at])
        names = raw.get("commentIds")
        names = cast(list[object], names) if isinstance(names, list) else [*holders[at]]
        markers.replace(at, {**raw, "commentIds": [*names, *more]})


def make_plain_marker(name: str, line: int, texts: LineTexts, now: str, end: int = 0) -> NewMarker:
    """Returns a marker that knows no more than the texts of its line and the neighbours."""
    return NewMarker(id=name, line=line, endLine=end or UNSET, lastVerified=now, **texts._asdict())


def _add_missing(items: Items, index: int, raw: JsonObject, wanted: JsonObject) -> None:
    missing = {key: value for key, value in wanted.items() if not isinstance(raw.get(key), type(value))}
    if missing:
        items.replace(index, {**raw, **missing})
