"""Where spans of code are now. The entry of this package, beside fingerprint.py and symbols.py.

    relocate(old, new, Span(12))                         one span, two texts
    relocate_all(Source(old, path), Source(new, path), spans, elsewhere=[Source(...), ...])

All spans of one file are best asked at once: parsing and aligning are then paid once. `elsewhere` are other files the
code may have moved to; they are looked at only for spans that the file itself does not settle. To ask for many files
with the same others, make one `OtherFiles` of them and pass that. Pure functions: the same texts give the same
answer, nothing is read or written, and no text makes them raise.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from postil.anchor.large_files import is_large, relocate_within
from postil.anchor.model import SETTLED, Relocation, Source, Span
from postil.anchor.page import Page

if TYPE_CHECKING:
    from postil.anchor.other_files import OtherFiles
    from postil.anchor.side_by_side.alignment import Alignment


def relocate(old: str, new: str, lines: Span, path: str = "", new_path: str | None = None) -> Relocation:
    """Returns where the lines of the old text are in the new one."""
    return relocate_all(Source(old, path), Source(new, path if new_path is None else new_path), [lines])[0]


def relocate_all(
    old: Source, new: Source, spans: Iterable[Span], elsewhere: OtherFiles | Iterable[Source] = ()
) -> list[Relocation]:
    """Returns where each span of the old version is now, in the order asked. A deleted file is an empty new text."""
    asked = list(spans)
    if old.text != new.text and is_large(old.text, new.text):
        return relocate_within(
            old, new, asked, lambda some, other, inside: relocate_all(some, other, inside, elsewhere)
        )
    before, after = Page(old), Page(new)
    if before.text == after.text:
        return [_stay(before, span) for span in asked]
    from postil.anchor.side_by_side.alignment import align  # brings in rapidfuzz, which an unchanged file does not need

    lines = align(before, after)
    found = [find_settled(lines, span) for span in asked]
    rest = [place for place, each in enumerate(found) if each is None]
    if rest:
        from postil.anchor.other_files import (
            OtherFiles,  # and the search, whose trees are long, only where it is needed
        )
        from postil.anchor.search import Search

        others = elsewhere if isinstance(elsewhere, OtherFiles) else OtherFiles(elsewhere)
        searched = Search(before, after, elsewhere=others).relocate(asked[place] for place in rest)
        for place, each in zip(rest, searched, strict=True):
            found[place] = each
    return [each for each in found if each is not None]


def find_settled(lines: Alignment, span: Span, shift: int = 0) -> Relocation | None:
    """Returns what the search would answer for a span whose first and last row leave no doubt, else None.

    `shift` is how many lines of its file stood before the old text.
    """
    old, new = lines.old, lines.new
    start, end = span.start - 1, min(span.last, len(old)) - 1
    at = lines.find_settled(start) if 0 <= start < len(old) else -1
    last = at if end == start or at < 0 else lines.find_settled(end)
    if at < 0 or last < 0:
        return None
    if not shift and (lines.may_be_copy(start, at) or (end > start and lines.may_be_copy(end, last))):
        return None
    if last < at:
        last = min(at + end - start, len(new) - 1)
    text, now = old.between(start, end), new.between(at, last)
    moved = f"moved by {at - start - shift:+d} lines" if at != start + shift else ""
    span = Span(at + 1, last + 1)
    if old.keys[start : end + 1] != new.keys[at : last + 1]:
        reason = f"the code was edited and {moved}" if moved else "the code was edited"
        return Relocation("modified", span, SETTLED, reason, text, now)
    return Relocation("moved" if moved else "exact", span, SETTLED, moved or "unchanged", text, now)


def _stay(page: Page, span: Span) -> Relocation:
    if not 1 <= span.start <= len(page):
        return Relocation("orphaned", None, 1.0, f"line {span.start} is past the end of the text", "", "")
    now = Span(span.start, min(span.last, len(page)))
    text = page.between(now.start - 1, now.last - 1)
    return Relocation("exact", now, 1.0, "the file is unchanged", text, text)
