"""What anchoring speaks of: a span of lines, a version of a file, and where the span is now. No behaviour here."""

from typing import Literal

from msgspec import Struct

State = Literal["exact", "moved", "modified", "review", "orphaned"]

Ranked = list[tuple[float, int]]
"""Probability and new row, the likeliest first."""
MOST_CANDIDATES = 5
MOST_CELLS = 60_000_000
"""The cells of the largest common-subsequence table that is worth its memory (one bit each) and time."""
SETTLED = 0.999
"""The confidence of what is without a doubt where it is said to be."""


class Span(Struct, frozen=True, order=True):
    """Lines of a file, counted from 1, both ends included. `Span(12)` is one line."""

    start: int
    end: int = 0

    @property
    def last(self) -> int:
        return max(self.start, self.end)


class Source(Struct, frozen=True):
    """One version of one file. The path tells the language; an empty one means plain text."""

    text: str
    path: str = ""


class Candidate(Struct, frozen=True):
    """A place the code may be at now. `path` is empty for the file that was asked about."""

    span: Span
    confidence: float
    text: str
    path: str = ""


class Relocation(Struct, frozen=True):
    """Where a span is now, and how sure that is.

    - exact: same line, same code
    - moved: same code at another line, or in the file `path`
    - modified: the code is there, edited
    - review: a person should choose; `span` is the best of `candidates`
    - orphaned: the code is gone; `span` is None

    Code that differs in whitespace only is the same code.
    """

    state: State
    span: Span | None
    confidence: float
    reason: str
    old_text: str
    new_text: str
    candidates: tuple[Candidate, ...] = ()
    path: str = ""
