"""Whether a piece of code travelled to another file: a line that is alike there proves nothing, what came with it does.

Code travelled when rows around it left its file, were not in the other file before, and stand there now around the
place in question, in their order; or when the function around it has gone from the one file and is new in the other.
Code was copied, and did not travel, when the function or class around it is still in its file and was edited there, or
when most of what is around it stands in both files. Imports (also in lists), decorators, comments and parameters that
an object keeps stand in many files: they prove little.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from copy import copy
from functools import cached_property

from rapidfuzz.distance import Indel

from postil.anchor.page import LONGEST_KEY, Page, find_opener, is_bare
from postil.anchor.side_by_side.alignment import Alignment, align
from postil.anchor.syntax.symbols import Symbol

_AROUND = 10  # rows on each side that are asked
_APART = 6  # rows that may have been added or deleted between one of them and the place
_SHORTEST = 8  # letters and digits of a row that says something
_ENOUGH = 3.0  # rows that came along
_SOME = 1.5
_COMMON = 0.3  # what a row is worth that stands more than once in either file, or in several others
_LETTERS = 29  # letters and digits of what came along with a function of that name; with fewer it may be another one
_SYMBOL = 1.0  # rows that came along with the function around it, or with the whole file
_ALIKE = 0.6  # how much of a row is left in one that may be it
_BOTH = 2  # rows of a function that stand in both files: so many were copied
_GENERIC = 0.15  # what a row is worth that stands in many files
_ANYWHERE = re.compile(
    r"""(?:import|from|using|package|require|require_relative)\b|(?:pub\b\S*\s+)?use\s|extern\s+crate\b|"""
    r"""(?:const|var|let)\b[^;]*=\s*require\b|export\b[^;]*\sfrom\s*['"]|\}\s*from\s*['"]|'use strict'|"use strict"|"""
    r"""@|//|/\*|\*|\#|--|<!--|:\w+:|\"\"\"|\'\'\'|__\w+__\s*="""
)
# The head of a list of names that are imported, or handed on.
_LISTS = re.compile(
    r"""import\b[^;'"]*[({]\s*$|from\b.*\bimport\s*\(|(?:pub\b\S*\s+)?use\b.*\{\s*$|export\s+(?:type\s+)?\{\s*$"""
)
# What many objects begin with: the head of what makes one, and a parameter that it keeps under its own name.
_KEPT = re.compile(r"(?:async)?(?:def__init__|constructor)\(.*|(?:self|this)(?:\.|->)[#_]?(?:m_)?(\w+)=_?\1;?")
_WORDS = re.compile(r"\W+|_")

Held = Callable[[str], bool]


def stands_anywhere(row: str) -> bool:
    """Returns whether a row is one of many files: an import, a comment, a decorator."""
    return _ANYWHERE.match(row.lstrip()[:LONGEST_KEY]) is not None


