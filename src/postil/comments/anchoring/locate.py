"""Where markers and their comments are now: texts and markers in, places out. Pure: no files, no clock.

A marker of ours names the version of the file it was made on; with that text at hand the engine compares two whole
files. Without it, and for markers of the extension, the lines kept on the marker are looked for. A marker that keeps no
text at all (the reference server, version 1.0) is believed as long as its line and its symbol exist.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from itertools import chain
from typing import TYPE_CHECKING, TypeAlias

from msgspec.structs import replace

from postil.anchor.fingerprint import Fingerprint, relocate_fingerprints
from postil.anchor.model import Candidate as Option
from postil.anchor.model import Relocation, Span
from postil.anchor.model import Source as Version
from postil.anchor.page import LONGEST_TEXT, MOST_ROWS
from postil.anchor.relocate import relocate_all
from postil.anchor.syntax.languages import language_of
from postil.anchor.syntax.symbols import Symbol, owners, symbols
from postil.comments.anchoring.line_codes import know_lines, recall_lines
from postil.comments.lines import split_lines
from postil.comments.model import LIKELY, Anchor, Candidate, Located, Marker, OtherFile, Place, State
from postil.comments.sidecar.dialects import LONGEST_LINE, trim_line
from postil.comments.source_tree import Source

if TYPE_CHECKING:
    from postil.comments.anchoring.deleted_between import Between
    from postil.comments.sidecar.document import Sidecar

ListBetween: TypeAlias = "Callable[[str], Sequence[Between]]"

# Below this share of unchanged words the code under a comment is another one than the comment speaks of.
STALE_BELOW = 0.6
EXTENDED = 1 / 3
"""The share of the new code that is the old one, at least, where all of that is left and something came to it."""
MOST_KEPT = 50
"""Lines of each kind that are read from a marker: we write forty at most, and a sidecar may hold anything."""
MOST_JUDGED, LONGEST_JUDGED = 41, 200
"""Lines, and characters of each, by which is judged whether a comment is stale."""
MOST_COMPARED = 100_000
"""Characters of a piece of code in which is looked how much of it is left."""
VERY_SURE = 0.95
NONE_LIKELY = "the code is gone, and no place for it is likely"
UNCHANGED = "the file is unchanged"
NOT_KEPT = "(the code was gone, and is not in the export)"
"""What stands for code that an export does not hold, on a marker: no source is asked for it."""


LEFT_OUT = "The export that the comment came with does not hold its code"


class PresentSource:
    """A source as it is now, with what is computed from it once, however many markers ask."""

    def __init__(
        self, path: str, source: Source | None, *, cautious: bool = False, list_between: ListBetween | None = None
    ) -> None:
        self.path = path
        self.list_between = list_between
        """Tells the versions between another one, by its blob id, and this; without it nothing is known of them."""
        self.cautious = cautious
        self.source = source
        self.text = source.text if source else ""
        self.blob = source.blob if source else ""
        self.lines: Sequence[str] = split_lines(self.text) if source else []

    def still_has(self, marker: Marker) -> bool:
        """Whether a marker that keeps only texts stands where it stood: its line, and a neighbour or no twin of it."""
        at = marker.line - 1
        if not marker.lineText or not 0 <= at < len(self.lines) or self.trimmed[at] != marker.lineText:
            return False
        before = self.trimmed[at - 1] if at else ""
        after = self.trimmed[at + 1] if at + 1 < len(self.lines) else ""
        if (before == marker.prevLineText != "") or (after == marker.nextLineText != ""):
            return True
        return self._times[marker.lineText] == 1

    @cached_property
    def trimmed(self) -> list[str]:
        """The lines without the spaces around them, as markers keep them."""
        return [trim_line(line) for line in self.lines]

    @cached_property
    def _times(self) -> Counter[str]:
        return Counter(self.trimmed)

    @cached_property
    def symbols(self) -> list[Symbol]:
        """The named things of the source."""
        return symbols(self.text, language_of(self.path)) if self.source else []

    @cached_property
    def _owners(self) -> list[Symbol | None]:
        return owners(self.symbols, len(self.lines))

    def symbol_at(self, line: int) -> Symbol | None:
        """Returns the innermost named thing of a line."""
        return self._owners[line] if 0 <= line < len(self._owners) else None


def locate_all(
    now: PresentSource,
    markers: Sequence[Marker],
    read_old_texts: Mapping[str, str],
    elsewhere: Sequence[OtherFile] = (),
) -> list[Place]:
    """Returns the place of each marker, in the order asked. `elsewhere` are other files the code may have gone to."""
    found: dict[int, Place] = {}
    by_version: dict[str, list[int]] = {}
    prints: list[int] = []
    for index, marker in enumerate(markers):
        anchor = current_anchor(marker)
        if not anchor and marker.lineText == NOT_KEPT:
            found[index] = Place("orphaned", now.path, marker.line, marker.endLine, reason=LEFT_OUT, oldText=NOT_KEPT)
        elif anchor and anchor.blob == now.blob:
            found[index] = _place_unmoved(marker, now, 1.0, UNCHANGED)
        elif not anchor and now.still_has(marker):
            found[index] = _place_unmoved(marker, now, 0.99, "the line is unchanged")
        elif anchor and anchor.blob in read_old_texts and _is_ours(marker, read_old_texts[anchor.blob]):
            by_version.setdefault(anchor.blob, []).append(index)
        elif marker.lineText or (anchor and (anchor.pre or anchor.post)):
            prints.append(index)
        else:
            found[index] = _place_by_number(marker, now)
    for blob, indexes in by_version.items():
        spans = [Span(markers[index].line, markers[index].endLine) for index in indexes]
        there = _relocate(now, Version(read_old_texts[blob], now.path), blob, spans, elsewhere)
        for index, each in zip(indexes, there, strict=True):
            found[index] = _place_at(markers[index], _doubt(each) if now.cautious else each, now)
    if not prints:  # nothing has to be looked for by its words
        return [found[index] for index in range(len(markers))]
    known = know_lines(chain(now.lines, *(split_lines(each.text) for each in elsewhere)))
    kept = [fingerprint_of(markers[index], known) for index in prints]
    anchors = (current_anchor(markers[index]) for index in prints)
    there = _relocate_fingerprints(now, kept, [each.blob if each else "" for each in anchors], elsewhere)
    for index, each in zip(prints, there, strict=True):
        found[index] = _place_at(markers[index], _doubt(each) if now.cautious else each, now)
    return [found[index] for index in range(len(markers))]


def locate_comments(
    sidecar: Sidecar, now: PresentSource, texts: Mapping[str, str], elsewhere: Sequence[OtherFile] = ()
) -> list[Located]:
    """Returns a sidecar's comments in their places, with the old versions at hand."""
    comments, own = sidecar.comments, {marker.id: marker for marker in sidecar.markers}
    markers = [own.get(each.markerId) or _bare_marker(each.line, each.endLine) for each in comments]
    unique = list({id(marker): marker for marker in markers}.values())
    places = locate_all(now, unique, texts, elsewhere)
    by_marker = {id(marker): place for marker, place in zip(unique, places, strict=True)}
    return [
        Located(comment, own.get(comment.markerId), by_marker[id(marker)], sidecar.path)
        for comment, marker in zip(comments, markers, strict=True)
    ]


