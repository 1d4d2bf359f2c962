"""What is kept of a span so that it can be found again when its old file is gone: text, surroundings, symbol.

With the whole old text at hand `relocate_all` does better; keep the file's blob id for that, and this for the rest.
"""

import hashlib
from collections.abc import Iterable

from msgspec import Struct

from postil.anchor.model import Relocation, Source, Span
from postil.anchor.page import Page
from postil.anchor.syntax.languages import language_of
from postil.anchor.syntax.symbols import innermost, symbols

AROUND = 5
_BLANK = "[blank line]"


class Fingerprint(Struct, frozen=True):
    """A span as it was: its lines, up to five before and after (trimmed or not), and the path of its symbol."""

    line: int
    text: str
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    symbol: tuple[str, ...] = ()
    hash: str = ""


def line_hash(line: str) -> str:
    """Returns the hash that sidecars keep of a line: sixteen hex digits of the sha256 of its trimmed text."""
    return hashlib.sha256((line.strip() or _BLANK).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def fingerprint(source: Source, span: Span) -> Fingerprint:
    """Returns what to keep of a span. A span past the end keeps its line number and nothing else."""
    page = Page(source)
    start, end = span.start - 1, min(span.last, len(page))
    text = "\n".join(page.rows[start:end])
    symbol = innermost(symbols(page.text, language_of(source.path)), span.start)
    return Fingerprint(
        line=span.start,
        text=text,
        before=tuple(page.rows[max(0, start - AROUND) : start]),
        after=tuple(page.rows[end : end + AROUND]),
        symbol=symbol.path if symbol else (),
        hash=line_hash(page.rows[start]) if start < len(page) else "",
    )


def relocate_fingerprints(prints: Iterable[Fingerprint], new: Source) -> list[Relocation]:
    """Returns where each span is in the new text, from its fingerprint alone, in the order asked."""
    after = Page(new)
    return [_relocate(each, after) for each in prints]


def _relocate(print_: Fingerprint, new: Page) -> Relocation:
    if not print_.text.strip() and print_.hash:
        print_ = _recall(print_, new)
    from postil.anchor.search import Search  # brings in rapidfuzz, which taking a fingerprint does not need

    lines = print_.text.split("\n")
    before = Page(Source("\n".join([*print_.before, *lines, *print_.after]), new.source.path))
    start = len(print_.before) + 1
    span = Span(start, start + len(lines) - 1)
    return Search(before, new, shift=print_.line - start, symbol=print_.symbol).relocate([span])[0]


def _recall(print_: Fingerprint, new: Page) -> Fingerprint:
    """Returns the text of a line of which only the hash was kept, if it still stands somewhere."""
    for row in sorted(range(len(new)), key=lambda row: abs(row + 1 - print_.line)):
        if line_hash(new.rows[row]) == print_.hash:
            return Fingerprint(print_.line, new.rows[row], print_.before, print_.after, print_.symbol, print_.hash)
    return print_
