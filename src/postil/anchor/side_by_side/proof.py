"""What proves where a row of a piece of a file is, when it says little by itself.

A piece is a few rows on each side of what was asked for. A bracket, `pass`, `else` or a row of signs stands in it next
to rows that stand in many places. It is known by what it closes and by the rows beside it; where these do not prove a
place, a person is asked.
"""

import re
from collections.abc import Sequence
from itertools import takewhile

from rapidfuzz.distance import Indel

from postil.anchor.page import Page, is_bare

_OPENING, _CLOSING = "([{", ")]}"
_BRACKETS = re.compile(r"[()\[\]{}]")
_FEW_WORDS = re.compile(r"\W*(?:(?:pass|else|try|finally|do|begin|end|return|break|continue|default|then|fi|done)\W*)?")
_ENDS_BLOCK = re.compile(r"(?:pass|return|break|continue);?")  # they belong to the row above them
_SIGNS = re.compile(r"\W*")
_FARTHEST = 200  # rows above in which the one is looked for that a bracket closes
_KEPT = 5  # rows on each side of a piece that are all known; farther ones may be missing
_TELLING = 5  # characters of a row that says something; longer ones do
_ALIKE = 0.75  # of the characters of a row that was edited where it was
_MOST_PLACES = 40
_SAME, _UNKNOWN, _ANOTHER = 1, 0, -1


class Proof:
    """The rows of a piece of a file in a page."""

    def __init__(self, old: Page, new: Page) -> None:
        self.old, self.new = old, new

    def proves(self, row: int, place: int) -> bool:
        """Returns whether a row is at a place, as far as a piece can tell; true of rows that say enough."""
        key = self.old.keys[row]
        if not key:
            return True
        if _FEW_WORDS.fullmatch(key):
            return self._proves_bracket(row, place) if key[0] in _CLOSING else self._proves_word(row, place)
        return not self._is_twin(row, place)

    def find_proven(self, row: int, places: Sequence[int]) -> int:
        """Returns the one of some places that is beyond doubt: what it closes, or it and both rows beside it; or -1."""
        key = self.old.keys[row]
        if not key or not _FEW_WORDS.fullmatch(key):
            return -1
        closes = key[0] in _CLOSING
        only = self._find_only_one(_find_open(self.old, row)) if closes else -1
        if only >= 0:
            near = takewhile(lambda at: at <= only + _FARTHEST, (at for at in places if at > only))
            return next((at for at in near if _find_open(self.new, at) == only), -1)
        sides = (-1,) if _ENDS_BLOCK.fullmatch(key) and _tells(_find_beside(self.old, row, -1)) else (-1, 1)
        beside = [at for at in places if all(self._compare_beside(row, at, step, exactly=True) > 0 for step in sides)]
        found = [at for at in beside[:_MOST_PLACES] if not closes or self._compare_closed(row, at) == _SAME]
        return found[0] if len(found) == 1 and len(beside) <= _MOST_PLACES else -1

    def _find_only_one(self, row: int) -> int:
        """Returns the only row that says the same as one that tells something, or -1."""
        key = self.old.keys[row] if row >= 0 else ""
        same = self.new.places.get(key, ()) if _tells(key) else ()
        return same[0] if len(same) == 1 and len(self.old.places[key]) == 1 else -1

    def _proves_bracket(self, row: int, place: int) -> bool:
        above, below = (self._compare_beside(row, place, step) for step in (-1, 1))
        opener = _find_open(self.old, row)
        if (only := self._find_only_one(opener)) >= 0 and _find_open(self.new, place) == only:
            return True
        closed = self._compare_closed(row, place)
        if closed == _SAME:
            return above == _SAME or below == _SAME or above == below == _UNKNOWN
        return closed == _UNKNOWN and _ANOTHER not in (above, below) and self._is_told(row, place)

    def _proves_word(self, row: int, place: int) -> bool:
        above, below = (self._compare_beside(row, place, step) for step in (-1, 1))
        if _SIGNS.fullmatch(self.old.keys[row]) and _ANOTHER in (above, below) and len(self.old.keys[row]) < 2:
            return False  # `*` and `#` stand between any two rows of a comment
        return _SAME in (above, below)

    def _is_told(self, row: int, place: int) -> bool:
        """Returns whether a row beside another tells something, or all that are known around it are there."""
        if any(
            self._compare_beside(row, place, step) == _SAME and _tells(_find_beside(self.old, row, step))
            for step in (-1, 1)
        ):
            return True
        old, new = self.old.keys, self.new.keys
        around = range(max(-row, -_KEPT), min(len(old) - row, _KEPT + 1))
        return all(0 <= place + step < len(new) and new[place + step] == old[row + step] for step in around)

    def _is_twin(self, row: int, place: int) -> bool:
        """Returns whether a row is in another list or call than it was, one of several places between equal rows."""
        places = self.new.places.get(self.old.keys[row], ())
        if self.old.keys[row][-1] != "," or not 1 < len(places) <= _MOST_PLACES:
            return False
        beside = [(_find_beside(self.new, at, -1), _find_beside(self.new, at, 1)) for at in places]
        mine = (_find_beside(self.new, place, -1), _find_beside(self.new, place, 1))
        if beside.count(mine) < 2:
            return False
        before = _find_open(self.old, row)
        now = _find_open(self.new, place) if before >= 0 else -1
        return before >= 0 and (now < 0 or self.old.keys[before] != self.new.keys[now])

    def _compare_closed(self, row: int, place: int) -> int:
        """Returns whether a bracket closes the same row there, as far as that is known."""
        before, now = _find_open(self.old, row), _find_open(self.new, place)
        if before < 0 or now < 0:
            return _UNKNOWN
        old, new = self.old.keys[before], self.new.keys[now]
        if old == new:
            is_only = len(self.new.places[new]) == 1
            return _SAME if is_only or self._is_between(before, now) or self._is_between(row, place) else _UNKNOWN
        if is_alike(old, new):
            return _SAME
        return _ANOTHER if row - before <= _KEPT else _UNKNOWN

    def _is_between(self, row: int, place: int) -> bool:
        """Returns whether a row is beside one that it was beside."""
        return any(self._compare_beside(row, place, step) == _SAME for step in (-1, 1))

    def _compare_beside(self, row: int, place: int, step: int, *, exactly: bool = False) -> int:
        old, new = _find_beside(self.old, row, step), _find_beside(self.new, place, step)
        if not old or not new:
            return _UNKNOWN
        return _SAME if old == new or (not exactly and is_alike(old, new)) else _ANOTHER


def is_alike(old: str, new: str) -> bool:
    """Returns whether a row that says something is likely another one, edited."""
    return _tells(old) and _tells(new) and Indel.normalized_similarity(old, new, score_cutoff=_ALIKE) > 0


def _tells(key: str) -> bool:
    return len(key) > _TELLING and not is_bare(key)


def _find_beside(page: Page, row: int, step: int) -> str:
    """Returns the nearest row above (step -1) or below that is not blank; nothing where there is none."""
    row += step
    while 0 <= row < len(page) and not page.keys[row]:
        row += step
    return page.keys[row] if 0 <= row < len(page) else ""


def _find_open(page: Page, row: int) -> int:
    """Returns the row that a row's first bracket closes, or the bracket of which it is in; -1 where none is near."""
    depth = 1
    for at in range(row - 1, max(-1, row - _FARTHEST), -1):
        for sign in reversed(_BRACKETS.findall(page.keys[at])):
            depth += 1 if sign in _CLOSING else -1
            if not depth:
                return at
    return -1
