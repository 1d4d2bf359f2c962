"""Where rows are that are asked for others only: the rows above and around one in doubt, and what its candidates were.

Nothing is weighed for them. A row is where the alignment or its name says, or it is the likest under the same row.
"""

from collections.abc import Iterable, Sequence
from math import exp, log1p

from rapidfuzz import process
from rapidfuzz.distance import Indel

from postil.anchor.counterparts import Counterparts
from postil.anchor.judge import SURE
from postil.anchor.model import SETTLED, Ranked
from postil.anchor.page import is_bare

_SINGLE = 0.97  # how likely the only row of its kind is its counterpart, under the same row as before
NAMESAKE = 0.93  # and the only function of its name
_BARE = 0.6  # and a bracket, where the alignment says
_DEEPEST = 12  # rows a row is under that are looked for before it; code that is nested deeper is generated
_POOL = 400  # rows under one row that are compared
_NEAR = 80  # rows between the nearest known ones, of which the likest are looked at
_EQUAL = 2  # places where the same row stands
# What makes a place likely: its likeness squared, the share of the words that went there, that it is under the same
# row, and between the same ones; less so, that another old row is the same as it, that it has another name, and how far
# it is. A curve that human-validated Java fits; the trees of judge.py learn what it is worth.
_START, _ALIKE, _WORDS, _HOME, _INSIDE, _TAKEN, _RENAMED, _FAR = -3.0, 3.0, 3.5, 0.9, 0.4, -3.3, -1.5, -0.15
_LEAST = 0.02
_LIKE = 0.6  # how alike a row of a comment has to be
_similar = Indel.normalized_similarity


class Glance:
    """The rows of one pair of pages, each looked at once."""

    def __init__(self, counterparts: Counterparts) -> None:
        self.old, self.new, self.aligned = counterparts.old, counterparts.new, counterparts.aligned
        self._counterparts = counterparts
        self._found: dict[int, Ranked] = {}

    def place(self, row: int) -> Ranked:
        """Returns up to two places of a row with their chances, the likeliest first."""
        found = self._found.get(row)
        if found is None:
            for each in self.old.ancestors(row)[-_DEEPEST:]:
                if each not in self._found:
                    self._found[each] = []  # odd layouts make rows wait for each other
                    self._found[each] = self._look(each)
            self._found[row] = []
            found = self._found[row] = self._look(row)
        return found

    def recall(self, row: int) -> Ranked:
        """Returns the same, as far as it was asked."""
        return self._found.get(row, [])

    def _look(self, row: int) -> Ranked:
        at = self._counterparts.find_settled(row)
        if at >= 0:
            return [(SETTLED, at)]
        aligned = self.aligned.forward[row]
        if is_bare(self.old.keys[row]):
            return [(_BARE, aligned)] if aligned >= 0 else []
        if (at := self._counterparts.find_namesake(row)) >= 0:
            return [(NAMESAKE, at)]
        if (declared := self.old.documented(row)) >= 0 and row not in self.old.ancestors(declared):
            found = self._find_remark(row, self.place(declared))
            if found:
                return found
        home = self._found.get(self.old.parents[row], []) if self.old.parents[row] >= 0 else [(1.0, -1)]
        if (at := self._counterparts.find_single(row, home)) >= 0:
            return [(_SINGLE, at)]
        return self._compare(row, aligned, home[0][1] if home else -1)

    def _find_remark(self, row: int, declared: Ranked) -> Ranked:
        """Returns the likest row of the comment above a declaration, where that is sure."""
        if not declared or declared[0][0] < SURE:
            return []
        key, rows = self.old.keys[row], self.new.comment_above(declared[0][1])
        keys = [self.new.keys[at] for at in rows]
        best = process.extractOne(key, keys, scorer=_similar, score_cutoff=_LIKE)
        return [(declared[0][0] * best[1], rows[best[2]])] if best else []

    def _compare(self, row: int, aligned: int, up: int) -> Ranked:
        """Returns the likeliest of the place where a diff has it, those where its words went, and those under a row."""
        old, new, forward, backward = self.old, self.new, self.aligned.forward, self.aligned.backward
        key, name, expected = old.keys[row], old.name(row), self._counterparts.expect(row)
        drift = self.aligned.drift(row)
        words, votes = len(old.tokens(row)) or 1, drift.votes if drift else {}
        above, below = self.aligned.around(row)
        low = forward[above] if above >= 0 else -1
        high = forward[below] if below < len(old) else len(new)
        asked = {aligned, *(sorted(votes, key=votes.__getitem__)[-2:]), *self._list_alike(key, up)}
        asked.update(sorted(new.places.get(key, ()), key=lambda at: abs(at - expected))[:_EQUAL])
        if low < high <= low + _NEAR:
            asked.update(self._list_likest(key, range(low + 1, high), new.keys[low + 1 : high]))
        found: Ranked = []
        for at in sorted(asked - {-1}):
            score = _START + _ALIKE * _similar(key, new.keys[at]) ** 2 + _WORDS * votes.get(at, 0) / words
            score += _HOME * (new.parents[at] == up) + _INSIDE * (low < at < high) + _FAR * log1p(abs(at - expected))
            score += _TAKEN * (backward[at] not in (-1, row)) + _RENAMED * (name not in ("", new.name(at)))
            chance = 1.0 / (1.0 + exp(-score))
            if chance >= _LEAST:
                found.append((chance, at))
        return sorted(found, key=lambda each: -each[0])[:2]

    def _list_alike(self, key: str, up: int) -> Iterable[int]:
        rows = self.new.children.get(up, [])[:_POOL]
        return self._list_likest(key, rows, [self.new.keys[at] for at in rows]) if rows else ()

    def _list_likest(self, key: str, rows: Sequence[int], keys: list[str]) -> Iterable[int]:
        return [rows[place] for _, _, place in process.extract(key, keys, scorer=_similar, limit=2, score_cutoff=0.4)]
