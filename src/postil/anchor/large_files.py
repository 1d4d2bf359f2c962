"""Files of very many lines: only what is between the first and the last changed line is compared.

A comparison takes about 10 µs and 1.5 KB a line, so two files of 16 MB that hold nothing but short lines took minutes
and gigabytes. What both versions begin and end with is found without cutting them into lines.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from postil.anchor.model import SETTLED, Candidate, Relocation, Source, Span
from postil.anchor.page import LONGEST_TEXT

MOST_LINES = 100_000
"""Lines of both versions together that are compared at once: half a second, 80 MB."""
LONG_ENOUGH = 6
"""Characters of a line that is not the only one of its kind by chance."""
AROUND = 200
"""Unchanged lines on each side that are compared too: what moved is known by its neighbours."""

Relocate = Callable[[Source, Source, Sequence[Span]], list[Relocation]]


def is_large(old: str, new: str) -> bool:
    """Returns whether two versions are too large to be compared whole."""
    return len(old) + len(new) > MOST_LINES and old.count("\n") + new.count("\n") > MOST_LINES


def relocate_within(old: Source, new: Source, spans: Sequence[Span], relocate: Relocate) -> list[Relocation]:
    """Returns where each span is now. What stands before and behind all changes needs no comparison."""
    head, tail = _find_changed(old.text, new.text)
    first = old.text.count("\n", 0, head)
    behind = old.text.count("\n", 0, len(old.text) - tail) + 1
    drift = new.text.count("\n") - old.text.count("\n")
    inside = [span for span in spans if first < span.last and span.start <= behind]
    before, after = (Source(each.text[head : len(each.text) - tail], each.path) for each in (old, new))
    if is_large(before.text, after.text):
        found = [_find_same(old.text, new.text, span) for span in inside]
    else:
        moved = [Span(max(1, span.start - first), span.end and max(1, span.last - first)) for span in inside]
        found = [_shift(each, first) for each in relocate(before, after, moved)]
    known = dict(zip(inside, found, strict=True))
    return [known.get(span) or _stay(old.text, span, drift if span.start > behind else 0) for span in spans]


def _find_changed(old: str, new: str) -> tuple[int, int]:
    """Returns how many characters both begin and end with, whole lines, some of them left for the comparison."""
    most = min(len(old), len(new))
    head = _find_last(most, lambda count: old[:count] == new[:count])
    most -= head
    tail = _find_last(most, lambda count: not count or old[-count:] == new[-count:])
    for _ in range(AROUND + 1):
        head = old.rfind("\n", 0, max(0, head - 1)) + 1
    end = len(old) - tail
    for _ in range(AROUND + 1):
        found = old.find("\n", end + 1)
        end = len(old) if found < 0 else found
    return head, len(old) - end


def _find_last(most: int, holds: Callable[[int], bool]) -> int:
    """Returns the largest number for which something holds that holds for all smaller ones."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if holds(middle) else (low, middle - 1)
    return low


def _cut(text: str, span: Span) -> str:
    """Returns the lines of a span, without cutting the whole text."""
    start = _find_last(len(text), lambda count: text.count("\n", 0, count) < span.start - 1) + (span.start > 1)
    end = start
    for _ in range(span.last - span.start + 1):
        end = text.find("\n", end)
        if end < 0:
            return text[start:]
        end += 1
    return text[start : end - 1]


def _stay(text: str, span: Span, drift: int) -> Relocation:
    count = text.count("\n") + (not text.endswith("\n"))
    if not 1 <= span.start <= count:
        return Relocation("orphaned", None, 1.0, f"line {span.start} is past the end of the text", "", "")
    span = Span(span.start, min(span.last, count))
    lines = _cut(text, span)
    now = Span(span.start + drift, span.last + drift)
    reason = f"moved by {drift:+d} lines" if drift else "unchanged"
    shown = lines[:LONGEST_TEXT]
    return Relocation("moved" if drift else "exact", now, SETTLED, reason, shown, shown)


def _find_same(old: str, new: str, span: Span) -> Relocation:
    """Returns where the very lines are, when they stand once in either version."""
    lines = _cut(old, span)
    row = f"\n{lines}\n"
    before, after = f"\n{old}\n", f"\n{new}\n"
    if len(lines.strip()) < LONG_ENOUGH or before.count(row) != 1 or after.count(row) != 1:
        reason = f"too many lines lie between the first change and the last to look for it (at most {MOST_LINES})"
        return Relocation("orphaned", None, 1.0, reason, lines[:LONGEST_TEXT], "")
    drift = after.count("\n", 0, after.find(row)) + 1 - span.start
    return replace(_stay(old, span, drift), reason="the only such lines of a very large file")


def _shift(found: Relocation, by: int) -> Relocation:
    """Returns the answer for the piece as one for the whole."""
    candidates = tuple(_shift_one(each, by) for each in found.candidates)
    span = found.span if found.span is None or found.path else _later(found.span, by)
    return replace(found, span=span, candidates=candidates)


def _shift_one(each: Candidate, by: int) -> Candidate:
    return each if each.path else replace(each, span=_later(each.span, by))


def _later(span: Span, by: int) -> Span:
    return Span(span.start + by, span.last + by)
