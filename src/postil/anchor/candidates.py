"""New rows that an old row may be now: the few that are worth measuring. evidence.py measures, judge.py weighs."""

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property

from rapidfuzz import fuzz, process
from rapidfuzz.distance import Indel

from postil.anchor.counterparts import Counterparts
from postil.anchor.model import Ranked
from postil.anchor.page import find_word
from postil.anchor.renames import Renames

_POOL = 3000  # rows that are searched for a similar one, the nearest to where the row is expected
_SIMILAR = 6
_EQUAL = 6
_NAMED = 3
_REGION = 120
_HOMES = 2  # places of the enclosing block that are searched again, for lines that changed much inside it
_similar = Indel.normalized_similarity


class Candidates:
    """The candidates for the rows of one pair of pages."""

    def __init__(self, counterparts: Counterparts, renames: Renames) -> None:
        self.old, self.new, self.aligned = counterparts.old, counterparts.new, counterparts.aligned
        self.renames = renames
        self._counterparts = counterparts
        self._words: dict[int, str] = {}
        self._named: dict[str, list[int]] = {}
        self._looked = 0  # places of names that were looked at
        self._pools: dict[tuple[str, int], list[int]] = {}
        self._homes: dict[int, tuple[dict[str, list[int]], dict[str, list[int]]]] = {}

    def find(self, row: int, home: Ranked, heads: Ranked, documented: Ranked) -> list[int]:
        """Returns new rows worth measuring.

        `home` is where its parent row may be, `heads` where its function, `documented` where what a comment is above.
        """
        found: set[int] = set()
        at = self.aligned.forward[row]
        if at >= 0:
            found.add(at)
        for drift in (self.aligned.drift(row), self._counterparts.trace_tokens(row, heads)):
            if drift:
                found.add(drift.first)
                found.update(sorted(drift.votes, key=drift.votes.__getitem__)[-4:])
        key, expected = self.old.keys[row], self._counterparts.expect(row)
        if not key:
            return sorted(found)
        found.update(sorted(self.new.places.get(key, ()), key=lambda at: abs(at - expected))[:_EQUAL])
        found.update(self._in_pool(key, self._pool(expected)))
        found.update(self._adopted(row))
        name = self.old.name(row)
        found.update(sorted(self._find_named(name), key=lambda at: abs(at - expected))[:_NAMED])
        for _, parent in home[:_HOMES]:
            found.update(self._at_home(row, parent))
        found.update(self._in_region(row, expected))
        for _, declared in documented[:_HOMES]:
            found.update(self._alike(key, self.new.comment_above(declared), 3))
        found.update(self._in_frame(row, heads))
        found.update(self.renames.find_candidates(row, expected))
        if name and len(self.renames.list_declared(self.old, row)) > 1:
            found.update(self._unfolded(name, sorted(found)))
        return sorted(found)

    def _in_frame(self, row: int, heads: Ranked) -> list[int]:
        """Returns rows of the same function that begin alike, the nearest to where the rows around went."""
        low, high = self._counterparts.bound_rows(row, heads)
        if high == 1 << 30:
            return []
        now = heads[0][1]
        opening, middle = self.old.opening(row), (low + high) / 2
        rows = range(now, self.new.frame_end(now) + 1)
        alike = [at for at in rows if self.new.opening(at) == opening]
        return [*sorted(alike, key=lambda at: abs(at - middle))[:8], *self._alike(self.old.keys[row], rows, 3)]

    def _unfolded(self, name: str, rows: Iterable[int]) -> list[int]:
        """Returns the other rows of a head that declares several names, and may have been given a row for each."""
        heads = [at for at in rows if self.new.name(at) == name and self.new.header_rows(at) > 1][:2]
        return [at for head in heads for at in range(head + 1, head + min(self.new.header_rows(head), 5))]

    def _in_region(self, row: int, expected: int) -> list[int]:
        """Returns rows between the nearest counterparts that hold the same words, whatever else they hold."""
        above, below = self.aligned.around(row)
        low = self.aligned.forward[above] if above >= 0 else -1
        high = self.aligned.forward[below] if below < len(self.old) else len(self.new)
        if low >= high or high - low > _REGION:
            low, high = expected - _REGION // 2, expected + _REGION // 2
        rows = range(max(0, low), min(high + 1, len(self.new)))
        known = self._words
        for at in rows:
            if at not in known:
                known[at] = " ".join(self.new.tokens(at))
        words = [known[at] for at in rows]
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

    def _in_pool(self, key: str, pool: range) -> list[int]:
        """Returns the rows near the expected one that are most alike; of equal rows they are the same."""
        found = self._pools.get((key, pool.start))
        if found is None:
            found = self._pools[key, pool.start] = self._alike(key, pool, _SIMILAR)
        return found

    def _at_home(self, row: int, parent: int) -> list[int]:
        """Returns rows under the same row as before: the most alike, those that begin alike, those of the same name."""
        rows = self.new.children.get(parent, [])
        if not rows:
            return []
        begun, named = self._sort_children(parent)
        name, expected = self.old.name(row), self._counterparts.expect(row)
        found = self._alike(self.old.keys[row], rows, 4)
        found += sorted(begun.get(self.old.opening(row), ()), key=lambda at: abs(at - expected))[:3]
        return [*found, *named.get(name, ())[:2]] if name else found

    def _sort_children(self, parent: int) -> tuple[dict[str, list[int]], dict[str, list[int]]]:
        """Returns the rows under a new row by how they begin, and by their names."""
        found = self._homes.get(parent)
        if found is None:
            found = self._homes[parent] = {}, {}
            for at in self.new.children.get(parent, []):
                found[0].setdefault(self.new.opening(at), []).append(at)
                found[1].setdefault(self.new.name(at), []).append(at)
        return found

    def _adopted(self, row: int) -> list[int]:
        """Returns rows over what was under the old row: a loop may change its head and keep its body."""
        votes: Counter[int] = Counter()
        for child in self.old.children.get(row, [])[:12]:
            at = self.aligned.forward[child]
            if at >= 0 and len(self.old.keys[child]) > 2 and self.new.parents[at] >= 0:
                votes[self.new.parents[at]] += 1
        return [at for at, _ in votes.most_common(2)]

    def _pool(self, expected: int) -> range:
        count = len(self.new)
        start = max(0, min(expected - _POOL // 2, count - _POOL))
        return range(start, min(count, start + _POOL))

    def _find_named(self, name: str) -> Sequence[int]:
        """Returns the new rows of a name, those left out that are known to be other rows."""
        if not name:
            return ()
        if self._looked <= len(self.new):
            found = self._named.get(name)
            if found is None:
                self._looked += self.new.text.count(name)
            if found is None and self._looked <= len(self.new):
                rows, backward = find_word(self.new, name), self.aligned.backward
                found = self._named[name] = [at for at in rows if backward[at] < 0 and self.new.name(at) == name]
            if found is not None:
                return found
        return self._names.get(name, ())

    @cached_property
    def _names(self) -> dict[str, list[int]]:
        """The same for every name: made when it takes no longer than to look for each."""
        found: dict[str, list[int]] = {}
        for at, row in enumerate(self.aligned.backward):
            if row < 0 and self.new.keys[at] and (name := self.new.name(at)):
                found.setdefault(name, []).append(at)
        return found
