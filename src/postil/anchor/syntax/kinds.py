"""The type of the largest syntax node that begins a row."""

from __future__ import annotations

import time
from functools import cached_property
from math import inf
from typing import TYPE_CHECKING

from msgspec import Struct

from postil.anchor.syntax.languages import Parsed, ask_worker, is_over, parse

if TYPE_CHECKING:
    from tree_sitter import Tree

MOST_LEVELS = 100
"""Nodes that begin together, of which the largest is looked for: each says its parent by a walk from the root."""
FEW_LEVELS = 8
"""Of those, so many are looked at before a clock is."""
SHORT = 0.0002
"""Seconds of wall time in which an ordinary row is found: it took no more of CPU, whose clock takes ten times as long
to read. A text with one row that takes longer is read with that clock in view."""


class Kinds(Struct, frozen=True, array_like=True):
    """The types of all rows, each named once."""

    names: list[str]
    numbers: list[int]

    def at(self, row: int) -> str:
        return self.names[self.numbers[row]] if row < len(self.numbers) else ""


def kind_at(tree: Tree, row: int, line: str, until: float = inf) -> str | None:
    """Returns the type of the node that begins a row, which is `line`; empty where there is none.

    None where finding it takes too long here.
    """
    column = len(line) - len(line.lstrip())
    if not line.isascii():
        column = len(line[:column].encode("utf-8", "surrogatepass"))
    node = tree.root_node.descendant_for_point_range((row, column), (row, column + 1))
    if node is None:
        return ""
    over = node.parent
    for level in range(MOST_LEVELS):
        if over is None or over.start_point[0] != row or (higher := over.parent) is None:
            break
        if level >= FEW_LEVELS and is_over(until):
            return None
        node, over = over, higher
    return node.type


def list_kinds(parsed: Parsed, text: str) -> Kinds:
    """Returns those of all rows, of a text that was parsed."""
    names, numbers = {"": 0}, list[int]()
    for row, line in enumerate(text.split("\n")):
        kind = (kind_at(parsed.tree, row, line) if line.strip() else "") or ""
        numbers.append(names.setdefault(kind, len(names)))
    return Kinds([*names], numbers)


class RowNodes:
    """The nodes that begin the rows of a text: read from its tree here, or by a worker."""

    def __init__(self, text: str, language: str | None) -> None:
        self._text, self._language = text, language
        self._parsed = parse(text, language)
        self._takes_long = False

    def kind(self, row: int, line: str) -> str:
        """Returns the type of the node that begins a row, which is `line`; empty where there is none."""
        parsed = self._parsed
        if parsed is not None and (parsed.left > 0 or parsed.refill() > 0):
            found = None if self._takes_long else self._find_soon(parsed, row, line)
            if found is None:
                with parsed.spend() as until:
                    found = kind_at(parsed.tree, row, line, until)
            if found is not None:
                return found
        return self._apart.at(row)

    def _find_soon(self, parsed: Parsed, row: int, line: str) -> str | None:
        begun = time.monotonic()
        found = kind_at(parsed.tree, row, line, -inf)
        spent = time.monotonic() - begun
        self._takes_long = spent > SHORT
        parsed.left -= min(spent, SHORT)  # what is longer was perhaps spent waiting
        return found

    @cached_property
    def _apart(self) -> Kinds:
        found = ask_worker("kinds", self._text, self._language, Kinds) if self._language else None
        return found if found is not None else Kinds([], [])
