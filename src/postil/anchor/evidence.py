"""What speaks for a new row being an old one: the measures of each candidate. judge.py weighs them."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from functools import cached_property
from itertools import accumulate, repeat
from math import fsum, log1p

from rapidfuzz import process
from rapidfuzz.distance import Indel

from postil.anchor.counterparts import Counterparts
from postil.anchor.model import Ranked
from postil.anchor.page import count_tokens
from postil.anchor.renames import Renames
from postil.anchor.side_by_side.row_facts import RowFacts

_NEAR = 60
_OFTEN = 2.0  # more than so often is told as so often
_BESIDE = 8  # rows between a candidate and where a neighbour of the old row went

# What kind of statement a word opens, where it says so in most languages.
_SORTS = {
    word: float(number)
    for number, words in enumerate(
        """
        if else elif elsif unless
        for while do until loop foreach
        try catch except finally rescue ensure
        return throw raise yield break continue
        case switch match when default
        import from use using include package require
        class interface enum struct trait impl def func fn function type
        """.strip().splitlines(),
        1,
    )
    for word in words.split()
}
_similar = Indel.normalized_similarity
_NO_VOTES: dict[int, int] = {}

MEASURES = tuple(
    """
    chars header tokens contained name opening before after first votes inside distance block size parent
    home taken length support children framed local_first local_votes rival kept kept_near kept_frame
    similar_frame local_distance local_inside declares followed above below sort aligned statement
    """.split()  # noqa: SIM905 - one name a line would fill the page
)


class Evidence:
    """The measures of one pair of pages, one method each where it takes more than a line."""

    def __init__(self, counterparts: Counterparts, renames: Renames) -> None:
        self.old, self.new, self.aligned = counterparts.old, counterparts.new, counterparts.aligned
        self.renames = renames
        self.facts = RowFacts(self.old, self.new)
        self._counterparts = counterparts
        self._frames: dict[tuple[int, int], float] = {}
        self._parents: dict[tuple[int, int], float] = {}
        self._rivals: dict[int, list[tuple[float, int]]] = {}

    def measure(self, row: int, rows: Sequence[int], home: Ranked, heads: Ranked) -> list[Sequence[float]]:
        """Returns for each of MEASURES a number for each candidate. What only the old row says is asked once.

        Each number is measured of all candidates at once, and what takes a line is not called: this is the dearest part
        of a search.
        """
        if not rows:
            return []
        old, new, forward, backward = self.old, self.new, self.aligned.forward, self.aligned.backward
        mine, weigh = self.facts.old[row], self.facts.weights.__getitem__
        key, header, name, opening = mine.key, mine.header, mine.name, mine.opening
        before, after, above, below = mine.before, mine.after, mine.above, mine.below
        up, frame = mine.parent, mine.frame
        body, statement, tokens, weight = mine.body, mine.statement, mine.tokens, mine.weight
        words = len(old.tokens(row))
        drift, local = self.aligned.drift(row), self._counterparts.trace_tokens(row, heads)
        first, votes = (drift.first, drift.votes) if drift else (-1, _NO_VOTES)
        local_first, local_votes = (local.first, local.votes) if local else (-1, _NO_VOTES)
        over, under = self.aligned.around(row)
        low = forward[over] if over >= 0 else -1
        high = forward[under] if under < len(old) else len(new)
        low_local, high_local = self._counterparts.bound_rows(row, heads)
        bounded, middle = high_local < 1 << 30, (low_local + high_local) / 2
        expected, aligned = self._counterparts.expect(row), forward[row]
        homes = {place: chance for chance, place in reversed(home)}
        framed = {place: chance for chance, place in reversed(heads)}
        size, length, sort = log1p(mine.end - row), log1p(len(key)), _SORTS.get(opening, 0.0)
        kept, kept_near = self._kept(0, len(old)), self._kept(max(0, row - 15), min(len(old), row + 16))
        kept_frame = self._kept(frame, old.frame_end(frame)) if frame >= 0 else -1.0
        renames, declares = self.renames, bool(self.renames.list_declared(old, row))
        supporting, supporters = self._list_supporting(row)
        children, brood = self._list_children(row)
        asked = [self.facts.new[at] for at in rows]
        (
            keys, headers, names, openings, befores, afters, aboves, belows, ups, ends, frames, bodies, statements,
            words_now, weights,
        ) = zip(*asked, strict=True)  # fmt: skip
        count = len(rows)
        shared = [
            fsum(map(weigh, tokens & theirs)) if weight and heavy else 0.0
            for theirs, heavy in zip(words_now, weights, strict=True)
        ]
        rivals = [backward[at] for at in rows]
        return [
            [*map(_similar, repeat(key), keys)],
            [*map(_similar, repeat(header), headers)],
            [2 * some / (weight + heavy) if some else 0.0 for some, heavy in zip(shared, weights, strict=True)],
            [some / min(weight, heavy) if some else 0.0 for some, heavy in zip(shared, weights, strict=True)],
            [1.0 if now == name else 0.0 for now in names],
            [1.0 if now == opening else 0.0 for now in openings],
            [*map(_similar, repeat(before), befores)],
            [*map(_similar, repeat(after), afters)],
            [1.0 if at == first else 0.0 for at in rows],
            [votes.get(at, 0) / words for at in rows] if votes else (0.0,) * count,
            [1.0 if low < at < high else 0.0 for at in rows],
            [log1p(abs(at - expected)) for at in rows],
            [*map(_compare_sets, repeat(body), bodies)],
            (size,) * count,
            [self._compare_parents(up, now) for now in ups],
            [1.0 if now < 0 else 0.0 for now in ups] if up < 0 else [homes.get(now, 0.0) for now in ups],
            [1.0 if rival >= 0 and rival != row else 0.0 for rival in rivals],
            (length,) * count,
            [
                (bisect_right(supporting, at + _BESIDE) - bisect_left(supporting, at - _BESIDE)) / supporters
                for at in rows
            ]
            if supporters
            else (0.5,) * count,
            [
                (bisect_right(children, end) - bisect_right(children, at)) / brood
                for at, end in zip(rows, ends, strict=True)
            ]
            if brood
            else (0.5,) * count,
            self._compare_functions(row, rows, frame, frames, framed),
            [1.0 if at == local_first else 0.0 for at in rows],
            [local_votes.get(at, 0) / words for at in rows] if local_votes else (0.0,) * count,
            [self._rival(row, at) for at in rows],
            (kept,) * count,
            (kept_near,) * count,
            (kept_frame,) * count,
            [self._compare_frames(frame, now) if now >= 0 else -1.0 for now in frames]
            if frame >= 0
            else (-1.0,) * count,
            [log1p(abs(at - middle)) for at in rows] if bounded else (-1.0,) * count,
            [1.0 if low_local < at < high_local else 0.0 for at in rows] if bounded else (-1.0,) * count,
            [renames.share_kept(row, at) for at in rows] if declares else (-1.0,) * count,
            [renames.share_followed(row, at) for at in rows] if declares else (-1.0,) * count,
            [*map(_similar, repeat(above), aboves)],
            [*map(_similar, repeat(below), belows)],
            (sort,) * count,
            [1.0 if at == aligned else 0.0 for at in rows],
            [*map(_compare_sets, repeat(statement), statements)],
        ]

    def ask_words(self, row: int) -> list[float]:
        """Returns how much of an old row is left anywhere, and how often the name it declares is there for once before.

        The rarer a word, the more it is of a row. The other is -1 where a row declares nothing.
        """
        mine, before, now = self.facts.old[row], count_tokens(self.old), count_tokens(self.new)
        left = fsum(self.facts.weights[token] for token in mine.tokens if now.count(token))
        found = [left / mine.weight if mine.weight else -1.0, -1.0]
        for name in self.renames.list_declared(self.old, row)[:1]:
            found[1] = min(_OFTEN, now.count(name) / max(1, before.count(name)))
        return found

    def _compare_functions(
        self, row: int, rows: Sequence[int], frame: int, now: Sequence[int], framed: dict[int, float]
    ) -> list[float]:
        """Returns for each candidate how likely the function around it is the one around the old row."""
        if frame < 0:
            return [1.0 if each == frame else 0.0 for each in now]
        if frame == row:
            return [1.0 if each == at else 0.0 for each, at in zip(now, rows, strict=True)]
        return [framed.get(each, 0.0) if each >= 0 else 0.0 for each in now]

    def _compare_frames(self, frame: int, now: int) -> float:
        """Returns how many of the words of two functions are common to both: a Dice of sets."""
        found = self._frames.get((frame, now))
        if found is None:
            found = self._frames[frame, now] = _compare_sets(self.facts.old.body(frame), self.facts.new.body(now))
        return found

    def _compare_parents(self, up: int, now: int) -> float:
        """Returns how alike the rows are that two rows are under."""
        found = self._parents.get((up, now))
        if found is None:
            mine, theirs = self.old.keys[up] if up >= 0 else "", self.new.keys[now] if now >= 0 else ""
            found = self._parents[up, now] = _similar(mine, theirs)
        return found

    def _kept(self, start: int, stop: int) -> float:
        """Returns the share of the telling rows of a range that have a counterpart."""
        counts, kept = self._telling_rows
        telling = counts[stop] - counts[start]
        return (kept[stop] - kept[start]) / telling if telling else 0.5

    @cached_property
    def _telling_rows(self) -> tuple[list[int], list[int]]:
        """How many telling rows are before each row, and how many of them have a counterpart."""
        telling = [len(key) > 2 for key in self.old.keys]
        kept = [tells and at >= 0 for tells, at in zip(telling, self.aligned.forward, strict=True)]
        return [0, *accumulate(telling)], [0, *accumulate(kept)]

    @cached_property
    def _lost_keys(self) -> list[str]:
        return [self.old.keys[row] for row in self._lost]

    @cached_property
    def _lost(self) -> list[int]:
        return [row for row, at in enumerate(self.aligned.forward) if at < 0 and self.old.keys[row]]

    def _rival(self, row: int, at: int) -> float:
        """Returns how alike to the candidate the likest other old row is that has no counterpart."""
        found = self._rivals.get(at)
        if found is None:
            low, high = bisect_left(self._lost, row - _NEAR), bisect_left(self._lost, row + _NEAR)
            keys = self._lost_keys[low:high]
            best = process.extract(self.new.keys[at], keys, scorer=_similar, limit=2, score_cutoff=0.3)
            found = self._rivals[at] = [(likeness, self._lost[low + place]) for _, likeness, place in best]
        for likeness, near in found:  # the likest first
            if near != row:
                return likeness
        return 0.0

    def _list_children(self, row: int) -> tuple[list[int], int]:
        """Returns the counterparts of the telling rows under an old row, in order, and how many such rows there are."""
        keys, forward = self.old.keys, self.aligned.forward
        telling = [forward[child] for child in self.old.children.get(row, [])[:12] if len(keys[child]) > 2]
        return sorted(at for at in telling if at >= 0), len(telling)

    def _list_supporting(self, row: int) -> tuple[list[int], int]:
        """Returns the counterparts of the telling neighbours of an old row, in order, and how many those are."""
        forward, keys = self.aligned.forward, self.old.keys
        near = range(max(0, row - 6), min(len(keys), row + 7))
        telling = [forward[each] for each in near if each != row and len(keys[each]) > 2]
        return sorted(at for at in telling if at >= 0), len(telling)


def _compare_sets(mine: frozenset[str], theirs: frozenset[str]) -> float:
    """Returns how many of the words of both are common to both: a Dice of sets."""
    total = len(mine) + len(theirs)
    return 2.0 * len(mine & theirs) / total if total else 1.0
