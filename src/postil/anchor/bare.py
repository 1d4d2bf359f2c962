"""Rows that say nothing by themselves, brackets and blank ones: they are where the rows are that they belong to.

Four witnesses are asked: the alignment of lines, the row that a bracket closes, the telling row above and the one
below. Each names a place; a place is as likely as the witnesses for it make it together.
"""

import re
from collections.abc import Callable

from postil.anchor.judge import GONE, SURE
from postil.anchor.model import MOST_CANDIDATES, Candidate, Ranked
from postil.anchor.page import closes_function, find_closing, find_opener, find_telling, is_bare, list_alike
from postil.anchor.side_by_side.alignment import Alignment

_FAR = 40  # rows around the expected one where the same bracket may be, when nobody knows better
# What each witness is worth when it is sure of its own row: none is enough alone, two that agree are.
_ALIGNED, _OPENER, _NEIGHBOUR, _GUESS = 0.65, 0.7, 0.7, 0.1
# But a row that is so surely where it is, and closed by the first bracket after it, is worth more than two others.
_SURE, _CLOSED = 0.97, 0.98
_CONTROL = re.compile(
    r"\W*(?:if|else|elif|elsif|unless|for|while|do|loop|switch|select|case|match|try|catch|finally|with)\b"
)
_COMMON = 4  # rows of one kind
_OTHER_KEY = 0.85  # `}` for `});`: likely the same bracket, with other things at its end


class BareRows:
    """The bare rows of one pair of pages.

    `ranked` tells where a telling row is; `placed` does so at a glance.
    """

    def __init__(
        self,
        aligned: Alignment,
        expected: Callable[[int], int],
        ranked: Callable[[int], Ranked],
        placed: Callable[[int], Ranked],
    ) -> None:
        self.old, self.new = aligned.old, aligned.new
        self._aligned, self._expected, self._ranked, self._placed = aligned, expected, ranked, placed
        self._asked: set[int] = set()  # two that wait for each other would wait for ever

    def rank(self, row: int) -> Ranked:
        if row in self._asked:
            return []
        self._asked.add(row)
        key = self.old.keys[row]
        doubts: dict[int, float] = {}  # for each place the chance that all who named it are wrong

        def witness(place: int, chance: float) -> None:
            now = self.new.keys[place] if 0 <= place < len(self.new) else None
            if now is not None and now[:1] == key[:1] and is_bare(now):
                doubts[place] = doubts.get(place, 1.0) * (1.0 - chance * (1.0 if now == key else _OTHER_KEY))

        if self._aligned.forward[row] >= 0:
            witness(self._aligned.forward[row], _ALIGNED)
        if key:
            opener = find_opener(self.old, row)
            for chance, at in self._ranked(opener)[:2] if opener >= 0 else ():
                closed = chance >= _SURE and find_closing(self.old, opener, key[:1]) == row
                witness(find_closing(self.new, at, key[:1]), chance * (_CLOSED if closed else _OPENER))
        for step in (-1, 1):
            near = self._find_telling(row, step)
            for chance, at in self._placed(near) if near >= 0 else ():
                witness(at + row - near, chance * _NEIGHBOUR)
        if not doubts and key:
            expected = self._expected(row)
            same = [at for at in self.new.places.get(key, ()) if abs(at - expected) <= _FAR]
            for at in sorted(same, key=lambda at: abs(at - expected))[:MOST_CANDIDATES]:
                witness(at, _GUESS)
        return _weigh(doubts)

    def closes_another(self, row: int, place: int, find: Callable[[int, int], tuple[Candidate, ...]]) -> bool:
        """Returns whether a bracket would close another row than the one that it closed, or one that may be another.

        `find` says where a row is. The only bracket of its kind in a function needs no such witness. A control line
        that is like many others has to be there for sure. And what ends a function ended one.
        """
        key = self.old.keys[row]
        if not key or not is_bare(key):
            return False
        if closes_function(self.old, row) != closes_function(self.new, place):
            return True
        before, now = find_opener(self.old, row), find_opener(self.new, place)
        if before < 0 or now < 0 or self._is_only_one(row, place):
            return False
        found = find(before, before)
        least = SURE if self._is_common(before) else GONE
        return not found or found[0].confidence < least or bool(found[0].path) or found[0].span.start != now + 1

    def _is_common(self, row: int) -> bool:
        """Returns whether a row is a control line like many others: `if err != nil {`."""
        key = self.old.keys[row]
        many = max(len(self.old.places[key]), len(self.new.places.get(key, ())))
        return many >= _COMMON and _CONTROL.match(self.old.rows[row]) is not None

    def _is_only_one(self, row: int, place: int) -> bool:
        """Returns whether a row is the only one of its kind in its function, and its place in one of that name."""
        head, now, key = self.old.frames[row], self.new.frames[place], self.old.keys[row]
        named = head >= 0 and now >= 0 and self.old.owners.get(head, ()) == self.new.owners.get(now)
        return named and list_alike(self.old, head, key) == [row] and list_alike(self.new, now, key) == [place]

    def _find_telling(self, row: int, step: int) -> int:
        """Returns the nearest row that is not bare, above or below; -1 if none is near, or it depends on this one."""
        at = find_telling(self.old, row, step)
        return -1 if at >= 0 and (row in self.old.ancestors(at) or self.old.frames[at] == row) else at


def _weigh(doubts: dict[int, float]) -> Ranked:
    """Returns the likeliest first. What speaks for one place speaks against the others."""
    odds = {at: (1.0 - doubt) / max(doubt, 1e-3) for at, doubt in doubts.items()}
    total = sum(odds.values())
    found = [(min(1.0 - doubts[at], odds[at] / (total or 1.0)), at) for at in odds]
    return sorted(found, key=lambda each: (-each[0], each[1]))[:MOST_CANDIDATES]
