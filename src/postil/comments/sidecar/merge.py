"""Merging sidecars: two branches that add, edit or delete comments never conflict, and nothing that was said is lost.

Pure: three texts in, one out. By comment, then by key: what only one side changed is taken from that side. A text that
both changed keeps the newer one, and the other as a revision; a comment deleted here and edited there stays.
"""

from __future__ import annotations

from typing import cast

from postil.comments.model import EDITED_BY
from postil.comments.sidecar.document import OWN_KEY, Sidecar
from postil.comments.sidecar.json_edit import JsonObject

_PLACE_KEYS = (
    "line",
    "endLine",
    "astAnchor",
    "lineHash",
    "lineText",
    "prevLineText",
    "nextLineText",
    "lastVerified",
    OWN_KEY,
)
_LINES = ("line", "startLine", "endLine")
WHERE = (*_LINES, "ghostMarkerId")
"""The keys of a comment that say where it is: all from one side."""
REVISIONS = "x-revisions"


def merge_sidecars(path: str, base: bytes | None, ours: bytes | None, theirs: bytes | None) -> bytes:
    """Returns the sidecar that holds what both sides hold; Unreadable when one of them cannot be understood."""
    old, here, there = Sidecar(path, base), Sidecar(path, ours), Sidecar(path, theirs)
    before, mine, other = _comments(old), _comments(here), _comments(there)
    for comment, raw in other.items():
        known = before.get(comment)
        if comment in mine:
            new = merge_comment(known or {}, mine[comment], raw)
            marker = _moved_there(known or {}, here, mine[comment], there, raw)
            where = raw if marker else mine[comment]
            new = {key: value for key, value in new.items() if key not in WHERE}
            new |= {key: where[key] for key in WHERE if key in where}
            if new != mine[comment]:
                here.change(comment, new, tuple(key for key in mine[comment] if key not in new))
            if marker:
                here.hang(comment, str(mine[comment].get("ghostMarkerId")), there.raw_marker(marker))
        elif known is None or not _says_the_same(known, raw):  # new over there, or edited there and deleted here
            _take(here, there, comment, raw)
    for comment, raw in mine.items():
        if comment not in other and comment in before and _says_the_same(before[comment], raw):
            here.remove(comment)
    _merge_markers(old, here, there)
    return here.text()


def _says_the_same(known: JsonObject, raw: JsonObject) -> bool:
    """Whether nobody touched a comment: its lines are written anew whenever its code moved, by no one's wish."""
    given = ("ghostMarkerId",) if "ghostMarkerId" not in known else ()
    was, now = ({key: each[key] for key in each if key not in (*_LINES, *given)} for each in (known, raw))
    return was == now


def _moved_there(known: JsonObject, here: Sidecar, mine: JsonObject, there: Sidecar, theirs: JsonObject) -> str:
    """Returns the marker that the other side moved a comment to; empty where our side's place counts."""
    old, ours, other = (str(raw.get("ghostMarkerId") or "") for raw in (known, mine, theirs))
    if other in (ours, old) or not any(each.id == other for each in there.markers):
        return ""
    if ours == old:
        return other
    verified = {each.id: each.lastVerified for sidecar in (here, there) for each in sidecar.markers}
    later = max((ours, other), key=lambda marker: (verified.get(marker, ""), marker))
    return later if later != ours else ""


def merge_comment(base: JsonObject, ours: JsonObject, theirs: JsonObject) -> JsonObject:
    """Returns one comment that both sides have."""
    result: JsonObject = {}
    newer = max((ours, theirs), key=lambda raw: (str(raw.get("updated", "")), str(raw.get("text", ""))))
    for key in (*ours, *(key for key in theirs if key not in ours)):
        was, here, there = base.get(key), ours.get(key), theirs.get(key)
        if key in ("replies", REVISIONS):
            result[key] = _union(was, here, there)
        elif here == there or there == was:
            if key in ours:
                result[key] = here
        elif here == was:
            if key in theirs:
                result[key] = there
        elif key in newer:
            result[key] = newer[key]
    said = {str(side.get("text", "")): side for side in (ours, theirs)}
    both_changed = len(said) == 2 and str(base.get("text", "")) not in said
    if both_changed:
        older = theirs if newer is ours else ours
        by = older.get(EDITED_BY) or older.get("author", "")
        revision = {"text": older.get("text"), "author": by, "at": older.get("updated", "")}
        kept = result.get(REVISIONS)
        result[REVISIONS] = _union([], cast("list[object]", kept) if isinstance(kept, list) else [], [revision])
        result.pop(EDITED_BY, None)  # it belongs to the words that stay
        result |= {EDITED_BY: newer[EDITED_BY]} if EDITED_BY in newer else {}
    return result


def add_replies(comment: JsonObject, other: JsonObject) -> JsonObject:
    """Returns a comment with its replies and those that another version of it has."""
    replies = _union([], comment.get("replies"), other.get("replies"))
    return {**comment, "replies": replies} if replies else comment


def _union(base: object, ours: object, theirs: object) -> list[object]:
    """Both lists together: items by their id, else by themselves. One that a side took away is away."""
    was, here, there = (_by_id(each) for each in (base, ours, theirs))
    kept = {key: there.get(key, item) if here[key] == was.get(key) else item for key, item in here.items()}
    kept = {key: item for key, item in kept.items() if key in there or key not in was}
    kept |= {key: item for key, item in there.items() if key not in here and key not in was}
    return sorted(kept.values(), key=_made)


def _by_id(items: object) -> dict[str, object]:
    found: dict[str, object] = {}
    for item in cast("list[object]", items) if isinstance(items, list) else []:
        raw = cast(JsonObject, item) if isinstance(item, dict) else {}
        found[str(raw.get("id") or raw)] = item
    return found


def _made(item: object) -> tuple[str, str]:
    raw = cast(JsonObject, item) if isinstance(item, dict) else {}
    return str(raw.get("created") or raw.get("at") or ""), str(raw.get("id") or raw.get("text") or "")


def _comments(sidecar: Sidecar) -> dict[str, JsonObject]:
    return {each.id: sidecar.raw_comment(each.id) for each in sidecar.comments}


def _take(here: Sidecar, there: Sidecar, comment: str, raw: JsonObject) -> None:
    found = there.comment(comment)
    marker = there.marker_of(found) if found else None
    if marker:
        line: JsonObject = {} if isinstance(raw.get("line"), int) else {"line": marker.line}
        here.add({"line": marker.line, **raw, **line}, {**there.raw_marker(marker.id), "commentIds": [comment]})
    else:
        here.add_bare(raw)


def _merge_markers(old: Sidecar, here: Sidecar, there: Sidecar) -> None:
    """Where a marker is, as one thing: from the side that moved it, or from the one that looked later."""
    before = {each.id: old.raw_marker(each.id) for each in old.markers}
    other = {each.id: there.raw_marker(each.id) for each in there.markers}
    for marker in here.markers:
        theirs = other.get(marker.id)
        if theirs is None:
            continue
        mine = here.raw_marker(marker.id)
        places = [_place(each) for each in (before.get(marker.id, {}), mine, theirs)]
        later = str(theirs.get("lastVerified", "")) > str(mine.get("lastVerified", ""))
        if places[2] not in (places[1], places[0]) and (places[1] == places[0] or later):
            here.change_marker(marker.id, {**dict.fromkeys(("endLine",)), **places[2]})


def _place(raw: JsonObject) -> JsonObject:
    return {key: raw[key] for key in _PLACE_KEYS if key in raw}
