"""What speaks for a new row being an old one: the candidates, and the measures of each. judge.py weighs them."""

from math import log1p

from rapidfuzz import process
from rapidfuzz.distance import Indel

from postil.anchor.alignment import Alignment
from postil.anchor.page import Page

_CONTEXT = 4
_BLOCK = 60  # rows of a block that are compared
_POOL = 3000  # rows that are searched for a similar one, the nearest to where the row is expected
_SIMILAR = 6
_EQUAL = 6

MEASURES = (
    "exact",
    "chars",
    "header",
    "before",
    "after",
    "diffed",
    "first",
    "votes",
    "inside",
    "distance",
    "block",
    "size",
    "parent",
    "parents",
    "taken",
    "opening",
    "indent",
    "often_old",
    "often_new",
    "length",
    "support",
)


class Evidence:
    """All that can be asked about the rows of one pair of pages.

    `shift` is given when the old page is a fragment of its file: how many rows of the file came before it.
    """

    def __init__(self, old: Page, new: Page, shift: int | None = None) -> None:
        self.old, self.new = old, new
        self.shift = shift or 0
        self.partial = shift is not None
        self.aligned = Alignment(old, new)

    def settled(self, row: int) -> int:
        """The new row when nothing near the old one has changed, else -1."""
        forward, keys = self.aligned.forward, self.old.keys
        at = forward[row]
        if at < 0 or len(keys[row]) < 2 or self.partial:
            return -1
        for step in (-1, 1):
            seen, near = 0, row
            while seen < 3:
                near += step
                if not 0 <= near < len(keys):
                    break
                if forward[near] != at + near - row:
                    return -1
                seen += len(keys[near]) > 2
        return at

    def candidates(self, row: int) -> list[int]:
        """New rows worth measuring, in no order."""
        key = self.old.keys[row]
        found: set[int] = set()
        at = self.aligned.forward[row]
        if at >= 0:
            found.add(at)
        drift = self.aligned.drift(row)
        if drift:
            found.add(drift.first)
            found.add(max(drift.votes, key=lambda at: (drift.votes[at], -at)))
        expected = self.expected(row)
        equal = self.new.places.get(key, []) if key else []
        found.update(sorted(equal, key=lambda at: abs(at - expected))[:_EQUAL])
        if key:
            pool = self._pool(expected)
            for _, _, place in process.extract(
                key,
                self.new.keys[pool.start : pool.stop],
                scorer=Indel.normalized_similarity,
                limit=_SIMILAR,
                score_cutoff=0.4,
            ):
                found.add(pool.start + place)
        return sorted(found)

    def expected(self, row: int) -> int:
        """Where a row would be if only its neighbours were known."""
        above, below = self.aligned.around(row)
        forward = self.aligned.forward
        if above >= 0 and (below >= len(self.old) or row - above <= below - row):
            return forward[above] + row - above
        if below < len(self.old):
            return forward[below] - (below - row)
        return row + self.shift

    def _pool(self, expected: int) -> range:
        count = len(self.new)
        start = max(0, min(expected - _POOL // 2, count - _POOL))
        return range(start, min(count, start + _POOL))

    def measure(self, row: int, at: int) -> tuple[float, ...]:
        old, new, forward = self.old, self.new, self.aligned.forward
        drift = self.aligned.drift(row)
        count = len(old.tokens(row)) or 1
        above, below = self.aligned.around(row)
        low = forward[above] if above >= 0 else -1
        high = forward[below] if below < len(old) else len(new)
        up, over = old.parents[row], new.parents[at]
        rival = self.aligned.backward[at]
        return (
            float(old.keys[row] == new.keys[at]),
            Indel.normalized_similarity(old.keys[row], new.keys[at]),
            Indel.normalized_similarity(old.header(row), new.header(at)),
            Indel.normalized_similarity(_context(old, row, -1), _context(new, at, -1)),
            Indel.normalized_similarity(_context(old, row, 1), _context(new, at, 1)),
            float(forward[row] == at),
            float(drift is not None and drift.first == at),
            drift.votes.get(at, 0) / count if drift else 0.0,
            float(low < at < high),
            log1p(abs(at - self.expected(row))),
            self._blocks(row, at),
            log1p(old.block_end(row) - row),
            Indel.normalized_similarity(old.keys[up] if up >= 0 else "", new.keys[over] if over >= 0 else ""),
            float(forward[up] == over if up >= 0 else over < 0),
            float(rival >= 0 and rival != row),
            float(old.tokens(row)[:1] == new.tokens(at)[:1]),
            abs(old.indents[row] - new.indents[at]) / 4.0 if old.keys[row] and new.keys[at] else 9.0,
            log1p(len(old.places.get(old.keys[row], ()))),
            log1p(len(new.places.get(old.keys[row], ()))),
            log1p(len(old.keys[row])),
            self._support(row, at),
        )

    def _blocks(self, row: int, at: int) -> float:
        """How much of what is indented under the rows is common: a multiset Dice over keys of tokens."""
        mine = _bag(self.old, row)
        theirs = _bag(self.new, at)
        total = sum(mine.values()) + sum(theirs.values())
        if not total:
            return 1.0
        return 2.0 * sum(min(count, theirs.get(token, 0)) for token, count in mine.items()) / total

    def _support(self, row: int, at: int) -> float:
        """The share of telling neighbours whose counterparts are neighbours of the candidate."""
        near = total = 0
        forward, keys = self.aligned.forward, self.old.keys
        for neighbour in range(max(0, row - 6), min(len(keys), row + 7)):
            if neighbour != row and len(keys[neighbour]) > 2:
                total += 1
                near += forward[neighbour] >= 0 and abs(forward[neighbour] - at) <= 8
        return near / total if total else 0.5


def _context(page: Page, row: int, step: int) -> str:
    found: list[str] = []
    at = row + step
    while 0 <= at < len(page) and len(found) < _CONTEXT:
        if page.keys[at]:
            found.append(page.keys[at][:120])
        at += step
    return "\n".join(found)


def _bag(page: Page, row: int) -> dict[str, int]:
    found: dict[str, int] = {}
    for at in range(row + 1, min(page.block_end(row), row + _BLOCK) + 1):
        for token in page.tokens(at):
            found[token] = found.get(token, 0) + 1
    return found
