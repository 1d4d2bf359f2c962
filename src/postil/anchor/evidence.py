"""What speaks for a new row being an old one: the candidates, and the measures of each. judge.py weighs them."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import chain
from math import fsum, log1p

from rapidfuzz import fuzz, process
from rapidfuzz.distance import Indel

from postil.anchor.alignment import Drift, aligned, drifts
from postil.anchor.page import Page
from postil.anchor.renames import Renames
from postil.anchor.rewrap import Rewrap

_CONTEXT = 4
_BLOCK = 60  # rows of a block that are compared
_POOL = 3000  # rows that are searched for a similar one, the nearest to where the row is expected
_SIMILAR = 6
_EQUAL = 6
_NAMED = 3
_REGION = 120
_NEAR = 60
_HOMES = 2  # places of the enclosing block that are searched again, for lines that changed much inside it

_REMARKS = ("//", "/*", "*", "#", "--", "<!--", ";", "%", '"""')
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
Ranked = list[tuple[float, int]]  # probability and new row, the likeliest first

MEASURES = tuple(
    """
    chars header tokens contained name opening before after first votes inside distance block size parent
    home taken indent length support children framed local_first local_votes kind owner rival kept
    kept_near kept_frame similar_frame local_distance local_inside head_rows head_rows_now
    declares followed twins twins_now above below sort remark aligned
    """.split()  # noqa: SIM905 - one name a line would fill the page
)


