"""Making and renewing markers: what is written about a piece of code so that it is found again. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from postil.anchor.fingerprint import AROUND
from postil.anchor.syntax.symbols import Symbol, innermost
from postil.comments.anchoring.locate import current_anchor
from postil.comments.model import Anchor, Event, Marker, Place
from postil.comments.sidecar.document import OWN_KEY, anchor_object, fingerprint_of
from postil.comments.sidecar.format import new_id, now
from postil.comments.sidecar.json_edit import JsonObject
from postil.comments.source_tree import Source

LONGEST_KEPT = 200
MOST_EVENTS = 20
MOST_BODY = 40


def marker_for(source: Source, symbols: Sequence[Symbol], line: int, end: int = 0) -> JsonObject:
    """A new marker on a line (or a range) of a source."""
    made = now()
    anchor = _anchor(source, line, end)
    shape: JsonObject = {"id": new_id("gm_"), "line": line, "commentIds": []}
    if end:
        shape["endLine"] = end
    return {
        **shape,
        "astAnchor": symbol_object(innermost(symbols, line), line),
        **fingerprint_of(source.lines, line),
        "lastVerified": made,
        OWN_KEY: anchor_object(anchor),
    }


def renewed(marker: Marker, place: Place, source: Source, symbols: Sequence[Symbol]) -> JsonObject:
    """The keys of a marker that is settled in its new place in the same file; what was goes into its history."""
    end = place.endLine if marker.endLine else 0
    return {
        "line": place.line,
        "endLine": end or None,
        "astAnchor": symbol_object(innermost(symbols, place.line), place.line),
        **fingerprint_of(source.lines, place.line),
        "lastVerified": now(),
        OWN_KEY: anchor_object(_anchor(source, place.line, end, history_with(marker, place), wrote_of(marker, place))),
    }


def wrote_of(marker: Marker, place: Place) -> tuple[str, ...]:
    """The code a comment was written about, when it is no longer what its marker is tied to."""
    kept = marker.anchor.wrote if marker.anchor else ()
    if kept or place.state != "modified":
        return kept
    return _kept(place.oldText.split("\n")[: MOST_BODY + 1])


def history_with(marker: Marker, place: Place, path: str = "", comment: str = "") -> tuple[Event, ...]:
    """A marker's history with its present place added, before it goes to the next; `comment` when only one goes."""
    anchor = current_anchor(marker)
    texts = (marker.lineText, marker.prevLineText, marker.nextLineText)
    event = Event(
        now(),
        place.state,
        path,
        marker.line,
        marker.endLine,
        anchor.blob if anchor else "",
        round(place.confidence, 3),
        place.reason[:LONGEST_KEPT],
        comment,
        () if anchor else _kept(texts),
    )
    before = marker.anchor.history if marker.anchor else ()
    return (*before, event)[-MOST_EVENTS:]


def symbol_object(symbol: Symbol | None, line: int) -> JsonObject | None:
    """The extension's `astAnchor`: the kind by VS Code's name, the offset from the symbol's first line."""
    if symbol is None:
        return None
    return {
        "symbolPath": list(symbol.path),
        "symbolKind": symbol.kind.capitalize(),
        "containerName": symbol.containers[-1] if symbol.containers else None,
        "offset": line - symbol.span.start,
    }


def _anchor(
    source: Source, line: int, end: int, history: tuple[Event, ...] = (), wrote: tuple[str, ...] = ()
) -> Anchor:
    lines = source.lines
    last = max(line, end)
    return Anchor(
        blob=source.blob,
        line=line,
        end=end,
        pre=_kept(lines[max(0, line - 1 - AROUND) : line - 1]),
        post=_kept(lines[last : last + AROUND]),
        body=_kept(lines[line : min(last, line + MOST_BODY)]),
        wrote=wrote,
        history=history,
    )


def _kept(lines: Sequence[str]) -> tuple[str, ...]:
    return tuple(line[:LONGEST_KEPT] for line in lines)
