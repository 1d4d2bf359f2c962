"""Sums of decision trees, all trees at once.

A number holds a bit for every leaf of every tree, those of a tree beside each other, from left to right. What a feature
says rules out leaves, whichever tree they are in: for each of its values there is a number of the leaves that are left,
and `and` of those is what all features leave. The first leaf that is left of a tree is the one it leads to. So a row
costs as many steps as there are features, not as there are decisions.
"""

import operator
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, reduce
from itertools import repeat
from typing import NamedTuple

_both: Callable[[int, int], int] = operator.and_  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]


class Trees(NamedTuple):
    """Trees as scripts/train_anchor.py writes them. A leaf is worth thousandths."""

    leaves: int
    """How many there are."""
    first: int
    """The bits of the first leaf of each tree."""
    least: int
    """What the trees say together where each leads to its least leaf."""
    planes: tuple[int, ...]
    """The leaves by the bits of what they are worth more than the least of their tree, the lowest bit first."""
    features: tuple[tuple[int, tuple[float, ...], tuple[int, ...], tuple[int, ...]], ...]
    """By feature, ascending: its borders, and of each the leaves that greater values rule out: the first, how many."""


class Forest:
    """Says what a row of features is worth."""

    def __init__(self, trees: Trees) -> None:
        self._trees = trees
        self._all = (1 << trees.leaves) - 1
        self._planes = trees.planes[::-1]

    def begin(self, leaves: int, least: int) -> "Forest":
        """Returns the first of the trees, those with so many leaves. They add up what all of them narrowed."""
        all_leaves = (1 << leaves) - 1
        planes = tuple(plane & all_leaves for plane in self._trees.planes)
        return Forest(Trees(leaves, self._trees.first & all_leaves, least, planes, ()))

    @cached_property
    def _features(self) -> list[tuple[int, tuple[float, ...], list[int]]]:
        """Each feature with its borders, and the leaves that are left below the first, between them, and above."""
        found: list[tuple[int, tuple[float, ...], list[int]]] = []
        for feature, borders, starts, counts in self._trees.features:
            left = self._all
            masks = [left]
            for start, count in zip(starts, counts, strict=True):
                left &= self._all ^ (((1 << count) - 1) << start)
                masks.append(left)
            found.append((feature, borders, masks))
        return found

    def narrow(self, told: Sequence[float], begin: int = 0) -> int:
        """Returns the leaves that a row of features leaves; the first of `told` is the feature `begin`."""
        stop = begin + len(told)
        left = self._all
        for feature, borders, masks in self._features:
            if begin <= feature < stop:
                left &= masks[bisect_left(borders, told[feature - begin])]
        return left

    def narrow_all(self, columns: Sequence[Sequence[float]]) -> list[int]:
        """Returns the leaves that each of some rows leaves. What is the same for all rows is looked at once."""
        count = len(columns[0])
        shared = self._all
        apart: list[Iterable[int]] = []
        for feature, borders, masks in self._features:
            column = columns[feature]
            if column.count(column[0]) == count:
                shared &= masks[bisect_left(borders, column[0])]
            else:
                apart.append(map(masks.__getitem__, map(bisect_left, repeat(borders), column)))
        if not apart:
            return [shared] * count
        return [reduce(_both, left, shared) for left in zip(*apart, strict=True)]

    def add(self, left: int) -> float:
        """Returns the sum of the trees, by the leaves that are left."""
        left &= self._all
        first = left & (left ^ (left - self._trees.first))
        total = 0
        for plane in self._planes:
            total = 2 * total + (first & plane).bit_count()
        return (total + self._trees.least) / 1000