def place_by_number(sidecar: Sidecar, reason: str) -> list[Located]:
    """Returns a sidecar's comments where their markers say, for a person to look at: nothing was compared."""
    own = {marker.id: marker for marker in sidecar.markers}
    found: list[Located] = []
    for comment in sidecar.comments:
        marker = own.get(comment.markerId)
        line, end = (marker.line, marker.endLine) if marker else (comment.line, comment.endLine)
        text = marker.lineText if marker else ""
        place = Place("review", sidecar.path, line, end, 0.5, reason, text)
        found.append(Located(comment, marker, place, sidecar.path))
    return found


def _bare_marker(line: int, end: int) -> Marker:
    return Marker("", line, (), end)


def _relocate(
    now: PresentSource, old: Version, blob: str, spans: Sequence[Span], elsewhere: Sequence[OtherFile]
) -> Sequence[Relocation]:
    here: Sequence[Relocation] = relocate_all(old, Version(now.text, now.path), spans)
    if not now.source:  # against a missing file the engine compares with nothing
        here = [_relocate_lost(each.old_text) for each in here]
    elif now.list_between is not None:
        from postil.comments.anchoring.deleted_between import doubt_added  # only where the past is known

        here = doubt_added(old, Version(now.text, now.path), spans, here, partial(now.list_between, blob))
    if not elsewhere:
        return here
    from postil.comments.anchoring.travel import Origin, search_others  # only where code was lost

    origins = [Origin(old, span.start - 1, blob=blob) for span in spans]
    present = Version(now.text, now.path)
    return search_others(
        here, lambda some, other: relocate_all(old, other, [spans[i] for i in some]), origins, present, elsewhere
    )


