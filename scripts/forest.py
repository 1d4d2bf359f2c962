"""Decision trees written as postil.anchor.weights.forest reads them."""

from __future__ import annotations

from collections import defaultdict
from typing import TypeAlias

Tree: TypeAlias = "float | tuple[int, float, Tree, Tree]"
"""A leaf; or a feature, its border, what smaller and equal values lead to, and what greater ones do."""
Feature: TypeAlias = "tuple[int, tuple[float, ...], tuple[int, ...], tuple[int, ...]]"


def plant(trees: list[Tree]) -> tuple[int, int, int, tuple[int, ...], tuple[Feature, ...]]:
    """Returns what forest.Trees holds."""
    splits: dict[int, list[tuple[float, int, int]]] = defaultdict(list)
    values: list[int] = []
    first = least = 0
    for tree in trees:
        start = len(values)
        _grow(tree, values, splits)
        lowest = min(values[start:])
        values[start:] = [value - lowest for value in values[start:]]
        first, least = first | 1 << start, least + lowest
    bits = range(max(values).bit_length())
    planes = tuple(sum(1 << at for at, value in enumerate(values) if value >> bit & 1) for bit in bits)
    features: list[Feature] = []
    for feature, found in sorted(splits.items()):
        borders, starts, counts = zip(*sorted(found), strict=True)
        features.append((feature, borders, starts, counts))
    return len(values), first, least, planes, tuple(features)


def write_trees(name: str, sentence: str, trees: list[Tree]) -> str:
    """Returns the text of some trees, under a name."""
    leaves, first, least, planes, features = plant(trees)
    planted = "".join(f"        {plane:#x},\n" for plane in planes)
    told = "".join(f"        {feature},\n" for feature in features)
    return (
        f"# {sentence}\n{name} = Trees(\n    {leaves},\n    {first:#x},\n    {least},\n"
        f"    (\n{planted}    ),\n    (\n{told}    ),\n)\n"
    )


def _grow(tree: Tree, values: list[int], splits: dict[int, list[tuple[float, int, int]]]) -> None:
    if not isinstance(tree, tuple):
        values.append(round(1000 * tree))
        return
    feature, border, left, right = tree
    start = len(values)
    _grow(left, values, splits)
    splits[feature].append((border, start, len(values) - start))
    _grow(right, values, splits)
