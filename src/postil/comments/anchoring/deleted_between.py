"""Code that a commit deleted after a comment was made: what a later one put in its place is other code, however alike.

The version that a comment knew and the text of today do not tell that; the versions in between do. This takes certainty
away and gives none: only a place that its own text does not prove is asked about, and one that was followed through
every version stays what it was. Pure: texts in, relocations out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from postil.anchor.large_files import is_large
from postil.anchor.model import Candidate, Relocation, Source, Span
from postil.anchor.page import Page, find_opener, find_telling, is_bare
from postil.anchor.relocate import relocate_all
from postil.anchor.side_by_side.alignment import Alignment, align

PLACED = ("exact", "moved", "modified")
ASKED = (*PLACED, "review")
"""What is asked about: of what is in review already a person is told which commit deleted it."""
UNLIKE = 0.5
"""The share of its characters that an edited place has at least of what was deleted: below, it is not even offered."""
OFFERED = 0.5
"""The confidence of a place that is not what the comment was about, as far as is known."""
LEFT, RETURNED = 0.5, 0.9
"""A version with less than the one share of the lines of the one before it, of which the next has the other share
again, was never finished."""
_CONFLICT = "\n<<<<<<< "


class Between(NamedTuple):
    """A version of a file, and the commit that made it. A commit that deleted the file made an empty one."""

    commit: str
    text: str


class _Loss(NamedTuple):
    """Where a row was lost on the way: the number of the version, its commit, and whether nothing is left of it."""

    number: int
    commit: str
    sure: bool


def doubt_added(
    old: Source,
    now: Source,
    spans: Sequence[Span],
    here: Sequence[Relocation],
    list_between: Callable[[], Sequence[Between]],
) -> list[Relocation]:
    """Returns the same, but for places that were added after the code was deleted: a person looks at those.

    `list_between` tells the versions between the old one and that of now, oldest first; it is asked only where a place
    is in doubt.
    """
    found = list(here)
    if not any(each.state in ASKED for each in here):
        return found
    before, after = Page(old), Page(now)
    asked = {
        number: span
        for number, (span, each) in enumerate(zip(spans, here, strict=True))
        if each.span is not None and each.state in ASKED and not _is_proved(before, after, span, each)
    }
    between = _leave_out_unfinished(old.text, list_between(), now.text) if asked else ()
    if not between:
        return found
    past = [(each.commit, Page(Source(each.text, old.path))) for each in between]
    losses = _follow_all(before, past, asked)
    places = {number: span for number, each in enumerate(here) if number in losses and (span := each.span)}
    for number in _find_added(after, past, places, losses):
        found[number] = _doubt(here[number], losses[number])
    return found


def _is_proved(old: Page, new: Page, span: Span, found: Relocation) -> bool:
    """Whether the code is what it was, under what it was under; a row like others has its neighbours, too."""
    assert found.span is not None
    if found.state in ("modified", "review") or not 1 <= span.start <= len(old):
        return False
    row, at = span.start - 1, found.span.start - 1
    if not _is_under_same(old, new, row, at):
        return False
    key = old.keys[row]
    if len(old.places[key]) == 1 == len(new.places.get(key, ())):
        return True
    return all(_read_beside(old, row, step) == _read_beside(new, at, step) for step in (-1, 1))


def _is_under_same(old: Page, new: Page, row: int, at: int) -> bool:
    """Whether the texts of a row and of all rows that it is under are the same; a bracket is under what it closes."""
    up, over = row, at
    if is_bare(old.keys[row]):
        opener, opens = find_opener(old, row), find_opener(new, at)
        up, over = (opener, opens) if opener >= 0 and opens >= 0 else (row, at)
    while up >= 0 and over >= 0 and old.keys[up] == new.keys[over]:
        up, over = old.parents[up], new.parents[over]
    return up < 0 and over < 0


def _read_beside(page: Page, row: int, step: int) -> str:
    at = find_telling(page, row, step)
    return page.keys[at] if at >= 0 else ""


def _leave_out_unfinished(old: str, between: Sequence[Between], now: str) -> list[Between]:
    """Returns the versions, but for those with conflicts in them, or that most lines left and came back to."""
    kept: list[Between] = []
    before = _count_lines(old)
    for number, each in enumerate(between):
        lines = _count_lines(each.text)
        after = _count_lines(between[number + 1].text if number + 1 < len(between) else now)
        most = before.total()
        returned = (lines & before).total() < LEFT * most and (after & before).total() >= RETURNED * most
        if returned or _CONFLICT in f"\n{each.text}":
            continue
        kept.append(each)
        before = lines
    return kept


def _count_lines(text: str) -> Counter[str]:
    return Counter(row for line in text.split("\n") if (row := line.strip()))


def _follow_all(old: Page, past: Sequence[tuple[str, Page]], asked: Mapping[int, Span]) -> dict[int, _Loss]:
    """Returns what was lost on the way from the old version through all others, and where."""
    lost: dict[int, _Loss] = {}
    here, open_ = old, dict(asked)
    for number, (commit, page) in enumerate(past):
        if not open_:
            break
        for each, (state, span) in _follow(here, page, open_):
            if span is not None:
                open_[each] = span
            else:
                lost[each] = _Loss(number, commit, state == "orphaned")
                del open_[each]
        here = page
    return lost


def _find_added(
    now: Page, past: Sequence[tuple[str, Page]], places: Mapping[int, Span], lost: Mapping[int, _Loss]
) -> list[int]:
    """Returns what is gone for sure, and of the rest what leads back to nothing in the version it was lost in."""
    added = [number for number in places if lost[number].sure]
    here, open_ = now, {number: span for number, span in places.items() if not lost[number].sure}
    for number in range(len(past) - 1, -1, -1):
        open_ = {each: span for each, span in open_.items() if lost[each].number <= number}
        if not open_:
            break
        page = past[number][1]
        for each, (_, span) in _follow(here, page, open_):
            if span is not None:
                open_[each] = span
            else:
                added.append(each)
                del open_[each]
        here = page
    return added


def _follow(old: Page, new: Page, spans: Mapping[int, Span]) -> Iterator[tuple[int, tuple[str, Span | None]]]:
    """Yields what became of spans in the next version: no span where it is not sure."""
    rest = dict(spans)
    if old.text != new.text and not is_large(old.text, new.text):
        lines = align(old, new)
        for number, span in spans.items():
            if (at := _step(lines, span)) is not None:
                del rest[number]
                yield number, ("moved", at)
    found = relocate_all(old.source, new.source, rest.values()) if rest else ()
    for number, each in zip(list(rest), found, strict=True):
        yield number, (each.state, each.span if each.state in PLACED else None)


def _step(lines: Alignment, span: Span) -> Span | None:
    """Returns where a span is that nobody touched, as far as the texts tell; None where more has to be asked."""
    first, last = span.start - 1, min(span.last, len(lines.old)) - 1
    if not 0 <= first < len(lines.old):
        return None
    at, end = lines.forward[first], lines.forward[last]
    if (
        at < 0
        or end < at
        or not all(_is_under_same(lines.old, lines.new, *pair) for pair in ((first, at), (last, end)))
    ):
        return None
    return Span(at + 1, end + 1)


def _doubt(found: Relocation, loss: _Loss) -> Relocation:
    """Returns the place for a person to look at; nothing but a hint where it is unlike."""
    assert found.span is not None
    how = "its code was deleted by" if loss.sure else "its code was no longer sure after"
    reason = f"{how} {loss.commit[:7]}, and this was added later"
    if found.state == "review":
        return replace(found, reason=reason)
    option = Candidate(found.span, min(found.confidence, OFFERED), found.new_text)
    if loss.sure and not _is_alike(found.old_text, found.new_text):
        return replace(
            found, state="orphaned", span=None, confidence=OFFERED, reason=reason, new_text="", candidates=(option,)
        )
    return replace(found, state="review", confidence=option.confidence, reason=reason, candidates=(option,))


def _is_alike(old: str, new: str) -> bool:
    from rapidfuzz.distance import Indel  # only where something was deleted

    return Indel.normalized_similarity("".join(old.split()), "".join(new.split())) >= UNLIKE
