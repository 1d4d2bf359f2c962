"""Looks for the rows of an old page in a new one and says, span by span, what became of them."""

from collections.abc import Iterable

from postil.anchor.evidence import MEASURES, Evidence, Ranked
from postil.anchor.judge import GONE, SURE, weigh
from postil.anchor.model import MOST_CANDIDATES, Candidate, Relocation, Span, State
from postil.anchor.page import Page


class Search:
    """Rows of one pair of pages, each looked for once however many spans begin or end on it."""

    def __init__(self, old: Page, new: Page, shift: int | None = None) -> None:
        self.old, self.new = old, new
        self.shift = shift or 0
        self.evidence = Evidence(old, new, shift)
        self._found: dict[int, Ranked] = {}

    def relocate(self, spans: Iterable[Span]) -> list[Relocation]:
        return [self._relocate(span) for span in spans]

    def ranked(self, row: int) -> Ranked:
        """The best candidates for an old row with their probabilities, the likeliest first."""
        for each in [*self.old.ancestors(row), row]:  # outermost first: a row is looked for where its parent is
            if each not in self._found:
                self._found[each] = self._rank(each)
        return self._found[row]

    def _rank(self, row: int) -> Ranked:
        settled = self.evidence.settled(row)
        if settled >= 0:
            return [(0.999, settled)]
        parent = self.old.parents[row]
        home = self._found[parent] if parent >= 0 else [(1.0, -1)]
        heads = self._found.get(self.old.frames[row], [])
        rows = self.evidence.candidates(row, home, heads)
        chances = weigh(MEASURES, [self.evidence.measure(row, at, home, heads) for at in rows])
        return sorted(zip(chances, rows, strict=True), key=lambda each: (-each[0], each[1]))[:MOST_CANDIDATES]

    def _relocate(self, span: Span) -> Relocation:
        if not 1 <= span.start <= len(self.old):
            return Relocation("orphaned", None, 1.0, f"line {span.start} is past the end of the old text", "", "")
        start, end = span.start - 1, min(span.last, len(self.old)) - 1
        text = self.old.between(start, end)
        ranked = self.ranked(start)
        best, at = ranked[0] if ranked else (0.0, -1)
        candidates = tuple(self._candidate(chance, row, start, end) for chance, row in ranked)
        if best < GONE:
            return Relocation("orphaned", None, round(1 - best, 3), "nothing like it is left", text, "", candidates)
        first = candidates[0]
        same = self._same(start, end, first.span)
        state: State = "review"
        if best >= SURE:
            state = "modified" if not same else "exact" if at == start + self.shift else "moved"
        reason = _reason(state, at - start - self.shift)
        return Relocation(
            state, first.span, first.confidence, reason, text, first.text, candidates if state == "review" else ()
        )

    def _candidate(self, chance: float, at: int, start: int, end: int) -> Candidate:
        last = self._end(at, start, end)
        return Candidate(Span(at + 1, last + 1), round(chance, 3), self.new.between(at, last))

    def _end(self, at: int, start: int, end: int) -> int:
        """The last row of a span that begins at a new row: looked for by itself, since a range may grow or shrink."""
        if end <= start:
            return at
        kept = min(at + end - start, len(self.new) - 1)
        for chance, row in self.ranked(end)[:1]:
            if chance >= 0.5 and row >= at:
                return row
        return kept

    def _same(self, start: int, end: int, now: Span) -> bool:
        return self.old.keys[start : end + 1] == self.new.keys[now.start - 1 : now.last]


def _reason(state: State, lines: int) -> str:
    if state == "review":
        return "more than one place is possible, or the code changed much"
    if state == "modified":
        return "the code was edited" + (f" and moved by {lines:+d} lines" if lines else "")
    return f"moved by {lines:+d} lines" if lines else "unchanged"