class Evidence:
    """All that can be asked about the rows of one pair of pages.

    For a fragment of a file `shift` is how many rows of the file came before it, and `symbol` the path of its symbol.
    """

    def __init__(self, old: Page, new: Page, shift: int | None = None, symbol: tuple[str, ...] = ()) -> None:
        self.old, self.new = old, new
        self.symbol = symbol
        self.shift = shift or 0
        self.partial = shift is not None
        self.aligned = aligned(old, new)
        self.renames = Renames(old, new, self.aligned)
        self._locals: dict[int, dict[int, Drift]] = {}
        self._seen: dict[tuple[bool, int, int], str] = {}
        self._bags: dict[tuple[bool, int], frozenset[str]] = {}
        self._token_sets: dict[tuple[bool, int], tuple[frozenset[str], float]] = {}
        self._firm: dict[int, dict[int, int]] = {}
        self._kepts: dict[tuple[int, int], float] = {}
        self._rivals: dict[int, list[tuple[float, int]]] = {}

    def settled(self, row: int) -> int:
        """The new row when nothing near the old one has changed but the layout, else -1."""
        if self.partial:
            return self._whole(row)
        at = self.aligned.settled(row)
        return at if at >= 0 else self._rewrap.row_of(row)

    def _whole(self, row: int) -> int:
        """Where a fragment stands as it was: at its old place, or at the only other one."""
        keys, count = self.old.keys, len(self.old)
        starts = [at - row for at in self.new.places.get(keys[row], ()) if keys[row]]
        whole = [start for start in starts if start >= 0 and self.new.keys[start : start + count] == keys]
        if self.shift in whole:
            return row + self.shift
        return row + whole[0] if len(whole) == 1 and count > 1 else -1

    @cached_property
    def _rewrap(self) -> Rewrap:
        return Rewrap(self.old, self.new)

    def candidates(self, row: int, home: Ranked, heads: Ranked) -> list[int]:
        """New rows worth measuring. `home` is where the row it is under may be now, `heads` where its function may."""
        found: set[int] = set()
        at = self.aligned.forward[row]
        if at >= 0:
            found.add(at)
        for drift in (self.aligned.drift(row), self._local(row, heads)):
            if drift:
                found.add(drift.first)
                found.update(sorted(drift.votes, key=drift.votes.__getitem__)[-4:])
        key, expected = self.old.keys[row], self.expected(row)
        if not key:
            return sorted(found)
        found.update(sorted(self.new.places.get(key, ()), key=lambda at: abs(at - expected))[:_EQUAL])
        pool = self._pool(expected)
        found.update(self._alike(key, range(pool.start, pool.stop), _SIMILAR))
        found.update(self._adopted(row))
        name = self.old.name(row)
        found.update(sorted(self._named.get(name, ()), key=lambda at: abs(at - expected))[:_NAMED])
        for _, parent in home[:_HOMES]:
            found.update(self._at_home(row, self.new.children.get(parent, [])))
        found.update(self._in_region(row, expected))
        found.update(self._in_frame(row, heads))
        found.update(self.renames.candidates(row, expected))
        if name and len(self.renames.declared(self.old, row)) > 1:
            found.update(self._unfolded(name, sorted(found)))
        return sorted(found)

    def _in_frame(self, row: int, heads: Ranked) -> list[int]:
        """Rows of the same function that begin alike, the nearest to where the rows around went."""
        low, high = self._bounds(row, heads)
        if high == 1 << 30:
            return []
        now = heads[0][1]
        opening, middle = self.old.opening(row), (low + high) / 2
        rows = range(now, self.new.frame_end(now) + 1)
        alike = [at for at in rows if self.new.opening(at) == opening]
        return [*sorted(alike, key=lambda at: abs(at - middle))[:8], *self._alike(self.old.keys[row], rows, 3)]

    def _unfolded(self, name: str, rows: Iterable[int]) -> list[int]:
        """The other rows of a head that declares several names, and may have been given a row for each."""
        heads = [at for at in rows if self.new.name(at) == name and self.new.header_rows(at) > 1][:2]
        return [at for head in heads for at in range(head + 1, head + min(self.new.header_rows(head), 5))]

    def _in_region(self, row: int, expected: int) -> list[int]:
        """Rows between the nearest counterparts that hold the same words, whatever else they hold."""
        above, below = self.aligned.around(row)
        low = self.aligned.forward[above] if above >= 0 else -1
        high = self.aligned.forward[below] if below < len(self.old) else len(self.new)
        if low >= high or high - low > _REGION:
            low, high = expected - _REGION // 2, expected + _REGION // 2
        rows = range(max(0, low), min(high + 1, len(self.new)))
        words = [" ".join(self.new.tokens(at)) for at in rows]
        mine = " ".join(self.old.tokens(row))
        return [
            rows[place]
            for _, _, place in process.extract(mine, words, scorer=fuzz.token_set_ratio, limit=4, score_cutoff=40)
        ]

    def _alike(self, key: str, rows: "range | list[int]", limit: int) -> list[int]:
        keys = self.new.keys[rows.start : rows.stop] if isinstance(rows, range) else [self.new.keys[at] for at in rows]
        return [
            rows[place] for _, _, place in process.extract(key, keys, scorer=_similar, limit=limit, score_cutoff=0.35)
        ]

    def _at_home(self, row: int, rows: list[int]) -> list[int]:
        """Rows under the same row as before: the most alike, those that begin alike, those of the same name."""
        if not rows:
            return []
        found = self._alike(self.old.keys[row], rows, 4)
        opening, expected = self.old.opening(row), self.expected(row)
        begun = [at for at in rows if self.new.opening(at) == opening]
        found += sorted(begun, key=lambda at: abs(at - expected))[:3]
        name = self.old.name(row)
        found += [at for at in rows if name and self.new.name(at) == name][:2]
        return found

    def _adopted(self, row: int) -> list[int]:
        """Rows over what was under the old row: a loop may change its head and keep its body."""
        votes: Counter[int] = Counter()
        for child in self.old.children.get(row, [])[:12]:
            at = self.aligned.forward[child]
            if at >= 0 and len(self.old.keys[child]) > 2 and self.new.parents[at] >= 0:
                votes[self.new.parents[at]] += 1
        return [at for at, _ in votes.most_common(2)]

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

    def measures(self, row: int, rows: Sequence[int], home: Ranked, heads: Ranked) -> list[tuple[float, ...]]:
        """The evidence for each candidate, a number for each of MEASURES. What only the old row says is asked once."""
        old, new, forward, backward = self.old, self.new, self.aligned.forward, self.aligned.backward
        key, header, name, opening = old.keys[row], old.header(row), old.name(row), old.opening(row)
        before, after = self._context(old, row, -1), self._context(old, row, 1)
        words = len(old.tokens(row))
        drift, local = self.aligned.drift(row), self._local(row, heads)
        above, below = self.aligned.around(row)
        low = forward[above] if above >= 0 else -1
        high = forward[below] if below < len(old) else len(new)
        low_local, high_local = self._bounds(row, heads)
        bounded, middle = high_local < 1 << 30, (low_local + high_local) / 2
        expected, indent, up, frame = self.expected(row), old.indents[row], old.parents[row], old.frames[row]
        parent = old.keys[up] if up >= 0 else ""
        homes: dict[int, float] = {}
        for chance, place in home:
            homes.setdefault(place, chance)
        size, length, kind = log1p(old.ends[row] - row), log1p(len(key)), old.kind(row)
        kept, kept_near = self._kept(0, len(old)), self._kept(max(0, row - 15), min(len(old), row + 16))
        kept_frame = self._kept(frame, old.frame_end(frame)) if frame >= 0 else -1.0
        header_rows, renames = float(old.header_rows(row)), self.renames
        twins, sort, remark = log1p(len(old.places[key])), _SORTS.get(opening, 0.0), _is_remark(key)
        over_row, under_row = self._neighbour(old, row, -1), self._neighbour(old, row, 1)
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
                self._support(row, at),
                self._fostered(row, at),
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
                renames.kept(row, at),
                renames.followed(row, at),
                twins,
                log1p(len(new.places[now])),
                _similar(over_row, self._neighbour(new, at, -1)),
                _similar(under_row, self._neighbour(new, at, 1)),
                sort,
                float(remark == _is_remark(now)),
                float(forward[row] == at),
            )
            found.append(measured)
        return found

    def _bounds(self, row: int, heads: Ranked) -> tuple[int, int]:
        """The rows of the function, as it is now, between which the row should be."""
        head = self.old.frames[row]
        if head < 0 or head == row or not heads or heads[0][0] < 0.2:
            return 0, 1 << 30
        self._local(row, heads)
        firm = self._firm[head]
        low = next((firm[near] for near in range(row - 1, head - 1, -1) if near in firm), heads[0][1])
        end = self.old.frame_end(head)
        after = self.new.frame_end(heads[0][1]) + 1
        high = next((firm[near] for near in range(row + 1, end + 1) if near in firm), after)
        return low, high

    def _frames_alike(self, row: int, at: int) -> float:
        head, now = self.old.frames[row], self.new.frames[at]
        return self._blocks(head, now) if head >= 0 and now >= 0 else -1.0

    def _kept(self, start: int, stop: int) -> float:
        """The share of the telling rows of a range that have a counterpart."""
        if (start, stop) not in self._kepts:
            telling = [row for row in range(start, stop) if len(self.old.keys[row]) > 2]
            kept = sum(self.aligned.forward[row] >= 0 for row in telling)
            self._kepts[start, stop] = kept / len(telling) if telling else 0.5
        return self._kepts[start, stop]

    def _framed(self, row: int, at: int, heads: Ranked) -> float:
        """The chance that the function of the candidate is that of the row."""
        head, now = self.old.frames[row], self.new.frames[at]
        if head < 0 or now < 0:
            return float(head == now)
        if head == row:
            return float(now == at)
        return next((chance for chance, place in heads if place == now), 0.0)

    def _local(self, row: int, heads: Ranked) -> Drift | None:
        """Where the tokens of a row went inside its function, wherever the function went."""
        head = self.old.frames[row]
        if head < 0 or not heads or heads[0][0] < 0.2:
            return self.aligned.drift(row)
        if head not in self._locals:
            now = heads[0][1]
            gap = (head, self.old.frame_end(head) + 1, now, self.new.frame_end(now) + 1)
            found = self._locals[head] = drifts(self.old, self.new, gap)
            self._firm[head] = {
                near: drift.most
                for near, drift in found.items()
                if len(self.old.tokens(near)) > 2 and 3 * drift.votes[drift.most] >= 2 * len(self.old.tokens(near))
            }
        return self._locals[head].get(row)

    def _owned(self, row: int, at: int) -> float:
        """Whether the symbols around the rows bear the same names."""
        mine, theirs = self.symbol or self.old.owners.get(row, ()), self.new.owners.get(at, ())
        if not (self.symbol or self.old.symbols) or not self.new.symbols:
            return -1.0
        return 1.0 if mine == theirs else 0.5 if mine[-1:] == theirs[-1:] else 0.0

    @cached_property
    def _named(self) -> dict[str, list[int]]:
        """The new rows of each name, those left out that are known to be other rows."""
        found: dict[str, list[int]] = {}
        for at, row in enumerate(self.aligned.backward):
            if row < 0:
                found.setdefault(self.new.name(at), []).append(at)
        found.pop("", None)
        return found

    @cached_property
    def _lost(self) -> list[int]:
        return [row for row, at in enumerate(self.aligned.forward) if at < 0 and self.old.keys[row]]

    def _rival(self, row: int, at: int) -> float:
        """How alike to the candidate the likest other old row is that has no counterpart."""
        if at not in self._rivals:
            low, high = bisect_left(self._lost, row - _NEAR), bisect_left(self._lost, row + _NEAR)
            lost = self._lost[low:high]
            keys = [self.old.keys[near] for near in lost]
            best = process.extract(self.new.keys[at], keys, scorer=_similar, limit=2, score_cutoff=0.3)
            self._rivals[at] = [(likeness, lost[place]) for _, likeness, place in best]
        return max((likeness for likeness, near in self._rivals[at] if near != row), default=0.0)

    @cached_property
    def _weights(self) -> dict[str, float]:
        """How telling each token is: the rarer in both pages, the more."""
        rows = [page.tokens(row) for page in (self.old, self.new) for row in range(min(len(page), _POOL * 4))]
        counts = Counter(chain.from_iterable(rows))
        return {token: 1.0 / (1.0 + log1p(count)) for token, count in counts.items()}

    def _tokens(self, row: int, at: int) -> tuple[float, float]:
        """The weight of the tokens that two rows share, as part of both and as part of the lighter.

        The sums are exact, since the order of a set is another in every process and the answer must not be.
        """
        (mine, a), (theirs, b) = self._weighed(self.old, row), self._weighed(self.new, at)
        if not a or not b:
            return 0.0, 0.0
        weights = self._weights
        both = fsum([weights.get(token, 1.0) for token in mine & theirs])
        return 2 * both / (a + b), both / min(a, b)

    def _weighed(self, page: Page, row: int) -> tuple[frozenset[str], float]:
        name = (page is self.old, row)
        found = self._token_sets.get(name)
        if found is None:
            tokens, weights = frozenset(page.tokens(row)), self._weights
            found = self._token_sets[name] = tokens, fsum([weights.get(token, 1.0) for token in tokens])
        return found

    def _blocks(self, row: int, at: int) -> float:
        """How many of the words under the rows are common to both: a Dice of sets."""
        mine, theirs = self._bag(self.old, row), self._bag(self.new, at)
        total = len(mine) + len(theirs)
        return 2.0 * len(mine & theirs) / total if total else 1.0

    def _fostered(self, row: int, at: int) -> float:
        """The share of the rows under the old row whose counterparts are under the candidate."""
        children = [child for child in self.old.children.get(row, [])[:12] if len(self.old.keys[child]) > 2]
        if not children:
            return 0.5
        return sum(at < self.aligned.forward[child] <= self.new.ends[at] for child in children) / len(children)

    def _support(self, row: int, at: int) -> float:
        """The share of telling neighbours whose counterparts are neighbours of the candidate."""
        near = total = 0
        forward, keys = self.aligned.forward, self.old.keys
        for neighbour in range(max(0, row - 6), min(len(keys), row + 7)):
            if neighbour != row and len(keys[neighbour]) > 2:
                total += 1
                near += forward[neighbour] >= 0 and abs(forward[neighbour] - at) <= 8
        return near / total if total else 0.5

    def _context(self, page: Page, row: int, step: int) -> str:
        """The telling rows just above or below, joined."""
        name = (page is self.old, row, step)
        found = self._seen.get(name)
        if found is None:
            rows: list[str] = []
            at = row + step
            while 0 <= at < len(page) and len(rows) < _CONTEXT:
                if page.keys[at]:
                    rows.append(page.keys[at][:120])
                at += step
            found = self._seen[name] = "\n".join(rows)
        return found

    @staticmethod
    def _neighbour(page: Page, row: int, step: int) -> str:
        """The row next to this one, blank ones left out."""
        row += step
        while 0 <= row < len(page) and not page.keys[row]:
            row += step
        return page.keys[row] if 0 <= row < len(page) else ""

    def _bag(self, page: Page, row: int) -> frozenset[str]:
        name = (page is self.old, row)
        found = self._bags.get(name)
        if found is None:
            rows = range(row + 1, min(page.ends[row], row + _BLOCK) + 1)
            found = self._bags[name] = frozenset[str]().union(*(page.tokens(at) for at in rows))
        return found


def _is_remark(key: str) -> bool:
    return key.startswith(_REMARKS)


def _same(kind: str, other: str) -> float:
    return float(kind == other) if kind and other else -1.0
