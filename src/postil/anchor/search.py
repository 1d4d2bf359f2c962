"""Looks for the rows of an old page in a new one and says, span by span, what became of them."""

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from postil.anchor.at_a_glance import NAMESAKE, Glance
from postil.anchor.bare import BareRows
from postil.anchor.candidates import Candidates
from postil.anchor.counterparts import Counterparts
from postil.anchor.evidence import Evidence
from postil.anchor.judge import GONE, SURE, judge_again
from postil.anchor.judge import rank as rank_measures
from postil.anchor.model import MOST_CANDIDATES, SETTLED, Candidate, Ranked, Relocation, Span, State
from postil.anchor.other_files import OtherFiles
from postil.anchor.page import Page, is_bare
from postil.anchor.renames import Renames

# A place less sure than this is looked at again: from it back to the old text, and where the rows beside it went.
# Of a row that was copied it must be as sure then.
_CERTAIN = 0.9
_SINGLE = 0.97  # how likely the only row of its kind is its counterpart, under the same row as before
# A row in its own function that is so like the old one stands for it, rather than one in another: surely, or perhaps.
_ALIKE, _SIMILAR = 0.8, 0.6
# What begins as a row did, and has all of it, is asked about where it is so likely and the likeliest place has not.
_OFFERED, _LONG, _ENDS = 0.05, 12, ")]};,:{"
_QUOTES = ('"""', "'''")
_AT_HOME = 0.9  # how likely a row of a fragment is where the rows around it say
_GONE_FRAGMENT = 0.03  # of a fragment there is no looking again, so it is gone sooner
_BESIDE, _NEAR = 2, 7  # telling rows on each side that are asked where they went, and how far they may be
_LOOSE, _FAR = 8, 20.0  # rows by which they may be farther away than they were; more than so many is told as so many
_NOWHERE = 1 << 30
_NO_SECOND = (-1.0, -1.0, -1.0)
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
        elsewhere: OtherFiles | None = None,
    ) -> None:
        self.old, self.new = old, new
        self.shift = shift or 0
        self.elsewhere = elsewhere
        self._counterparts = Counterparts(old, new, shift, symbol)
        renames = Renames(old, new, self._counterparts.aligned)
        self._evidence = Evidence(self._counterparts, renames)
        self._worth = Candidates(self._counterparts, renames)
        self._glance = Glance(self._counterparts)
        self._bare = BareRows(self._counterparts.aligned, self._counterparts.expect, self.rank, self._glance.place)
        self._back = Glance(Counterparts(new, old, aligned=self._counterparts.aligned.turn()))
        self._found: dict[int, Ranked] = {}
        self._told: dict[int, list[float]] = {}  # of rows that were weighed, what judge.rank told of their first
        self._others: dict[str, Search] = {}

    def relocate(self, spans: Iterable[Span]) -> list[Relocation]:
        return [self._relocate(span) for span in spans]

    def rank(self, row: int) -> Ranked:
        """Returns the best candidates for an old row with their probabilities, the likeliest first."""
        if row not in self._found and not self._take_settled(row):
            found = self._rank_row(row)
            self._found.setdefault(row, found)  # a bracket and the row that it closes ask for each other
        return self._found[row]

    def _recall(self, row: int) -> Ranked:
        """Returns where a row is, as far as it was asked for others or itself."""
        return self._found.get(row) or self._glance.recall(row)

    def _take_settled(self, row: int) -> bool:
        """Returns whether the place of a row is beyond doubt. Then nothing else is looked at, not even the syntax."""
        at = self._counterparts.find_settled(row)
        if at >= 0:
            self._found[row] = [(SETTLED, at)]
        return at >= 0

    def _rank_row(self, row: int) -> Ranked:
        if is_bare(self.old.keys[row]):
            return self._bare.rank(row)
        if (at := self._counterparts.find_single(row, self._look(self.old.parents[row]))) >= 0:
            return [(_SINGLE, at)]
        rows, measures = self._measure(row)
        ranked, self._told[row] = rank_measures(measures)
        return [(chance, rows[place]) for chance, place in ranked]

    def _look(self, row: int) -> Ranked:
        """Returns where a row is that is asked for others only; nothing for -1."""
        return self._glance.place(row) if row >= 0 else []

    def _measure(self, row: int) -> tuple[list[int], list[Sequence[float]]]:
        parent, declared = self.old.parents[row], self.old.documented(row)
        home = self._look(parent) if parent >= 0 else [(1.0, -1)]
        heads, documented = self._look(self.old.frames[row]), self._look(declared)
        rows = self._worth.find(row, home, heads, documented)
        aligned = self._counterparts.aligned.forward[declared] if documented else -1
        if documented and documented[0][0] >= SURE and aligned in (-1, documented[0][1]):
            # A comment belongs to what it documents: where that is sure, the others are not looked at.
            mine = [at for at in rows if self.new.documented(at) == documented[0][1]]
            rows = mine or rows
        return rows, self._evidence.measure(row, rows, home, heads)

    def weigh(self, row: int) -> tuple[list[int], list[Sequence[float]]]:
        """Returns the candidates of a row and their measures if they have to be weighed: training learns from them."""
        if self._counterparts.find_settled(row) >= 0 or is_bare(self.old.keys[row]):
            return [], []
        return self._measure(row)

    def _relocate(self, span: Span) -> Relocation:
        if not 1 <= span.start <= len(self.old):
            return Relocation("orphaned", None, 1.0, f"line {span.start} is past the end of the old text", "", "")
        start, end = span.start - 1, min(span.last, len(self.old)) - 1
        candidates = self._find_candidates(start, end)
        text = self.old.between(start, end)
        if not candidates or candidates[0].confidence < (_GONE_FRAGMENT if self._counterparts.partial else GONE):
            gone = 1 - candidates[0].confidence if candidates else 1.0
            return Relocation("orphaned", None, round(gone, 3), "nothing like it is left", text, "", candidates)
        best = candidates[0]
        state = self._judge(best, start, end)
        whole = state == "modified" and _find_whole(self.new, self.old.keys[start], candidates)
        state = "review" if whole else state
        reason = _explain(state, best, best.span.start - span.start - self.shift)
        if state == "review" and best.confidence >= SURE:
            extended = f"line {whole} has all of its words, and this one has not"
            reason = extended if whole else self._explain_doubt(best, start)
        return Relocation(
            state,
            best.span,
            best.confidence,
            reason,
            text,
            best.text,
            candidates if state == "review" else (),
            best.path,
        )

    def _explain_doubt(self, best: Candidate, start: int) -> str:
        """Returns why a person is asked about a place that is sure by itself."""
        place, here = best.span.start - 1, not best.path
        if here and self._counterparts.partial and not self._counterparts.proof.proves(start, place):
            return "the version it was written on is not to be had, and what is left around it does not prove the place"
        if here and self._documents_another(start, place):
            return "it documented another declaration"
        if here and self._bare.closes_another(start, place, self._find_candidates):
            return "what it closed is not above this place for sure"
        if here and self._counterparts.leaves_statement(start, place, self._recall(self.old.frames[start])):
            return "it would go on another statement, in another function"
        if self._evidence.renames.is_another_entry(start, self._page_of(best), place):
            return "nothing is left of what told it from the lines beside it"
        aligned = self._counterparts.aligned.forward[start] + 1
        if here and aligned not in (0, best.span.start):
            return f"a diff leaves it at line {aligned}, what is around it speaks for line {best.span.start}"
        return "its function is still there, and this place is in another one"

    def _page_of(self, found: Candidate) -> Page:
        return self._others[found.path].new if found.path else self.new

    def _find_candidates(self, start: int, end: int) -> tuple[Candidate, ...]:
        found = [self._make_candidate(chance, row, start, end) for chance, row in self.rank(start)]
        if self.elsewhere and not (found and found[0].confidence == SETTLED):
            there = self._look_elsewhere(start, end)
            found = sorted([*found, *there], key=lambda each: -each.confidence)[:MOST_CANDIDATES]
        return self._keep_in_function(self._look_again(tuple(found), start, end), start, end)

    def _look_again(self, candidates: tuple[Candidate, ...], row: int, end: int) -> tuple[Candidate, ...]:
        """Returns the candidates; a first one in doubt is surer, or less sure, for what is found out about it.

        Before that of a fragment's row which nothing proves comes the place that is proven, if there is one.
        """
        if not candidates or candidates[0].path or candidates[0].confidence < GONE:
            return candidates
        first, place = candidates[0], candidates[0].span.start - 1
        if self._counterparts.partial:
            if first.confidence >= SURE and (at := self._counterparts.find_proven(row, place)) >= 0:
                left = tuple(each for each in candidates if each.span.start != at + 1)
                return (self._make_candidate(_AT_HOME, at, row, end), *_cap(left, SURE - 0.01))[:MOST_CANDIDATES]
            if first.confidence < SURE and self._counterparts.is_at_home(row, place, first.confidence):
                return (replace(first, confidence=_AT_HOME), *candidates[1:])
            return candidates
        if first.confidence >= _CERTAIN:
            return candidates
        self.rank(row)
        if not self._told.get(row):
            return candidates
        chance = round(self._judge_again(row), 3)
        if SURE <= chance < _CERTAIN and self._counterparts.was_copied(row):
            chance = SURE - 0.01
        return (replace(candidates[0], confidence=chance), *_cap(candidates[1:], chance))

    def _keep_in_function(self, candidates: tuple[Candidate, ...], start: int, end: int) -> tuple[Candidate, ...]:
        """Returns the candidates; before one in another function comes the row alike in its own, if that is there.

        And before one in another block the row itself, where a diff leaves it in its own.
        """
        if not candidates or candidates[0].path:
            return candidates
        at = self._counterparts.find_in_block(start, candidates[0].span.start - 1)
        if at >= 0:
            others = tuple(each for each in candidates if each.span.start != at + 1)
            found = (self._make_candidate(NAMESAKE, at, start, end), *_cap(others, NAMESAKE))
            return found[:MOST_CANDIDATES]
        if candidates[0].confidence < SURE:
            return candidates
        likeness, at = self._counterparts.find_in_function(start, candidates[0].span.start - 1)
        if at < 0:
            return candidates
        others = [each for each in candidates if each.span.start != at + 1]
        if likeness < _SIMILAR:  # shown to a person, if one is asked
            return (*others[: MOST_CANDIDATES - 1], self._make_candidate(likeness / 2, at, start, end))
        if self.old.frames[start] >= 0:
            self._glance.place(self.old.frames[start])
        chance = NAMESAKE if likeness >= _ALIKE else SURE - 0.01
        found = (self._make_candidate(chance, at, start, end), *_cap(tuple(others), chance))
        return found[:MOST_CANDIDATES]

    def _judge_again(self, row: int) -> float:
        """Returns how likely the first candidate of a row is, by what `describe` tells of it."""
        return judge_again(self.describe(row))

    def describe(self, row: int) -> list[float]:
        """Returns what tells whether the first candidate of a row is right, or the row gone.

        Nothing where none was weighed. Else it is what was told of it before; whether its words are left anywhere;
        whether it and the next one lead back to the row, or to another that has a better claim; and whether the rows
        beside it went to the same place.
        """
        ranked = self.rank(row)
        told = self._told.get(row)
        if not told or self._counterparts.partial:
            return []
        second = self._ask_origins(ranked[1][1], row) if len(ranked) > 1 else _NO_SECOND
        at = ranked[0][1]
        words = self._evidence.ask_words(row)
        return [*told, *words, *self._ask_origins(at, row), *second, *self._ask_beside(row, at)]

    def _ask_origins(self, at: int, row: int) -> list[float]:
        """Returns how likely a new row was this one, how likely another, and whether this is the likelier."""
        origins = self._back.place(at)
        mine = max((chance for chance, origin in origins if origin == row), default=0.0)
        other = max((chance for chance, origin in origins if origin != row), default=0.0)
        return [mine, other, float(mine >= _LIKELY and origins[0][1] == row)]

    def _ask_beside(self, row: int, at: int) -> list[float]:
        """Returns what the rows above and below say of a place, and how sure one of them is that it is there itself.

        For each side: how many know where they went, how many of those are on their side of the place, how sure the
        nearest is, and by how much it is nearer or farther than it was.
        """
        found: list[float] = []
        claim = 0.0
        for step in (-1, 1):
            beside = self._list_beside(row, step)
            places = [(near - row, *(self._glance.place(near) or [(0.0, _NOWHERE)])[0]) for near in beside]
            known = [(far, place - at) for far, chance, place in places if chance >= _LIKELY]
            kept = sum(0 < away * step <= abs(far) + _LOOSE for far, away in known)
            found.append(len(known) / len(places) if places else -1.0)
            found.append(kept / len(known) if known else -1.0)
            found += [places[0][1], min(_FAR, float(abs(places[0][2] - at - places[0][0])))] if places else [-1.0, -1.0]
            claim = max([claim, *(chance for _, chance, place in places if place == at)])
        return [*found, claim]

    def _list_beside(self, row: int, step: int) -> list[int]:
        """Returns the telling rows next to a row, above (step -1) or below it."""
        last = max(-1, row - _NEAR - 1) if step < 0 else min(len(self.old), row + _NEAR + 1)
        keys = self.old.keys
        telling = [near for near in range(row + step, last, step) if len(keys[near]) > 2 and not is_bare(keys[near])]
        return telling[:_BESIDE]

    def _look_elsewhere(self, start: int, end: int) -> list[Candidate]:
        """Returns candidates in other files: as likely as the row is in its block there, and its block in that file."""
        assert self.elsewhere is not None
        found: list[Candidate] = []
        for share, page in self.elsewhere.find_likely(self.old, start):
            path = page.source.path
            if path not in self._others:
                self._others[path] = Search(self.old, page)
            other = self._others[path]
            for chance, row in other.rank(start)[:2]:
                each = other._make_candidate(chance * min(1.0, 0.5 + share), row, start, end)
                found.append(Candidate(each.span, each.confidence, each.text, path))
        return found

    def _make_candidate(self, chance: float, at: int, start: int, end: int) -> Candidate:
        last = self._find_end(at, start, end)
        return Candidate(Span(at + 1, last + 1), round(chance, 3), self.new.between(at, last))

    def _find_end(self, at: int, start: int, end: int) -> int:
        """Returns the last row of a span that begins at a new row. It is searched: a range may grow or shrink."""
        if end <= start:
            return at
        for chance, row in self.rank(end)[:1]:
            likeness, place = self._counterparts.find_in_function(end, row)
            if likeness >= _SIMILAR and place >= at:
                return place
            if chance >= _LIKELY and row >= at:
                return row
        return min(at + end - start, len(self.new) - 1)

    def _judge(self, best: Candidate, start: int, end: int) -> State:
        if best.confidence < SURE or self._overrules(best, start):
            return "review"
        page = self._page_of(best)
        if self.old.keys[start : end + 1] != page.keys[best.span.start - 1 : best.span.last]:
            another = self._evidence.renames.is_another_entry(start, page, best.span.start - 1)
            return "review" if another else "modified"
        return "exact" if best.span.start == start + self.shift + 1 and not best.path else "moved"

    def _overrules(self, best: Candidate, row: int) -> bool:
        """Returns whether likeness alone speaks against the diff, which leaves the row unchanged at another place.

        More than likeness is a function: one that went elsewhere took its rows along, whatever the diff made of them.
        And one that stayed keeps its rows, where likeness speaks for one like many others elsewhere.
        """
        aligned = self._counterparts.aligned.forward[row]
        place = best.span.start - 1
        if best.path:
            return False
        if self._documents_another(row, place):
            return True
        if self._counterparts.partial:
            return self._counterparts.leaves_symbol(row, place) or not self._counterparts.proof.proves(row, place)
        if self._counterparts.leaves_statement(row, place, self._recall(self.old.frames[row])):
            return True
        if self._counterparts.leaves_function(row, place, settled=best.confidence == SETTLED):
            return True
        if best.confidence < SETTLED and self._bare.closes_another(row, place, self._find_candidates):
            return True
        if aligned in (-1, place) or is_bare(self.old.keys[row]):
            return False
        now = self.new.frames[place]
        if now < 0 or now == self.new.frames[aligned]:
            return True
        head = self.old.frames[row]
        if head < 0 or now == self._counterparts.find_namesake(head):
            return head < 0
        return not any(at == now and chance >= SURE for chance, at in self._recall(head)[:1])

    def _documents_another(self, row: int, place: int) -> bool:
        """Returns whether a row of a comment would go to the comment of another declaration than its own.

        Where its own is gone, and its words stand there several times, the comment of one that was there before is
        another's, too. Quotes that end the words of a function that is still around them document nothing below.
        """
        declared, now = self.old.documented(row), self.new.documented(place)
        if declared < 0 or now < 0 or self._counterparts.partial:
            return False
        around = self.old.frames[row] if self.old.keys[row] in _QUOTES else -1
        if any(chance >= SURE and at == self.new.frames[place] for chance, at in self._look(around)[:1]):
            return False
        before = self._counterparts.aligned.backward[now]
        if before not in (-1, declared) and len(self.old.places[self.old.keys[row]]) > 1:
            return True
        if self._counterparts.aligned.forward[declared] == now:
            return False
        return any(chance >= SURE and at != now for chance, at in self._recall(declared)[:1])


def _find_whole(new: Page, key: str, candidates: Sequence[Candidate]) -> int:
    """Returns the line of a likely place that begins as a row did and has all of it, where the best has not; or 0.

    Only a best one in doubt is asked about, and only the function that it is in has another.
    """
    text, best = key.rstrip(_ENDS), candidates[0]
    place = best.span.start - 1
    if best.path or best.confidence >= _CERTAIN or len(text) < _LONG or new.keys[place].startswith(text):
        return 0
    rows = (each.span.start - 1 for each in candidates[1:] if each.confidence >= _OFFERED and not each.path)
    return next((row + 1 for row in rows if new.keys[row].startswith(text) and new.frames[row] == new.frames[place]), 0)


def _cap(candidates: tuple[Candidate, ...], most: float) -> tuple[Candidate, ...]:
    return tuple(replace(each, confidence=min(each.confidence, most)) for each in candidates)


def _explain(state: State, best: Candidate, lines: int) -> str:
    if state == "review":
        return "more than one place is possible, or the code changed much"
    moved = f"moved to {best.path}" if best.path else f"moved by {lines:+d} lines" if lines else ""
    if state == "modified":
        return f"the code was edited and {moved}" if moved else "the code was edited"
    return moved or "unchanged"
