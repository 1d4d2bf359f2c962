"""Code that was only laid out anew: the same words in the same order, whatever lines and punctuation they are in now.

Formatters (black, prettier, gofmt) change whitespace, quotes, commas, brackets and semicolons, never words. So where
the words of a row and those around it are all there in one run, the row is where its first word is, and nothing has to
be weighed.
"""

from bisect import bisect_right
from functools import cached_property, lru_cache
from itertools import accumulate, chain

from rapidfuzz.distance import LCSseq

from postil.anchor.model import MOST_CELLS
from postil.anchor.page import Page
from postil.anchor.side_by_side.token_counts import split_rows, split_words

_LONGEST = 100_000  # characters of a row: a minified file is rewrapped too, a dump of data need not be
_AROUND = 8  # words on each side that must be the same too


class Rewrap:
    """The words of two pages, aligned."""

    def __init__(self, old: Page, new: Page) -> None:
        self._old, self._new = old, new

    def find_row(self, row: int) -> int:
        """Returns the new row of the first word of an old row, or -1 where the words around it are not the same."""
        words = _list_words(self._old, row)
        if not words:
            return -1
        around = [*self._list_beside(row, -1), *words, *self._list_beside(row, 1)]
        if f" {' '.join(around)} " not in self._line:
            return -1  # words that are nowhere in one run need no alignment
        start, stop = self._starts[row], self._starts[row + 1]
        low, high = max(0, start - _AROUND), min(self._starts[-1], stop + _AROUND)
        for first, last, shift in self._runs:
            if first <= low and high <= last:
                return bisect_right(self._starts_now, start + shift) - 1
        return -1

    def _list_beside(self, row: int, step: int) -> list[str]:
        """Returns the words next to those of an old row, above (step -1) or below it, in their order."""
        found: list[str] = []
        while len(found) < _AROUND and 0 <= (row := row + step) < len(self._old):
            words = _list_words(self._old, row)
            found = [*words, *found] if step < 0 else [*found, *words]
        return found[-_AROUND:] if step < 0 else found[:_AROUND]

    @cached_property
    def _line(self) -> str:
        """The new words in one row."""
        return f" {' '.join(split_words(_lower(self._new)))} "

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *accumulate(map(len, self._words))]

    @cached_property
    def _words(self) -> list[list[str]]:
        return _split_rows(self._old)

    @cached_property
    def _now(self) -> list[list[str]]:
        return _split_rows(self._new)

    @cached_property
    def _starts_now(self) -> list[int]:
        return [0, *accumulate(map(len, self._now))]

    @cached_property
    def _runs(self) -> list[tuple[int, int, int]]:
        """The first old word of each run, one past the last, and how far the run moved."""
        return _find_runs([*chain.from_iterable(self._words)], [*chain.from_iterable(self._now)])


def _list_words(page: Page, row: int) -> list[str]:
    return split_words(page.rows[row].lower()[:_LONGEST])


@lru_cache(2)
def _lower(page: Page) -> str:
    """Returns the text in small letters. The last ones are kept: the way back needs them, too."""
    # Of all at once where that keeps every row its own: some letters become two.
    lowered = page.text.lower()
    if len(lowered) != len(page.text):
        lowered = "\n".join(text.lower() for text in page.rows)
    if len(lowered) > _LONGEST:
        lowered = "\n".join(row[:_LONGEST] for row in lowered.split("\n"))
    return lowered


def _split_rows(page: Page) -> list[list[str]]:
    """Returns the words of every row, in small letters."""
    return split_rows(_lower(page))[: len(page.rows)]


def _find_runs(a: list[str], b: list[str]) -> list[tuple[int, int, int]]:
    head = 0
    while head < len(a) and head < len(b) and a[head] == b[head]:
        head += 1
    tail = 0
    while tail < min(len(a), len(b)) - head and a[-1 - tail] == b[-1 - tail]:
        tail += 1
    if head == len(a) == len(b):
        return [(0, head, 0)]
    inner = []
    if (len(a) - head - tail) * (len(b) - head - tail) <= MOST_CELLS:
        blocks = LCSseq.opcodes(a[head : len(a) - tail], b[head : len(b) - tail])
        inner = [
            (head + block.src_start, head + block.src_end, block.dest_start - block.src_start)
            for block in blocks
            if block.tag == "equal" and block.src_end - block.src_start > _AROUND
        ]
    return [(0, head, 0), *inner, (len(a) - tail, len(a), len(b) - len(a))]
