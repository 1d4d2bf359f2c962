"""What is compared of the rows of two pages, made once for each row that is asked for."""

from bisect import bisect_left
from functools import cached_property
from math import fsum, log1p
from typing import NamedTuple

from postil.anchor.page import Page, count_tokens

_CONTEXT = 4  # telling rows above and below that are compared
_LONGEST = 120  # characters of each of them
_BLOCK = 60  # rows of a block that are compared
_NOTHING: frozenset[str] = frozenset()


class Facts(NamedTuple):
    """One row. -1 stands for a row that there is not."""

    key: str
    header: list[str]
    name: str
    opening: str
    before: str
    after: str
    """The telling rows just above and below, joined."""
    above: str
    below: str
    """The rows next to this one, blank ones left out."""
    parent: int
    end: int
    frame: int
    body: frozenset[str]
    """The words under the row."""
    statement: frozenset[str]
    """The words of the statement with all that is under it."""
    tokens: frozenset[str]
    weight: float
    """How telling its tokens are together."""


class PageFacts(dict[int, Facts]):
    """The facts of one page by row, made when they are first asked for."""

    def __init__(self, page: Page, weights: "Weights") -> None:
        super().__init__()
        self._page, self._weights = page, weights
        self._bodies: dict[int, frozenset[str]] = {}

    def __missing__(self, row: int) -> Facts:
        page = self._page
        key, header, tokens = page.keys[row], page.header(row), frozenset(page.tokens(row))
        body = self.body(row)
        before, after, above, below = self._join_rows(row)
        values = (
            key,
            header,
            page.name(row),
            page.opening(row),
            before,
            after,
            above,
            below,
            page.parents[row],
            page.ends[row],
            page.frames[row],
            body,
            body.union(header),
            tokens,
            self._weights.add(tokens),
        )
        made = self[row] = Facts._make(values)
        return made

    def body(self, row: int) -> frozenset[str]:
        """Returns the words under a row."""
        found = self._bodies.get(row)
        if found is None:
            page = self._page
            last = min(page.ends[row], row + _BLOCK)
            found = _NOTHING.union(*map(page.tokens, range(row + 1, last + 1))) if last > row else _NOTHING
            self._bodies[row] = found
        return found

    def _join_rows(self, row: int) -> tuple[str, str, str, str]:
        """Returns the beginnings of the rows above and of those below, the nearest first, and the nearest as they are.

        Blank rows are left out.
        """
        rows, cut = self._telling
        keys, place = self._page.keys, bisect_left(rows, row)
        above = cut[place - _CONTEXT : place] if place >= _CONTEXT else cut[:place]
        over = keys[rows[place - 1]] if place else ""
        place += place < len(rows) and rows[place] == row
        under = keys[rows[place]] if place < len(rows) else ""
        return "\n".join(above[::-1]), "\n".join(cut[place : place + _CONTEXT]), over, under

    @cached_property
    def _telling(self) -> tuple[list[int], list[str]]:
        """The rows that are not blank, and the beginnings of their keys."""
        rows = [row for row, key in enumerate(self._page.keys) if key]
        return rows, [self._page.keys[row][:_LONGEST] for row in rows]


class Weights(dict[str, float]):
    """How telling each token is: the rarer in both pages, the more."""

    def __init__(self, old: Page, new: Page) -> None:
        super().__init__()
        self._counts = count_tokens(old), count_tokens(new)

    def __missing__(self, token: str) -> float:
        count = self._counts[0].count(token) + self._counts[1].count(token)
        weight = self[token] = 1.0 / (1.0 + log1p(count))
        return weight

    def add(self, tokens: frozenset[str]) -> float:
        """Returns the weight of some tokens together.

        The sum is exact, since the order of a set is another in every process and the answer must not be.
        """
        return fsum(map(self.__getitem__, tokens))


class RowFacts:
    """The facts of both pages."""

    def __init__(self, old: Page, new: Page) -> None:
        self.weights = Weights(old, new)
        self.old, self.new = PageFacts(old, self.weights), PageFacts(new, self.weights)