class Travelled:
    """What came from one file into another. `held` tells whether the other file held a row's code before.

    `is_common` tells whether several others hold it all along: such a row is company of others that tell something.
    """

    def __init__(
        self, old: Page, now: Page, other: Page, held: Held, is_common: Held | None = None, symbol: tuple[str, ...] = ()
    ) -> None:
        self.old, self.now, self.other = old, now, other
        self._held, self._symbol = held, symbol
        self._is_common: Held = is_common or (lambda _: False)
        self._everything = range(len(old))
        self._scopes: dict[range, bool] = {}

    def of_symbol(self, symbol: tuple[str, ...]) -> Travelled:
        """Returns the same for code of a function or class, which shares what was compared."""
        found = copy(self)
        found._symbol, found._scopes = symbol, {}
        return found

    def may_have_come(self, row: int) -> bool:
        """Returns whether an old row may be in the other file, wherever: else `judge` says nothing of any place."""
        telling = (near for near in self._around(row) if not self._is_common(self.old.keys[near]))
        return sum(self._weigh_at_most(near, row) for near in telling) >= _SYMBOL

    def judge(self, row: int, at: int, renamed: bool = False) -> str:
        """Returns `moved` when the code of an old row came to a row of the other file, `review` if perhaps, else ''.

        A row that stands in many files goes along with the file, when that was renamed, or with the function that it
        is in or stands above. Of what was copied a person is asked, and of a bracket that would close something else.
        """
        verdict = self._weigh_proof(row, at, renamed)
        if verdict != "moved":
            return verdict
        return "review" if self._closes_another(row, at) or (not renamed and self._was_copied(row)) else verdict

    def count_proof(self, row: int, at: int) -> float:
        """Returns how many rows came along with an old row to a row of the other file."""
        return sum(self._weigh(near, row, at) for near in self._around(row))

    def _weigh_proof(self, row: int, at: int, renamed: bool) -> str:
        weights = {near: self._weigh(near, row, at) for near in self._around(row)}
        proof = sum(weight for near, weight in weights.items() if not self._is_common(self.old.keys[near]))
        if self._stands_anywhere(row) and not renamed:
            if proof < _SYMBOL or sum(weights.values()) < _ENOUGH:
                return ""
            return "moved" if self._goes_along(row, at) else "review" if proof >= _ENOUGH else ""
        # a row that came alone is a row like it
        together = max((weight for near, weight in weights.items() if near != row), default=0.0)
        if proof >= _ENOUGH or (
            proof >= _SYMBOL
            and ((renamed and together) or (together > _GENERIC and self._has_symbol(row, at) and self._tells(row, at)))
        ):
            return "moved"
        return "review" if proof >= _SOME else ""

    def _tells(self, row: int, at: int) -> bool:
        """Returns whether the rows that came along say enough to be no other function of that name."""
        came = {
            self.old.keys[near]
            for near in self._around(row)
            if self._weigh(near, row, at) and not self._stands_anywhere(near)
        }
        return len(_WORDS.sub("", "".join(came))) >= _LETTERS

    def _around(self, row: int) -> range:
        return range(max(0, row - _AROUND), min(len(self.old), row + _AROUND + 1))

    def _weigh(self, near: int, row: int, at: int) -> float:
        key, place = self.old.keys[near], self._came[near]
        if place < 0 and near == row and self.other.keys[at] == key:
            place = at
        if place < 0 or abs((place - at) - (near - row)) > _APART or (place - at) * (near - row) < 0:
            return 0.0  # it did not come, or stands far away or on the other side of the place
        return 0.0 if self._tells_nothing(near) else self._weigh_kind(near, place)

    def _tells_nothing(self, near: int) -> bool:
        """Returns whether an old row is short, stood in the other file before, or is still in its own."""
        key = self.old.keys[near]
        if len(_WORDS.sub("", key)) < _SHORTEST or self._held(key):
            return True
        return self._stayed is not None and self._stayed.forward[near] >= 0

    def _weigh_kind(self, near: int, place: int) -> float:
        """Returns what an old row is worth at a place; -1 is the one where it would be worth most."""
        key = self.old.keys[near]
        if self._stands_anywhere(near) or _KEPT.fullmatch(key):
            return _GENERIC
        if self._is_common(key):
            return _COMMON
        single = place < 0 or len(self.other.places[self.other.keys[place]]) == 1
        return 1.0 if self._times[key] == 1 and single else _COMMON

    def _weigh_at_most(self, near: int, row: int) -> float:
        """Returns what a row beside an old one may weigh, wherever in the other file the place is."""
        key, place = self.old.keys[near], self._came[near]
        if place < 0 and not (near == row and key in self.other.places):
            return 0.0
        return 0.0 if self._tells_nothing(near) else self._weigh_kind(near, place)

    def _was_copied(self, row: int) -> bool:
        """Returns whether what is around a row came to the other file as a copy: its own is still here.

        A function that lost rows and got few in their place gave them away; one that got as many was edited.
        """
        if self._stayed is None:
            return False
        mine = self._symbol or self.old.owners.get(row, ())
        around = [each for each in self.old.symbols if each.span.start <= row + 1 <= each.span.last]
        if around and around[-1].path[-1:] == mine[-1:]:
            rows = range(around[-1].span.start - 1, min(around[-1].span.last, len(self.old)))
        else:
            rows = range(len(self.old)) if mine else range(0)  # the old text is a fragment of the function
        if own := self._find_own(mine):
            here = range(own.span.start - 1, min(own.span.last, len(self.now)))
            got = sum(self._stayed.backward[at] < 0 and _tells(self.now, at) for at in here)
            lost = sum(self._stayed.forward[at] < 0 and _tells(self.old, at) for at in rows)
            if 2 * got > lost or (own.is_function and self._count_both(rows[1:])[0] >= _BOTH):
                return True
        scopes = [
            *(range(each.span.start - 1, min(each.span.last, len(self.old))) for each in around),
            self._everything,
        ]
        return any(self._is_in_both(scope) for scope in scopes)

    def _closes_another(self, row: int, at: int) -> bool:
        """Returns whether a bracket would close another row there than the one that it closed."""
        opener = find_opener(self.old, row) if self.old.keys[row] and is_bare(self.old.keys[row]) else -1
        if opener < 0:
            return False
        there, place = find_opener(self.other, at), self._came[opener]
        if there < 0 or place >= 0:
            return there != place
        return Indel.normalized_similarity(self.old.keys[opener], self.other.keys[there]) < _ALIKE

    def _find_own(self, path: tuple[str, ...]) -> Symbol | None:
        """Returns the function or class that is in its file as before: by its path, or it is the one of its name."""
        exact = [each for each in self.now.symbols if each.path == path]
        named = [each for each in self.now.symbols if path and each.path[-1] == path[-1]]
        if exact or not path or path[-1].startswith("__"):
            return exact[0] if exact else None
        return named[0] if len(named) == 1 else None

    def _is_in_both(self, rows: range) -> bool:
        """Returns whether most telling rows stand in both files, and more of them than left the one for the other."""
        known = self._scopes.get(rows)
        if known is None:
            both, left = self._count_both(rows)
            telling = sum(_tells(self.old, row) for row in rows)
            known = self._scopes[rows] = both >= _ENOUGH and both > left and 2 * both >= telling
        return known

    def _count_both(self, rows: range) -> tuple[int, int]:
        """Returns how many telling rows are new in the other file and stayed in their own, and how many left it."""
        came = [
            row for row in rows if self._came[row] >= 0 and _tells(self.old, row) and not self._held(self.old.keys[row])
        ]
        both = sum(self._stayed is not None and self._stayed.forward[row] >= 0 for row in came)
        return both, len(came) - both

    def _goes_along(self, row: int, at: int) -> bool:
        """Returns whether words stand unchanged where they would, in the function that travelled or above it.

        They are the only ones of their kind in both files, or between the same rows. A decorator has no words.
        """
        key = self.old.keys[row]
        if self._came[row] != at or key != self.other.keys[at] or key.startswith("@"):
            return False
        alone = len(_WORDS.sub("", key)) >= _SHORTEST and self._times[key] == 1 == len(self.other.places[key])
        if not alone and not all(self._is_beside(row, at, step) for step in (-1, 1)):
            return False
        if self._has_symbol(row, at):
            return True
        declared, now = self.old.documented(row), self.other.documented(at)
        return declared >= 0 and self._came[declared] == now >= 0 and self._has_symbol(declared, now)

    def _is_beside(self, row: int, at: int, step: int) -> bool:
        """Returns whether the row above (step -1) or below, blank ones left out, is beside the place as well."""
        near, there = _step(self.old, row, step), _step(self.other, at, step)
        return 0 <= near < len(self.old) and self._came[near] == there

    def _has_symbol(self, row: int, at: int) -> bool:
        """Returns whether the function or class around the row is the one around the place, and has moved."""
        mine, theirs = self._symbol or self.old.owners.get(row, ()), self.other.owners.get(at, ())
        if (
            not mine
            or not theirs
            or mine[-1] != theirs[-1]
            or (mine[-1].startswith("__") and (mine != theirs or len(mine) < 2))
        ):
            return False
        name = mine[-1]
        around = mine[-2] if min(len(mine), len(theirs)) > 1 else ""
        here = {symbol.path[-1] for symbol in self.now.symbols}
        if around in here and theirs[-2:] != (around, name):
            return False  # what it is a method of is still here: another class has such a method as well
        return name not in here

    def _stands_anywhere(self, row: int) -> bool:
        """Returns whether an old row is an import, alone or one of a list, a comment or a decorator."""
        return row in self._imported or stands_anywhere(self.old.rows[row])

    @cached_property
    def _imported(self) -> set[int]:
        """The old rows in lists of what is imported."""
        heads = {
            row for row in self.old.children if row >= 0 and _LISTS.match(self.old.rows[row].lstrip()[:LONGEST_KEY])
        }
        found: set[int] = set()
        for row, above in enumerate(self.old.parents if heads else ()):
            if above in heads or above in found:
                found.add(row)
        return found

    @cached_property
    def _came(self) -> list[int]:
        """Where each old row is in the other file; -1 where it is not.

        Functions may come in another order than they stood in: a row that is the only one of its kind in both files is
        the same one, wherever it is.
        """
        aligned = align(self.old, self.other)
        came = [*aligned.forward]
        for row, key in enumerate(self.old.keys):
            if came[row] < 0 and self._times[key] == 1 and _tells(self.old, row):
                only = self.other.places.get(key, ())
                if len(only) == 1 and aligned.backward[only[0]] < 0:
                    came[row] = only[0]
        return came

    @cached_property
    def _stayed(self) -> Alignment | None:
        return align(self.old, self.now) if self.now.text else None

    @cached_property
    def _times(self) -> Counter[str]:
        return Counter(self.old.keys)


def _tells(page: Page, row: int) -> bool:
    key = page.keys[row]
    return len(_WORDS.sub("", key)) >= _SHORTEST and not stands_anywhere(page.rows[row]) and not _KEPT.fullmatch(key)


def _step(page: Page, row: int, step: int) -> int:
    row += step
    while 0 <= row < len(page) and not page.keys[row]:
        row += step
    return row
