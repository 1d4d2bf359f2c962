"""Code that was only laid out anew: the same words in the same order, whatever lines and punctuation they are in now.

Formatters (black, prettier, gofmt) change whitespace, quotes, commas, brackets and semicolons, never words. So where
the words of a row and those around it are all there in one run, the row is where its first word is, and nothing has to
be weighed.
"""

import re

from rapidfuzz.distance import LCSseq

from postil.anchor.model import MOST_CELLS
from postil.anchor.page import Page

_WORD = re.compile(r"\w+")
_LONGEST = 100_000  # characters of a row: a minified file is rewrapped too, a dump of data need not be
_AROUND = 8  # words on each side that must be the same too


class Rewrap:
    """The words of two pages, aligned."""

    def __init__(self, old: Page, new: Page) -> None:
        words, _, self._starts = _split_words(old)
        now, self._rows, _ = _split_words(new)
        self._count = len(words)
        # first old word, one past the last, how far the run moved
        self._runs = _find_runs(words, now)

    def find_row(self, row: int) -> int:
        """Returns the new row of the first word of an old row, or -1 where the words around it are not the same."""
        start, stop = self._starts[row], self._starts[row + 1]
        if start == stop:
            return -1
        low, high = max(0, start - _AROUND), min(self._count, stop + _AROUND)
        for first, last, shift in self._runs:
            if first <= low and high <= last:
                return self._rows[start + shift]
        return -1


def _split_words(page: Page) -> tuple[list[str], list[int], list[int]]:
    """Returns every word, the row of each, and for each row (and one past the last) the place of its first word."""
    found: list[str] = []
    rows: list[int] = []
    starts: list[int] = [0]
    find = _WORD.findall
    # Small letters of all at once where that keeps every row its own: some letters become two.
    lowered = page.text.lower()
    small = lowered.split("\n") if len(lowered) == len(page.text) else [text.lower() for text in page.rows]
    for row, text in enumerate(small[: len(page.rows)]):
        words = find(text[:_LONGEST])
        found += words
        rows += [row] * len(words)
        starts.append(len(found))
    return found, rows, starts


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
