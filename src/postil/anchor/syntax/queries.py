"""Asking a tree with a query, unless that would take long: at every node a cursor looks at its later siblings.

The siblings in a list that a grammar knows mostly lie in a balanced tree, where that is quick. Those that a parser
could make nothing of, and the documents of YAML, lie in a row: 64 kB of dashes are 48,000 siblings in Python's grammar,
and a query over them took two seconds. A tree does not tell which it is, so one with very many siblings is left to a
worker. A cursor also has a limit of time, which is not used: one that it stopped left the interpreter with damaged
memory, and some nodes later it crashed (py-tree-sitter 0.25.2).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from math import inf
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from tree_sitter import Node, Query, QueryCursor

_T = TypeVar("_T")
MOST_STEPS = 8_000_000
"""Looks at a sibling: about 7 ms."""
DEEPEST_NODE = 500
"""A query looks at all ancestors of every node; nothing that anybody reads stands deeper in its tree."""
FEW = 1000
"""Nodes that are not looked through."""


def run_query(
    query: Query, root: Node, ask: Callable[[QueryCursor], _T], until: float = inf, match_limit: int | None = None
) -> _T | None:
    """Returns what `ask` finds with a cursor of a query; None where the tree is one for which that takes long."""
    from tree_sitter import QueryCursor  # the grammar is loaded by now; its module is not needed before

    if until != inf and is_dear(root, until):
        return None
    cursor = QueryCursor(query)
    if match_limit is not None:
        cursor.match_limit = match_limit
    return ask(cursor)


def is_dear(root: Node, until: float = inf) -> bool:
    """Whether a query over a tree may take more than MOST_STEPS, because of long rows of siblings."""
    steps, todo = 0, [root]
    while todo:
        node = todo.pop()
        if node.descendant_count <= FEW:
            continue
        steps += node.child_count**2
        if steps > MOST_STEPS or time.thread_time() > until:
            return True
        todo += node.children
    return False
