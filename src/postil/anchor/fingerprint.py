"""What is kept of a span so that it can be found again when its old file is gone: text, surroundings, symbol.

With the whole old text at hand `relocate_all` does better; keep the file's blob id for that, and this for the rest.
"""

import hashlib
from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from postil.anchor.model import Candidate, Relocation, Source, Span
from postil.anchor.page import Page
from postil.anchor.syntax.languages import language_of
from postil.anchor.syntax.symbols import innermost, symbols

AROUND = 5
_BLANK = "[blank line]"
_BLANK_DOUBT = 0.5


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
    # These bring in rapidfuzz, which taking a fingerprint does not need.
    from postil.anchor.relocate import find_settled
    from postil.anchor.search import Search
    from postil.anchor.side_by_side.alignment import align

    lines = print_.text.split("\n")
    before = Page(Source("\n".join([*print_.before, *lines, *print_.after]), new.source.path))
    start = len(print_.before) + 1
    span, shift = Span(start, start + len(lines) - 1), print_.line - start
    settled = find_settled(align(before, new), span, shift)
    if settled and settled.span and _is_beyond_doubt(print_, start - 1, settled.span.start - 1, before, new):
        found = settled
    else:
        found = Search(before, new, shift=shift, symbol=print_.symbol).relocate([span])[0]
    return found if print_.text.strip() else _doubt_blank(found, _neighbours(before, start - 1), new)


def _doubt_blank(found: Relocation, was: tuple[str, str], new: Page) -> Relocation:
    """Returns a blank row's place; one between other rows than it was is for a person: of these half are wrong."""
    if found.state != "moved" or found.span is None or _neighbours(new, found.span.start - 1) == was:
        return found
    confidence = min(found.confidence, _BLANK_DOUBT)
    likely = Candidate(found.span, confidence, found.new_text)
    reason = "a blank line between other lines than it was"
    return replace(found, state="review", confidence=confidence, reason=reason, candidates=(likely,))


def _is_lone(page: Page, row: int) -> bool:
    """Whether no other row says the same between the same neighbours: a piece of a file cannot tell copies apart."""
    same = page.places.get(page.keys[row], ())
    return len(same) <= 1 or sum(_neighbours(page, each) == _neighbours(page, row) for each in same) <= 1


def _is_beyond_doubt(print_: Fingerprint, row: int, place: int, old: Page, new: Page) -> bool:
    from postil.anchor.side_by_side.proof import Proof

    return _is_lone(new, place) and _is_home(print_, place, new) and Proof(old, new).proves(row, place)


def _is_home(print_: Fingerprint, place: int, new: Page) -> bool:
    """Whether a place is in the symbol that the code was in, or that is not there."""
    return new.singles.get(print_.symbol, -1) < 0 or new.owners.get(place, ()) == print_.symbol


def _neighbours(page: Page, row: int) -> tuple[str, str]:
    above = next((page.keys[at] for at in range(row - 1, -1, -1) if page.keys[at]), "")
    below = next((page.keys[at] for at in range(row + 1, len(page)) if page.keys[at]), "")
    return above, below


def _recall(print_: Fingerprint, new: Page) -> Fingerprint:
    """Returns the text of a line of which only the hash was kept, if it still stands somewhere."""
    for row in sorted(range(len(new)), key=lambda row: abs(row + 1 - print_.line)):
        if line_hash(new.rows[row]) == print_.hash:
            return Fingerprint(print_.line, new.rows[row], print_.before, print_.after, print_.symbol, print_.hash)
    return print_
