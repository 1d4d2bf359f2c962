"""Merging sidecars: two branches that add, edit or delete comments never conflict, and nothing that was said is lost.

Pure: three texts in, one out. By comment, then by key: what only one side changed is taken from that side. A text that
both changed keeps the newer one, and the other as a revision; a comment deleted here and edited there stays.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import cast

from postil.comments.model import EDITED_BY, REVISIONS, Comment
from postil.comments.sidecar.document import Sidecar
from postil.comments.sidecar.hung_markers import HungMarkers
from postil.comments.sidecar.json_edit import Items, JsonObject, decode_object

_LINES = ("line", "startLine", "endLine")
WHERE = (*_LINES, "ghostMarkerId")
"""The keys of a comment that say where it is: all from one side."""


def merge_sidecars(path: str, base: bytes | None, ours: bytes | None, theirs: bytes | None) -> bytes:
    """Returns the sidecar that holds what both sides hold; Unreadable when one of them cannot be understood."""
    old, here, there = Sidecar(path, base), Sidecar(path, ours), Sidecar(path, theirs)
    (before, _), (mine, _), (other, _) = old.lists(), here.lists(), there.lists()
    hung = HungMarkers(old, here, there)
    added: list[JsonObject] = []
    bare: list[JsonObject] = []
    for index, found in enumerate(there.comments):
        if other.find(found.id) != index:
            continue  # a twin: the first of them counts
        piece, known = other.texts[index], before.find(found.id)
        at = mine.find(found.id)
        if at >= 0:
            if bytes(mine.texts[at]) != bytes(piece):
                was = decode_object(before.texts[known]) if known >= 0 else {}
                _merge_one(mine, at, was, decode_object(piece), hung)
            continue
        raw = decode_object(piece)
        if known >= 0 and _says_the_same(decode_object(before.texts[known]), raw):
            continue  # deleted here, and not edited there
        line = hung.take(found)
        if line:
            own: JsonObject = {} if isinstance(raw.get("line"), int) else {"line": line}
            added.append({"line": line, **raw, **own, "ghostMarkerId": found.markerId})
        else:
            bare.append(raw)
    removed: set[int] = set()
    for index, name in enumerate(mine.ids):
        known = before.find(name) if other.find(name) < 0 and mine.find(name) == index else -1
        if known >= 0 and _says_the_same(decode_object(before.texts[known]), decode_object(mine.texts[index])):
            removed.add(index)
            hung.take_off(name)
    new_markers = hung.finish()
    if added or bare or removed:
        lines = [_find_line(decode_object(piece)) for piece in mine.texts] if added else []
        mine.rearrange([*_place(lines, added), *((len(mine), raw) for raw in bare)], removed)
    if new_markers or hung.gone:
        here.lists()[1].rearrange(_place(hung.list_lines(), new_markers), hung.gone)
    return here.text()


def list_reworded(path: str, ours: bytes | None, theirs: bytes | None, merged: bytes) -> list[Comment]:
    """Returns the comments that got another wording beside their own by a merge: both sides had changed them."""
    if f'"{REVISIONS}"'.encode() not in merged:
        return []
    before = [{each.id: each.revisions for each in Sidecar(path, side).comments} for side in (ours, theirs)]
    return [
        each
        for each in Sidecar(path, merged).comments
        if any(kept not in known.get(each.id, ()) for kept in each.revisions for known in before)
    ]


def _place(lines: Sequence[int], items: Sequence[JsonObject]) -> list[tuple[int, JsonObject]]:
    """Returns where the extension would put some items: each after the last whose line is not greater."""
    least = [*accumulate(reversed(lines), min)][::-1]  # of the lines from there on
    return [(bisect_right(least, _find_line(each)), each) for each in sorted(items, key=_find_line)]


def _find_line(raw: JsonObject) -> int:
    line = raw.get("line")
    return line if isinstance(line, int) else 0


def _merge_one(mine: Items, at: int, was: JsonObject, theirs: JsonObject, hung: HungMarkers) -> None:
    """Write a comment that both sides have, and have it hang where it belongs."""
    ours = decode_object(mine.texts[at])
    new = merge_comment(was, ours, theirs)
    marker = hung.find_moved(was, ours, theirs)
    where = theirs if marker else ours
    new = {key: value for key, value in new.items() if key not in WHERE}
    new |= {key: where[key] for key in WHERE if key in where}
    if new != ours:
        mine.replace(at, {key: value for key, value in ours.items() if key in new} | new)
    if marker:
        hung.hang(str(ours.get("id")), str(ours.get("ghostMarkerId")), marker)


def _says_the_same(known: JsonObject, raw: JsonObject) -> bool:
    """Whether nobody touched a comment: its lines are written anew whenever its code moved, by no one's wish."""
    given = ("ghostMarkerId",) if "ghostMarkerId" not in known else ()
    was, now = ({key: each[key] for key in each if key not in (*_LINES, *given)} for each in (known, raw))
    return was == now


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
