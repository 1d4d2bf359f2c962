"""Looks for the rows of an old page in a new one and says, span by span, what became of them."""

from collections.abc import Iterable

from postil.anchor.bare import Bare, is_bare
from postil.anchor.evidence import Evidence, Ranked
from postil.anchor.judge import GONE, SURE, rank
from postil.anchor.model import MOST_CANDIDATES, SETTLED, Candidate, Relocation, Span, State
from postil.anchor.other_files import Elsewhere
from postil.anchor.page import Page

_DEEPEST = 12  # rows a row is under that are looked for before it; code that is nested deeper is generated
# The end of a range is taken where it was found when that is at least as likely as not; else the length is kept.
_LIKELY = 0.5


class Search:
    """Rows of one pair of pages, each looked for once however many spans begin or end on it."""

    def __init__(
        self,
        old: Page,
        new: Page,
        shift: int | None = None,
        symbol: tuple[str, ...] = (),
        elsewhere: Elsewhere | None = None,
    ) -> None:
        self.old, self.new = old, new
        self.shift = shift or 0
        self.elsewhere = elsewhere
        self.evidence = Evidence(old, new, shift, symbol)
        self._bare = Bare(self.evidence.aligned, self.evidence.expected, self.ranked)
        self._found: dict[int, Ranked] = {}
        self._others: dict[str, Search] = {}

    def relocate(self, spans: Iterable[Span]) -> list[Relocation]:
        return [self._relocate(span) for span in spans]

    def ranked(self, row: int) -> Ranked:
        """The best candidates for an old row with their probabilities, the likeliest first."""
        if row not in self._found and not self._settle(row):
            # Outermost first: a row is looked for where the rows it is under are, and in its function.
            for each in [*self.old.ancestors(row)[-_DEEPEST:], self.old.frames[row], row]:
                if each >= 0 and each not in self._found and not self._settle(each):
                    self._found[each] = self._rank(each)
        return self._found[row]

    def _settle(self, row: int) -> bool:
        """Whether a row is where it is without a doubt: then nothing else is looked at, not even the syntax tree."""
        at = self.evidence.settled(row)
        if at >= 0:
            self._found[row] = [(SETTLED, at)]
        return at >= 0

    def _rank(self, row: int) -> Ranked:
        if is_bare(self.old.keys[row]):
            return self._bare.rank(row)
        rows, measures = self._measured(row)
        return [(chance, rows[place]) for chance, place in rank(measures)]

    def _measured(self, row: int) -> tuple[list[int], list[tuple[float, ...]]]:
        parent = self.old.parents[row]
        home = self._found.get(parent, []) if parent >= 0 else [(1.0, -1)]
        heads = self._found.get(self.old.frames[row], [])
        rows = self.evidence.candidates(row, home, heads)
        return rows, self.evidence.measures(row, rows, home, heads)

    def weighed(self, row: int) -> tuple[list[int], list[tuple[float, ...]]]:
        """The candidates of a row and their measures, if they have to be weighed at all: what training learns from."""
        self.ranked(row)
        if self.evidence.settled(row) >= 0 or is_bare(self.old.keys[row]):
            return [], []
        return self._measured(row)

    def _relocate(self, span: Span) -> Relocation:
        if not 1 <= span.start <= len(self.old):
            return Relocation("orphaned", None, 1.0, f"line {span.start} is past the end of the old text", "", "")
        start, end = span.start - 1, min(span.last, len(self.old)) - 1
        candidates = self._candidates(start, end)
        text = self.old.between(start, end)
        if not candidates or candidates[0].confidence < GONE:
            gone = 1 - candidates[0].confidence if candidates else 1.0
            return Relocation("orphaned", None, round(gone, 3), "nothing like it is left", text, "", candidates)
        best = candidates[0]
        state = self._state(best, start, end)
        return Relocation(
            state,
            best.span,
            best.confidence,
            _reason(state, best, best.span.start - span.start - self.shift),
            text,
            best.text,
            candidates if state == "review" else (),
            best.path,
        )

    def _candidates(self, start: int, end: int) -> tuple[Candidate, ...]:
        here = [self._candidate(chance, row, start, end) for chance, row in self.ranked(start)]
        if not self.elsewhere or (here and here[0].confidence == SETTLED):
            return tuple(here)
        there = self._look_elsewhere(start, end)
        both = sorted([*here, *there], key=lambda each: -each.confidence)
        return tuple(both[:MOST_CANDIDATES])

    def _look_elsewhere(self, start: int, end: int) -> list[Candidate]:
        """Candidates in other files: as likely as the row is in its block there, and its block in that file."""
        assert self.elsewhere is not None
        found: list[Candidate] = []
        for share, page in self.elsewhere.likely(self.old, start):
            path = page.source.path
            if path not in self._others:
                self._others[path] = Search(self.old, page)
            other = self._others[path]
            for chance, row in other.ranked(start)[:2]:
                each = other._candidate(chance * min(1.0, 0.5 + share), row, start, end)
                found.append(Candidate(each.span, each.confidence, each.text, path))
        return found

    def _candidate(self, chance: float, at: int, start: int, end: int) -> Candidate:
        last = self._end(at, start, end)
        return Candidate(Span(at + 1, last + 1), round(chance, 3), self.new.between(at, last))

    def _end(self, at: int, start: int, end: int) -> int:
        """The last row of a span that begins at a new row: looked for by itself, since a range may grow or shrink."""
        if end <= start:
            return at
        for chance, row in self.ranked(end)[:1]:
            if chance >= _LIKELY and row >= at:
                return row
        return min(at + end - start, len(self.new) - 1)

    def _state(self, best: Candidate, start: int, end: int) -> State:
        if best.confidence < SURE:
            return "review"
        page = self._others[best.path].new if best.path else self.new
        if self.old.keys[start : end + 1] != page.keys[best.span.start - 1 : best.span.last]:
            return "modified"
        return "exact" if best.span.start == start + self.shift + 1 and not best.path else "moved"


def _reason(state: State, best: Candidate, lines: int) -> str:
    if state == "review":
        return "more than one place is possible, or the code changed much"
    moved = f"moved to {best.path}" if best.path else f"moved by {lines:+d} lines" if lines else ""
    if state == "modified":
        return f"the code was edited and {moved}" if moved else "the code was edited"
    return moved or "unchanged"
