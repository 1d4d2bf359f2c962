"""What speaks for a new row being an old one: the measures of each candidate. judge.py weighs them."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from functools import cached_property
from itertools import accumulate
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
    home taken indent length support children framed local_first local_votes kind owner rival kept
    kept_near kept_frame similar_frame local_distance local_inside head_rows head_rows_now
    declares followed twins twins_now above below sort remark aligned
    documents siblings statement kept_own kept_parent
    """.split()  # noqa: SIM905 - one name a line would fill the page
)


class Evidence:
    """The measures of one pair of pages, one method each where it takes more than a line."""

    def __init__(self, counterparts: Counterparts, renames: Renames, facts: RowFacts | None = None) -> None:
        self.old, self.new, self.aligned = counterparts.old, counterparts.new, counterparts.aligned
        self.symbol = counterparts.symbol
        self.renames = renames
        self.facts = facts or RowFacts(self.old, self.new)
        self._counterparts = counterparts
        self._frames: dict[tuple[int, int], float] = {}
        self._parents: dict[tuple[int, int], float] = {}
        self._rivals: dict[int, list[tuple[float, int]]] = {}

    def measure(
        self, row: int, rows: Sequence[int], home: Ranked, heads: Ranked, documented: Ranked
    ) -> list[tuple[float, ...]]:
        """Returns for each candidate a number for each of MEASURES. What only the old row says is asked once.

        `documented` is where the declaration may be that a row of a comment stands above. The facts of a candidate are
        unpacked, and what takes a line is not called: this is the dearest loop of a search.
        """
        old, new, forward, backward = self.old, self.new, self.aligned.forward, self.aligned.backward
        mine, facts, weigh = self.facts.old[row], self.facts.new, self.facts.weights.__getitem__
        key, header, name, opening, kind = mine.key, mine.header, mine.name, mine.opening, mine.kind
        before, after, above, below = mine.before, mine.after, mine.above, mine.below
        up, frame = mine.parent, mine.frame
        body, statement, tokens, weight = mine.body, mine.statement, mine.tokens, mine.weight
        body_size, statement_size, indent, remark = len(body), len(statement), mine.indent, mine.remark
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
        declared = old.documented(row) if remark else -1
        kept_own = self._kept(row, mine.end + 1) if mine.end > row else -1.0
        kept_parent = self._kept(up, old.ends[up] + 1) if up >= 0 else -1.0
        supporting, supporters = self._list_supporting(row)
        children, brood = self._list_children(row)
        before_it, after_it = self._list_siblings(row)
        siblings = (before_it >= 0) + (after_it >= 0)
        owner, owned = self.symbol or mine.owner, bool((self.symbol or old.symbols) and new.symbols)
        found: list[tuple[float, ...]] = []
        for at in rows:
            (
                now, header_now, header_rows, name_now, opening_now, kind_now, indent_now, remark_now, twins,
                before_now, after_now, above_now, below_now, up_now, previous, following, end, frame_now, owner_now,
                body_now, statement_now, tokens_now, weight_now,
            ) = facts[at]  # fmt: skip
            rival = backward[at]
            shared = fsum(map(weigh, tokens & tokens_now)) if weight and weight_now else 0.0
            bodies, statements = body_size + len(body_now), statement_size + len(statement_now)
            measured = (
                _similar(key, now),
                _similar(header, header_now),
                2 * shared / (weight + weight_now) if shared else 0.0,
                shared / min(weight, weight_now) if shared else 0.0,
                1.0 if name == name_now else 0.0,
                1.0 if opening == opening_now else 0.0,
                _similar(before, before_now),
                _similar(after, after_now),
                1.0 if first == at else 0.0,
                votes.get(at, 0) / words if votes else 0.0,
                1.0 if low < at < high else 0.0,
                log1p(abs(at - expected)),
                2.0 * len(body & body_now) / bodies if bodies else 1.0,
                size,
                self._compare_parents(up, up_now),
                (1.0 if up_now < 0 else 0.0) if up < 0 else homes.get(up_now, 0.0),
                1.0 if rival >= 0 and rival != row else 0.0,
                abs(indent - indent_now) / 4.0 if key and now else 9.0,
                length,
                (bisect_right(supporting, at + _BESIDE) - bisect_left(supporting, at - _BESIDE)) / supporters
                if supporters
                else 0.5,
                (bisect_right(children, end) - bisect_right(children, at)) / brood if brood else 0.5,
                (1.0 if frame == frame_now else 0.0)
                if frame < 0 or frame_now < 0
                else (1.0 if frame_now == at else 0.0)
                if frame == row
                else framed.get(frame_now, 0.0),
                1.0 if local_first == at else 0.0,
                local_votes.get(at, 0) / words if local_votes else 0.0,
                (1.0 if kind == kind_now else 0.0) if kind and kind_now else -1.0,
                (1.0 if owner == owner_now else 0.5 if owner[-1:] == owner_now[-1:] else 0.0) if owned else -1.0,
                self._rival(row, at),
                kept,
                kept_near,
                kept_frame,
                self._compare_frames(frame, frame_now) if frame >= 0 and frame_now >= 0 else -1.0,
                log1p(abs(at - middle)) if bounded else -1.0,
                (1.0 if low_local < at < high_local else 0.0) if bounded else -1.0,
                mine.header_rows,
                header_rows,
                renames.share_kept(row, at) if declares else -1.0,
                renames.share_followed(row, at) if declares else -1.0,
                mine.twins,
                twins,
                _similar(above, above_now),
                _similar(below, below_now),
                sort,
                1.0 if remark == remark_now else 0.0,
                1.0 if aligned == at else 0.0,
                self._documents(at, documented) if declared >= 0 else -1.0,
                ((before_it == previous >= 0) + (after_it == following >= 0)) / siblings if siblings else -1.0,
                2.0 * len(statement & statement_now) / statements if statements else 1.0,
                kept_own,
                kept_parent,
            )
            found.append(measured)
        return found

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

    def _documents(self, at: int, documented: Ranked) -> float:
        """Returns the chance that a row of a comment stands above the declaration that it stood above."""
        now = self.new.documented(at)
        return next((chance for chance, place in documented if place == now), 0.0) if now >= 0 else 0.0

    def _list_siblings(self, row: int) -> tuple[int, int]:
        """Returns the counterparts of the rows before and after at the same level; -1 where they tell nothing."""
        old, forward, mine = self.old, self.aligned.forward, self.facts.old[row]
        before, after = (
            forward[each] if each >= 0 and len(old.keys[each]) > 2 else -1 for each in (mine.previous, mine.following)
        )
        return before, after

    def _compare_frames(self, frame: int, now: int) -> float:
        """Returns how many of the words of two functions are common to both: a Dice of sets."""
        found = self._frames.get((frame, now))
        if found is None:
            mine, theirs = self.facts.old.body(frame), self.facts.new.body(now)
            total = len(mine) + len(theirs)
            found = self._frames[frame, now] = 2.0 * len(mine & theirs) / total if total else 1.0
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