def _relocate_fingerprints(
    now: PresentSource, kept: Sequence[Fingerprint], blobs: Sequence[str], elsewhere: Sequence[OtherFile]
) -> Sequence[Relocation]:
    """Returns where code is of which only a marker's own texts are known."""
    present = Version(now.text, now.path)
    here = relocate_fingerprints(kept, present) if now.source else [_relocate_lost(each.text) for each in kept]
    if not elsewhere:
        return here
    from postil.comments.anchoring.travel import Origin, search_others  # only where code was lost

    origins = [
        Origin(
            Version("\n".join([*each.before, each.text, *each.after]), now.path), len(each.before), each.symbol, blob
        )
        for each, blob in zip(kept, blobs, strict=True)
    ]
    return search_others(
        here, lambda some, other: relocate_fingerprints([kept[i] for i in some], other), origins, present, elsewhere
    )


def current_anchor(marker: Marker) -> Anchor | None:
    """Our data on a marker, unless another program moved the marker since: then its own texts count."""
    anchor = marker.anchor
    return anchor if anchor and anchor.blob and anchor.line == marker.line else None


def _is_ours(marker: Marker, old: str) -> bool:
    """Whether a marker still speaks of the code we tied it to; another program may have tied it to other code there."""
    lines = split_lines(old)
    return not 1 <= marker.line <= len(lines) or trim_line(lines[marker.line - 1]) == marker.lineText


def _place_unmoved(marker: Marker, now: PresentSource, confidence: float, reason: str) -> Place:
    last = min(max(marker.endLine, marker.line), marker.line + MOST_ROWS)
    text = "\n".join(line[:LONGEST_TEXT] for line in now.lines[marker.line - 1 : last])[:LONGEST_TEXT]
    return Place(
        "exact",
        now.path,
        marker.line,
        marker.endLine,
        confidence,
        reason,
        text,
        text,
        marker.symbolPath,
        marker.symbolKind,
        stale=_is_stale(marker, "exact", text, text),
    )


def _place_by_number(marker: Marker, now: PresentSource) -> Place:
    """Returns the place of a marker that keeps no text: by its line number, and perhaps the name of a symbol."""
    name = marker.symbolPath[-1] if marker.symbolPath else ""
    named = [each for each in now.symbols if each.name == name] if name else []
    line = marker.line
    if not now.source:
        return Place("orphaned", now.path, line, confidence=1.0, reason="The source file no longer exists")
    if name and language_of(now.path) and not named and not any(name in text for text in now.lines):
        return Place("orphaned", now.path, line, confidence=0.9, reason=f"Anchor '{name}' no longer exists")
    inside = [each for each in named if each.span.start <= line <= each.span.last]
    if named and not inside:
        options = tuple(
            Candidate(now.path, each.span.start, 0.5, now.lines[each.span.start - 1].strip()) for each in named[:5]
        )
        reason = f"'{name}' is now at another line"
        place = Place("review", now.path, named[0].span.start, confidence=0.5, reason=reason, candidates=options)
        return _add_symbol(place, now)
    if not 1 <= line <= len(now.lines):
        return Place("orphaned", now.path, line, confidence=0.9, reason="Line number out of bounds")
    text = now.lines[line - 1].strip()[:LONGEST_TEXT]
    reason = f"inside '{name}'" if inside else "only a line number was kept"
    place = Place("exact", now.path, line, marker.endLine, 0.9 if inside else 0.5, reason, oldText=text, newText=text)
    return _add_symbol(place, now)


def fingerprint_of(marker: Marker, known: Mapping[bytes, str]) -> Fingerprint:
    """Returns what a marker keeps of its code, as the engine wants it; `known` are lines of today by their codes."""
    anchor = current_anchor(marker)
    before = anchor.pre[-MOST_KEPT:] if anchor and anchor.pre else (marker.prevLineText,) if marker.prevLineText else ()
    after = anchor.post[:MOST_KEPT] if anchor and anchor.post else (marker.nextLineText,) if marker.nextLineText else ()
    if anchor:
        before = (*recall_lines(anchor.above, known), *before)
        after = (*after, *recall_lines(anchor.below, known))
    body = anchor.body[:MOST_KEPT] if anchor else ()
    text = "\n".join((marker.lineText, *_cut(body)))
    if not after and not (body[-1] if body else marker.lineText):
        after = ("",)  # a blank row at the end of a text is none: something has to stand below it
    return Fingerprint(marker.line, text, _cut(before), _cut(after), marker.symbolPath)


