"""Where spans of code are now. The entry of this package, beside fingerprint.py and symbols.py.

    relocate(old, new, Span(12))                         one span, two texts
    relocate_all(Source(old, path), Source(new, path), spans, elsewhere=[Source(...), ...])

All spans of one file are best asked at once: parsing and aligning are then paid once. `elsewhere` are other files the
code may have moved to; they are looked at only for spans that the file itself does not settle. To ask for many files
with the same others, make one `Elsewhere` of them and pass that. Pure functions: the
same texts give the same answer, nothing is read or written, and no text makes them raise.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from postil.anchor.model import Relocation, Source, Span
from postil.anchor.page import Page

if TYPE_CHECKING:
    from postil.anchor.elsewhere import Elsewhere


def relocate(old: str, new: str, lines: Span, path: str = "", new_path: str | None = None) -> Relocation:
    """Where the lines of the old text are in the new one."""
    return relocate_all(Source(old, path), Source(new, path if new_path is None else new_path), [lines])[0]


def relocate_all(
    old: Source, new: Source, spans: Iterable[Span], elsewhere: Elsewhere | Iterable[Source] = ()
) -> list[Relocation]:
    """Where each span of the old version is now, in the order asked. A file that was deleted is an empty new text."""
    before, after = Page(old), Page(new)
    if before.text == after.text:
        return [_unchanged(before, span) for span in spans]
    from postil.anchor.elsewhere import Elsewhere  # these two bring in rapidfuzz, which an unchanged file does not need
    from postil.anchor.search import Search

    others = elsewhere if isinstance(elsewhere, Elsewhere) else Elsewhere(elsewhere)
    return Search(before, after, elsewhere=others).relocate(spans)


def _unchanged(page: Page, span: Span) -> Relocation:
    if not 1 <= span.start <= len(page):
        return Relocation("orphaned", None, 1.0, f"line {span.start} is past the end of the text", "", "")
    now = Span(span.start, min(span.last, len(page)))
    text = page.between(now.start - 1, now.last - 1)
    return Relocation("exact", now, 1.0, "the file is unchanged", text, text)
