"""Making and renewing markers: what is written about a piece of code so that it is found again. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import UNSET, to_builtins

from postil.anchor.fingerprint import AROUND
from postil.anchor.syntax.symbols import Symbol, innermost
from postil.comments.anchoring import line_codes
from postil.comments.anchoring.line_codes import code_lines
from postil.comments.anchoring.locate import current_anchor, keep_judged
from postil.comments.model import Anchor, Event, Marker, NewMarker, Place, SymbolAnchor
from postil.comments.sidecar.dialects import trim_line
from postil.comments.sidecar.document import LineTexts
from postil.comments.sidecar.json_edit import JsonObject
from postil.comments.source_tree import Source

LONGEST_KEPT = 200
MOST_EVENTS = 20
MOST_BODY = 40
FEWEST_WHOLE = 6
"""Lines, blank ones aside, that tell by themselves where they are."""
_EXTENSION_LANGUAGES = (".ts", ".tsx", ".js", ".jsx", ".mjs", ".cjs", ".mts", ".cts")


def make_marker(
    source: Source,
    symbol: Symbol | None,
    line: int,
    end: int = 0,
    *,
    name: str,
    now: str,
    history: tuple[Event, ...] = (),
    wrote: tuple[str, ...] = (),
) -> NewMarker:
    """Returns a new marker on a line (or a range) of a source, inside a symbol; `name` becomes its id."""
    lines = source.lines
    last = max(line, end)
    first = max(0, line - 1 - AROUND)
    return NewMarker(
        id=name,
        line=line,
        endLine=end or UNSET,
        astAnchor=_symbol_anchor(symbol, line) if symbol else None,
        lastVerified=now,
        anchor=Anchor(
            blob=source.blob,
            line=line,
            end=end,
            pre=_shorten(lines[first : line - 1]),
            post=_shorten(lines[last : last + AROUND]),
            above=code_lines(lines[max(0, first - line_codes.AROUND) : first]),
            below=code_lines(lines[last + AROUND : last + AROUND + line_codes.AROUND]),
            body=_shorten(lines[line : min(last, line + MOST_BODY)]),
            wrote=wrote,
            history=history,
        ),
        **LineTexts.at(lines, line)._asdict(),
    )


def renew_marker(marker: Marker, place: Place, source: Source, symbols: Sequence[Symbol], now: str) -> JsonObject:
    """Returns the keys of a marker in its new place in the same file; where it was goes into its history."""
    end = place.endLine if marker.endLine else 0
    history, wrote = extend_history(marker, place, now), wrote_of(marker, place)
    symbol = innermost(symbols, place.line)
    new = make_marker(source, symbol, place.line, end, name=marker.id, now=now, history=history, wrote=wrote)
    values: JsonObject = {"endLine": None, **to_builtins(new)}
    return {key: value for key, value in values.items() if key not in ("id", "commentIds")}


def wrote_of(marker: Marker, place: Place) -> tuple[str, ...]:
    """Returns the code that a comment was written about, when its marker is tied to other code by now."""
    kept = marker.anchor.wrote if marker.anchor else ()
    if kept or place.state != "modified":
        return kept
    return keep_judged(place.oldText)


def extend_history(marker: Marker, place: Place, now: str, path: str = "", comment: str = "") -> tuple[Event, ...]:
    """Returns a marker's history with the place that it leaves; `comment` when only that one leaves."""
    anchor = current_anchor(marker)
    texts = (marker.lineText, marker.prevLineText, marker.nextLineText)
    event = Event(
        now,
        place.state,
        path,
        marker.line,
        marker.endLine,
        anchor.blob if anchor else "",
        round(place.confidence, 3),
        place.reason[:LONGEST_KEPT],
        comment,
        () if anchor else _shorten(texts),
    )
    before = marker.anchor.history if marker.anchor else ()
    return (*before, event)[-MOST_EVENTS:]


def stands_whole(marker: Marker, place: Place, lines: Sequence[str]) -> bool:
    """Whether all lines that a marker keeps stand at a place as they did, in the same symbol, and nowhere else."""
    anchor, length = current_anchor(marker), max(0, marker.endLine - marker.line)
    if anchor is None or place.symbolPath != marker.symbolPath or len(anchor.body) != length:
        return False
    kept = [trim_line(each) for each in (*anchor.pre, marker.lineText, *anchor.body, *anchor.post)]
    if sum(map(bool, kept)) < FEWEST_WHOLE:
        return False
    now = [trim_line(line[:LONGEST_KEPT]) for line in lines]
    there = [at for at in range(len(now)) if now[at : at + len(kept)] == kept]
    return there == [place.line - 1 - len(anchor.pre)]


def _symbol_anchor(symbol: Symbol, line: int) -> SymbolAnchor:
    """Returns the symbol as the extension names it, and the line counted from where its editor says it begins.

    To the editor a comment above a definition is none of it, and a decorator is, however many lines it has. So a line
    of that comment counts backwards.
    """
    container = symbol.containers[-1] if symbol.containers else None
    start = symbol.top or symbol.line or symbol.span.start
    return SymbolAnchor(tuple(symbol.path), symbol.kind.capitalize(), container, line - start)


def is_counted_by_editors(marker: Marker, path: str) -> bool:
    """Whether the extension looks for a marker of ours by symbol and offset, whatever the lines say."""
    return marker.anchor is not None and path.endswith(_EXTENSION_LANGUAGES)


def count_anew(marker: Marker, symbols: Sequence[Symbol]) -> JsonObject:
    """Returns the keys that change of a marker that stands where it stood: the symbol around it may begin elsewhere.

    Where the extension took a range to other lines, it left the last one behind.
    """
    symbol = innermost(symbols, marker.line)
    now = _symbol_anchor(symbol, marker.line) if symbol else None
    keys: JsonObject = {}
    if (marker.symbolPath, marker.offset) != ((now.symbolPath, now.offset) if now else ((), 0)):
        keys["astAnchor"] = to_builtins(now)
    if marker.endLine and current_anchor(marker) is None:
        keys["endLine"] = marker.endLine
    return keys


def _shorten(lines: Sequence[str]) -> tuple[str, ...]:
    return tuple(line[:LONGEST_KEPT] for line in lines)