def _cut(lines: Sequence[str]) -> tuple[str, ...]:
    return tuple(line[:LONGEST_LINE] for line in lines)


def _relocate_lost(text: str) -> Relocation:
    return Relocation("orphaned", None, 1.0, "The source file no longer exists", text, "")


def give_up(found: Relocation) -> Relocation:
    """Returns the same, lost where no place is likely enough to be shown as the one that the code may be at."""
    best = max((each.confidence for each in found.candidates), default=1.0)
    if found.state != "review" or best >= LIKELY:
        return found
    return replace(found, state="orphaned", span=None, confidence=1.0 - best, reason=NONE_LIKELY, new_text="")


def _place_at(marker: Marker, found: Relocation, now: PresentSource) -> Place:
    found = give_up(found)
    options = tuple(
        Candidate(each.path or now.path, each.span.start, each.confidence, each.text[:LONGEST_LINE], each.span.end)
        for each in found.candidates
    )
    span = found.span
    path, line = found.path or now.path, span.start if span else marker.line
    symbol = (marker.symbolPath, marker.symbolKind)
    if span and path == now.path:
        symbol = _symbol_at(now, line)
    return Place(
        found.state,
        path,
        line,
        _find_end(marker, span, now) if span and marker.endLine else 0,
        found.confidence,
        found.reason,
        found.old_text,
        found.new_text,
        *symbol,
        options,
        stale=_is_stale(marker, found.state, found.old_text, found.new_text),
    )


def _doubt(found: Relocation) -> Relocation:
    """Returns the same, left to a person unless it is very sure."""
    if found.span is None or found.state in ("exact", "review") or found.confidence >= VERY_SURE:
        return found
    place = Option(found.span, found.confidence, found.new_text, found.path)
    reason = f"{found.reason}, {found.confidence:.0%} sure"
    return replace(found, state="review", reason=reason, candidates=(place,), path="")


def _find_end(marker: Marker, span: Span, now: PresentSource) -> int:
    """Returns the last line of a range. Of the extension's only the first is known: they keep their length."""
    anchor = current_anchor(marker)
    if span.last > span.start or (anchor and (anchor.body or anchor.end == marker.line)):
        return span.last
    end = span.start + marker.endLine - marker.line
    return max(span.start, min(end, len(now.lines))) if now.lines else end


def _add_symbol(place: Place, now: PresentSource) -> Place:
    path, kind = _symbol_at(now, place.line)
    return replace(place, symbolPath=path, symbolKind=kind)


def _symbol_at(now: PresentSource, line: int) -> tuple[tuple[str, ...], str]:
    symbol = now.symbol_at(line)
    return (symbol.path, symbol.kind) if symbol else ((), "")


def _is_stale(marker: Marker, state: State, old: str, new: str) -> bool:
    """Whether the code is another than the comment was written about: since its marker was last renewed, or before.

    Old and new are judged by as much of them as a renewed marker keeps, so that renewing one changes no verdict.
    """
    wrote = marker.anchor.wrote if marker.anchor else ()
    if state not in ("exact", "moved", "modified") or not (wrote or state == "modified"):
        return False
    before, after, whole = wrote or keep_judged(old), keep_judged(new), new
    if len(before) == 1:  # of a range of the extension nothing is known but its first line
        after, whole = after[:1], new.split("\n", 1)[0]
    return _differs_much("\n".join(before), "\n".join(after), whole)


def keep_judged(code: str) -> tuple[str, ...]:
    """Returns of a piece of code what is kept to judge later whether little of it is left."""
    return tuple(line[:LONGEST_JUDGED] for line in code.split("\n")[:MOST_JUDGED])


def _differs_much(old: str, new: str, whole: str) -> bool:
    """Whether little of the code is left, whitespace aside; not of what was only extended to the `whole`."""
    if old == new:
        return False
    import re

    from rapidfuzz.distance import Indel  # only for code that was edited at all; difflib took minutes for 500 words

    words = re.compile(r"\w+|[^\w\s]")
    before, after, extended = (words.findall(text[:MOST_COMPARED]) for text in (old, new, whole))
    if Indel.normalized_similarity(before, after) >= STALE_BELOW:
        return False
    rest = iter(extended)
    return len(before) < EXTENDED * len(extended) or not all(word in rest for word in before)
