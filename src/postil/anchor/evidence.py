"""What speaks for a new row being an old one: the measures of each candidate. judge.py weighs them."""

from bisect import bisect_left
from collections.abc import Sequence
from functools import cached_property
from math import fsum, log1p

from rapidfuzz import process
from rapidfuzz.distance import Indel

from postil.anchor.counterparts import Counterparts
from postil.anchor.model import Ranked
from postil.anchor.page import Page, count_tokens, is_remark
from postil.anchor.renames import Renames

_CONTEXT = 4
_BLOCK = 60  # rows of a block that are compared
_NEAR = 60

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

    def __init__(self, counterparts: Counterparts, renames: Renames) -> None:
        self.old, self.new, self.aligned = counterparts.old, counterparts.new, counterparts.aligned
        self.symbol = counterparts.symbol
        self.renames = renames
        self._counterparts = counterparts
        self._seen: dict[tuple[bool, int, int], str] = {}
        self._bags: dict[tuple[bool, int], frozenset[str]] = {}
        self._token_sets: dict[tuple[bool, int], tuple[frozenset[str], float]] = {}
        self._whole: dict[tuple[bool, int], frozenset[str]] = {}
        self._kepts: dict[tuple[int, int], float] = {}
        self._rivals: dict[int, list[tuple[float, int]]] = {}
        self._weights: dict[str, float] = {}
        self._counts = count_tokens(self.old), count_tokens(self.new)

    def measure(
        self, row: int, rows: Sequence[int], home: Ranked, heads: Ranked, documented: Ranked
    ) -> list[tuple[float, ...]]:
        """Returns for each candidate a number for each of MEASURES. What only the old row says is asked once.

        `documented` is where the declaration may be that a row of a comment stands above.
        """
        old, new, forward, backward = self.old, self.new, self.aligned.forward, self.aligned.backward
        key, header, name, opening = old.keys[row], old.header(row), old.name(row), old.opening(row)
        before, after = self._context(old, row, -1), self._context(old, row, 1)
        words = len(old.tokens(row))
        drift, local = self.aligned.drift(row), self._counterparts.trace_tokens(row, heads)
        above, below = self.aligned.around(row)
        low = forward[above] if above >= 0 else -1
        high = forward[below] if below < len(old) else len(new)
        low_local, high_local = self._counterparts.bound_rows(row, heads)
        bounded, middle = high_local < 1 << 30, (low_local + high_local) / 2
        expected, indent, up, frame = (
            self._counterparts.expect(row),
            old.indents[row],
            old.parents[row],
            old.frames[row],
        )
        parent = old.keys[up] if up >= 0 else ""
        homes: dict[int, float] = {}
        for chance, place in home:
            homes.setdefault(place, chance)
        size, length, kind = log1p(old.ends[row] - row), log1p(len(key)), old.kind(row)
        kept, kept_near = self._kept(0, len(old)), self._kept(max(0, row - 15), min(len(old), row + 16))
        kept_frame = self._kept(frame, old.frame_end(frame)) if frame >= 0 else -1.0
        header_rows, renames = float(old.header_rows(row)), self.renames
        twins, sort, remark = log1p(len(old.places[key])), _SORTS.get(opening, 0.0), is_remark(key)
        over_row, under_row = self._neighbour(old, row, -1), self._neighbour(old, row, 1)
        declared = old.documented(row) if remark else -1
        kept_own = self._kept(row, old.ends[row] + 1) if old.ends[row] > row else -1.0
        kept_parent = self._kept(up, old.ends[up] + 1) if up >= 0 else -1.0
        supporting, children = self._list_supporting(row), self._list_children(row)
        siblings, statement = self._list_siblings(row), self._statement(old, row)
        found: list[tuple[float, ...]] = []
        for at in rows:
            now, over, rival = new.keys[at], new.parents[at], backward[at]
            shared, smaller = self._tokens(row, at)
            measured = (
                _similar(key, now),
                _similar(header, new.header(at)),
                shared,
                smaller,
                float(name == new.name(at)),
                float(opening == new.opening(at)),
                _similar(before, self._context(new, at, -1)),
                _similar(after, self._context(new, at, 1)),
                float(drift is not None and drift.first == at),
                drift.votes.get(at, 0) / words if drift else 0.0,
                float(low < at < high),
                log1p(abs(at - expected)),
                self._blocks(row, at),
                size,
                _similar(parent, new.keys[over] if over >= 0 else ""),
                float(over < 0) if up < 0 else homes.get(over, 0.0),
                float(rival >= 0 and rival != row),
                abs(indent - new.indents[at]) / 4.0 if key and now else 9.0,
                length,
                _count_near(supporting, at) / len(supporting) if supporting else 0.5,
                _count_inside(children, at, new.ends[at]) / len(children) if children else 0.5,
                self._framed(row, at, heads),
                float(local is not None and local.first == at),
                local.votes.get(at, 0) / words if local else 0.0,
                _same(kind, new.kind(at)),
                self._owned(row, at),
                self._rival(row, at),
                kept,
                kept_near,
                kept_frame,
                self._frames_alike(row, at),
                log1p(abs(at - middle)) if bounded else -1.0,
                float(low_local < at < high_local) if bounded else -1.0,
                header_rows,
                float(new.header_rows(at)),
                renames.share_kept(row, at),
                renames.share_followed(row, at),
                twins,
                log1p(len(new.places[now])),
                _similar(over_row, self._neighbour(new, at, -1)),
                _similar(under_row, self._neighbour(new, at, 1)),
                sort,
                float(remark == is_remark(now)),
                float(forward[row] == at),
                -1.0 if declared < 0 else self._documents(at, documented),
                self._share_siblings(siblings, at),
                _share(statement, self._statement(new, at)),
                kept_own,
                kept_parent,
            )
            found.append(measured)
        return found

    def _documents(self, at: int, documented: Ranked) -> float:
        """Returns the chance that a row of a comment stands above the declaration that it stood above."""
        now = self.new.documented(at)
        return next((chance for chance, place in documented if place == now), 0.0) if now >= 0 else 0.0

    def _list_siblings(self, row: int) -> tuple[int, int]:
        """Returns the counterparts of the rows before and after at the same level; -1 where they tell nothing."""
        old, forward = self.old, self.aligned.forward
        before, after = (
            forward[each] if each >= 0 and len(old.keys[each]) > 2 else -1 for each in (old.before(row), old.after(row))
        )
        return before, after

    def _share_siblings(self, siblings: tuple[int, int], at: int) -> float:
        """Returns the share of them that are beside the candidate, too."""
        before, after = siblings
        if before < 0 and after < 0:
            return -1.0
        near = (before >= 0 and before == self.new.before(at)) + (after >= 0 and after == self.new.after(at))
        return near / ((before >= 0) + (after >= 0))

    def _statement(self, page: Page, row: int) -> frozenset[str]:
        """Returns the words of a statement with all that is under it."""
        name = (page is self.old, row)
        found = self._whole.get(name)
        if found is None:
            found = self._whole[name] = self._bag(page, row).union(page.header(row))
        return found

    def _frames_alike(self, row: int, at: int) -> float:
        head, now = self.old.frames[row], self.new.frames[at]
        return self._blocks(head, now) if head >= 0 and now >= 0 else -1.0

    def _kept(self, start: int, stop: int) -> float:
        """Returns the share of the telling rows of a range that have a counterpart."""
        if (start, stop) not in self._kepts:
            telling = [row for row in range(start, stop) if len(self.old.keys[row]) > 2]
            kept = sum(self.aligned.forward[row] >= 0 for row in telling)
            self._kepts[start, stop] = kept / len(telling) if telling else 0.5
        return self._kepts[start, stop]

    def _framed(self, row: int, at: int, heads: Ranked) -> float:
        """Returns the chance that the function of the candidate is that of the row."""
        head, now = self.old.frames[row], self.new.frames[at]
        if head < 0 or now < 0:
            return float(head == now)
        if head == row:
            return float(now == at)
        return next((chance for chance, place in heads if place == now), 0.0)

    def _owned(self, row: int, at: int) -> float:
        """Returns whether the symbols around the rows bear the same names."""
        mine, theirs = self.symbol or self.old.owners.get(row, ()), self.new.owners.get(at, ())
        if not (self.symbol or self.old.symbols) or not self.new.symbols:
            return -1.0
        return 1.0 if mine == theirs else 0.5 if mine[-1:] == theirs[-1:] else 0.0

    @cached_property
    def _lost_keys(self) -> list[str]:
        return [self.old.keys[row] for row in self._lost]

    @cached_property
    def _lost(self) -> list[int]:
        return [row for row, at in enumerate(self.aligned.forward) if at < 0 and self.old.keys[row]]

    def _rival(self, row: int, at: int) -> float:
        """Returns how alike to the candidate the likest other old row is that has no counterpart."""
        if at not in self._rivals:
            low, high = bisect_left(self._lost, row - _NEAR), bisect_left(self._lost, row + _NEAR)
            keys = self._lost_keys[low:high]
            best = process.extract(self.new.keys[at], keys, scorer=_similar, limit=2, score_cutoff=0.3)
            self._rivals[at] = [(likeness, self._lost[low + place]) for _, likeness, place in best]
        return max((likeness for likeness, near in self._rivals[at] if near != row), default=0.0)

    def _weigh(self, token: str) -> float:
        """Returns how telling a token is: the rarer in both pages, the more."""
        weight = self._weights.get(token)
        if weight is None:
            count = self._counts[0].count(token) + self._counts[1].count(token)
            weight = self._weights[token] = 1.0 / (1.0 + log1p(count))
        return weight

    def _tokens(self, row: int, at: int) -> tuple[float, float]:
        """Returns the weight of the tokens that two rows share, as part of both and as part of the lighter.

        The sums are exact, since the order of a set is another in every process and the answer must not be.
        """
        (mine, a), (theirs, b) = self._weighed(self.old, row), self._weighed(self.new, at)
        if not a or not b:
            return 0.0, 0.0
        both = fsum(map(self._weights.__getitem__, mine & theirs))
        return 2 * both / (a + b), both / min(a, b)

    def _weighed(self, page: Page, row: int) -> tuple[frozenset[str], float]:
        name = (page is self.old, row)
        found = self._token_sets.get(name)
        if found is None:
            tokens = frozenset(page.tokens(row))
            found = self._token_sets[name] = tokens, fsum(map(self._weigh, tokens))
        return found

    def _blocks(self, row: int, at: int) -> float:
        """Returns how many of the words under the rows are common to both: a Dice of sets."""
        return _share(self._bag(self.old, row), self._bag(self.new, at))

    def _list_children(self, row: int) -> list[int]:
        """Returns the counterparts of the telling rows under an old row; -1 where there is none."""
        keys, forward = self.old.keys, self.aligned.forward
        return [forward[child] for child in self.old.children.get(row, [])[:12] if len(keys[child]) > 2]

    def _list_supporting(self, row: int) -> list[int]:
        """Returns the counterparts of the telling neighbours of an old row; -1 where there is none."""
        forward, keys = self.aligned.forward, self.old.keys
        near = range(max(0, row - 6), min(len(keys), row + 7))
        return [forward[each] for each in near if each != row and len(keys[each]) > 2]

    def _context(self, page: Page, row: int, step: int) -> str:
        """Returns the telling rows just above or below, joined."""
        name = (page is self.old, row, step)
        found = self._seen.get(name)
        if found is None:
            rows: list[str] = []
            keys, at = page.keys, row + step
            while 0 <= at < len(keys) and len(rows) < _CONTEXT:
                if keys[at]:
                    rows.append(keys[at][:120])
                at += step
            found = self._seen[name] = "\n".join(rows)
        return found

    @staticmethod
    def _neighbour(page: Page, row: int, step: int) -> str:
        """Returns the row next to this one, blank ones left out."""
        keys = page.keys
        row += step
        while 0 <= row < len(keys) and not keys[row]:
            row += step
        return keys[row] if 0 <= row < len(keys) else ""

    def _bag(self, page: Page, row: int) -> frozenset[str]:
        name = (page is self.old, row)
        found = self._bags.get(name)
        if found is None:
            rows = range(row + 1, min(page.ends[row], row + _BLOCK) + 1)
            found = self._bags[name] = frozenset[str]().union(*(page.tokens(at) for at in rows))
        return found


def _count_near(places: list[int], at: int) -> int:
    """Returns how many of some rows are neighbours of a candidate."""
    return sum([place >= 0 and -8 <= place - at <= 8 for place in places])


def _count_inside(places: list[int], at: int, last: int) -> int:
    """Returns how many of some rows are under a candidate."""
    return sum([at < place <= last for place in places])


def _share(mine: frozenset[str], theirs: frozenset[str]) -> float:
    """Returns how much two sets have in common: their Dice."""
    total = len(mine) + len(theirs)
    return 2.0 * len(mine & theirs) / total if total else 1.0


def _same(kind: str, other: str) -> float:
    return float(kind == other) if kind and other else -1.0
