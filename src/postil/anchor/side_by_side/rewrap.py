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
_FEW = 3  # rows that are asked for


class Rewrap:
    """The words of two pages, aligned."""

    def __init__(self, old: Page, new: Page) -> None:
        self._old, self._new = old, new
        self._asked = 0

    def find_row(self, row: int) -> int:
        """Returns the new row of the first word of an old row, or -1 where the words around it are not the same."""
        self._asked += 1
        around = self._collect(row) if self._asked <= _FEW else self._cut(row)
        if not around or f" {' '.join(around)} " not in self._line:
            return -1  # words that are nowhere in one run need no alignment
        low, high = self._bound(row)
        for first, last, shift in self._runs:
            if first <= low and high <= last:
                start = _list_words(self._old)[1][row]
                return bisect_right(_list_words(self._new)[1], start + shift) - 1
        return -1

    def _bound(self, row: int) -> tuple[int, int]:
        """Returns the first and the last but one of the words of an old row and those around it."""
        words, starts = _list_words(self._old)
        return max(0, starts[row] - _AROUND), min(len(words), starts[row + 1] + _AROUND)

    def _cut(self, row: int) -> list[str]:
        """Returns the words of an old row and those around it; nothing where it has none."""
        words, starts = _list_words(self._old)
        low, high = self._bound(row)
        return words[low:high] if starts[row] < starts[row + 1] else []

    def _collect(self, row: int) -> list[str]:
        """Returns the same without reading the whole page: sooner done for a few rows."""
        read = self._read
        found = read(row)
        above: list[str] = []
        below: list[str] = []
        at = row
        while found and len(above) < _AROUND and at > 0:
            at -= 1
            above = [*read(at), *above]
        at = row
        while found and len(below) < _AROUND and at + 1 < len(self._old):
            at += 1
            below += read(at)
        return [*above[-_AROUND:], *found, *below[:_AROUND]]

    def _read(self, row: int) -> list[str]:
        return split_words(self._old.rows[row].lower()[:_LONGEST])

    @cached_property
    def _line(self) -> str:
        """The new words in one row."""
        return f" {' '.join(split_words(_lower(self._new)))} "

    @cached_property
    def _runs(self) -> list[tuple[int, int, int]]:
        """The first old word of each run, one past the last, and how far the run moved."""
        return _find_runs(_list_words(self._old)[0], _list_words(self._new)[0])


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


@lru_cache(2)
def _list_words(page: Page) -> tuple[list[str], list[int]]:
    """Returns the words of a page in small letters, and where those of each row begin; at last, how many there are."""
    rows = split_rows(_lower(page))[: len(page.rows)]
    return [*chain.from_iterable(rows)], [*accumulate(map(len, rows), initial=0)]


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
