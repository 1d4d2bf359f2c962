"""The markers of a sidecar while it is merged with another: what hangs on them, and where they are. Pure.

They are written once, when all that hangs on them is known: a file may have 40,000, and one may hold as many comments.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from postil.comments.sidecar.dialects import OWN_KEY, AnyMarker
from postil.comments.sidecar.json_edit import Items, JsonObject, decode_object

if TYPE_CHECKING:
    from postil.comments.model import Comment
    from postil.comments.sidecar.document import Sidecar

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


class _Hung:
    """One marker: where it is in our file (-1 for one that is taken over), and what hangs on it."""

    def __init__(self, name: str, at: int, held: dict[str, None]) -> None:
        self.name, self.at, self.held = name, at, held
        self.changed = False


class HungMarkers:
    """The markers of our side, and what the merge does to them. `gone` are those on which nothing hangs any more."""

    def __init__(self, old: Sidecar, here: Sidecar, there: Sidecar) -> None:
        self._before, self._mine, self._other = (each.lists()[1] for each in (old, here, there))
        self._named: dict[str, _Hung] = {}
        self._holders: dict[str, list[_Hung]] = {}
        self._all: list[_Hung] = []
        self.gone: set[int] = set()
        self._lines: dict[str, int] = {}
        self._verified: dict[str, str] = {}
        for raw in there.raw_markers:
            self._lines.setdefault(raw.id, max(raw.line, 1))
            self._verified.setdefault(raw.id, raw.lastVerified or "")
        self._mine_lines: list[int] = []
        for index, raw in enumerate(here.raw_markers):
            self._mine_lines.append(raw.line)
            self._verified.setdefault(raw.id, raw.lastVerified or "")
            self._add(_Hung(raw.id, index, dict.fromkeys(_list_held(raw))))

    def _add(self, marker: _Hung) -> None:
        self._all.append(marker)
        self._named.setdefault(marker.name, marker)
        for comment in marker.held:
            self._holders.setdefault(comment, []).append(marker)

    def take(self, comment: Comment) -> int:
        """Hang a comment of the other side where it hangs there. Returns the line of its marker; 0 without one."""
        line = self._lines.get(comment.markerId, 0) if comment.markerId else 0
        if line:
            self._put(comment.id, comment.markerId)
        return line

    def find_moved(self, known: JsonObject, mine: JsonObject, theirs: JsonObject) -> str:
        """Returns the marker that the other side moved a comment to; empty where our side's place counts."""
        old, ours, other = (str(raw.get("ghostMarkerId") or "") for raw in (known, mine, theirs))
        if other in (ours, old) or other not in self._lines:
            return ""
        if ours == old:
            return other
        later = max((ours, other), key=lambda marker: (self._verified.get(marker, ""), marker))
        return later if later != ours else ""

    def hang(self, comment: str, old: str, marker: str) -> None:
        """Take a comment from its old marker to another one."""
        self.take_off(comment, old)
        self._put(comment, marker)

    def _put(self, comment: str, marker: str) -> None:
        found = self._named.get(marker)
        if found is None:
            found = _Hung(marker, -1, {})
            self._add(found)
        if comment not in found.held:
            found.held[comment] = None
            found.changed = True
            self._holders.setdefault(comment, []).append(found)

    def take_off(self, comment: str, named: str | None = None) -> None:
        """Take a comment off all markers, or off the one that is named; where nothing hangs then, it is gone."""
        for marker in self._holders.get(comment, ()):
            if comment in marker.held and named in (None, marker.name):
                del marker.held[comment]
                marker.changed = True
                if not marker.held and self._named.get(marker.name) is marker:
                    del self._named[marker.name]

    def list_lines(self) -> Sequence[int]:
        """Returns the lines of our markers, as they were."""
        return self._mine_lines

    def finish(self) -> list[JsonObject]:
        """Write what became of our markers. Returns those that are to be added."""
        added: list[JsonObject] = []
        for marker in self._all:
            if marker.changed and not marker.held:
                self.gone |= {marker.at} - {-1}
            elif marker.at < 0:
                raw = decode_object(self._other.texts[self._other.find(marker.name)])
                added.append({**raw, "commentIds": [*marker.held]})
            else:
                self._write(marker)
        return added

    def _write(self, marker: _Hung) -> None:
        is_first = self._mine.find(marker.name) == marker.at
        theirs = _piece(self._other, marker.name) if is_first else None
        mine = self._mine.texts[marker.at]
        if not marker.changed and (theirs is None or bytes(theirs) == bytes(mine)):
            return
        raw = decode_object(mine)
        new = dict(raw)
        if theirs is not None:
            known = _piece(self._before, marker.name)
            new = _merge_place(decode_object(known) if known else {}, raw, decode_object(theirs))
        if marker.changed:
            new["commentIds"] = [*marker.held]
        if new != raw:
            self._mine.replace(marker.at, new)


def _piece(items: Items, name: str) -> bytes | None:
    at = items.find(name)
    return bytes(items.texts[at]) if at >= 0 else None


def _list_held(raw: AnyMarker) -> list[str]:
    return raw.commentIds if raw.commentIds is not None else [raw.commentId] if raw.commentId else []


def _merge_place(was: JsonObject, mine: JsonObject, theirs: JsonObject) -> JsonObject:
    """Where a marker is, as one thing: from the side that moved it, or from the one that looked later."""
    before, here, there = (_find_place(each) for each in (was, mine, theirs))
    later = str(theirs.get("lastVerified", "")) > str(mine.get("lastVerified", ""))
    if there in (here, before) or not (here == before or later):
        return dict(mine)
    moved = {key: value for key, value in mine.items() if key != "endLine" or key in there}
    return moved | {key: value for key, value in there.items() if value is not None or key in mine}


def _find_place(raw: JsonObject) -> JsonObject:
    return {key: raw[key] for key in _PLACE_KEYS if key in raw}
