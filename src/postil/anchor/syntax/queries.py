"""Asking a tree with a query, unless that would take long: at every node a cursor looks at its later siblings.

The siblings in a list that a grammar knows mostly lie in a balanced tree, where that is quick. Those that a parser
could make nothing of, and the documents of YAML, lie in a row: 64 kB of dashes are 48,000 siblings in Python's grammar,
and a query over them took two seconds. A tree does not tell which it is, so one with very many siblings is left to a
worker, as is one for which the time that is left does not do. A cursor also has a limit of time, which is not used: one
that it stopped left the interpreter with damaged memory, and some nodes later it crashed (py-tree-sitter 0.25.2, where
to set `match_limit` on a cursor sets that limit).
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
STEP, VISIT, FOUND = 5e-9, 0.3e-6, 2.5e-6
"""Seconds for a look at a sibling, for a node, and for one that is found: nothing stops a query, so what it may take is
counted before. Of ordinary trees of 48 kB one in a hundred has more than 300,000 siblings to look at."""
ONE_OF = 3
"""Nodes of which one at most is a definition, or a branch: its name and its marks are others."""
DEEPEST_NODE = 500
"""A query looks at all ancestors of every node; nothing that anybody reads stands deeper in its tree."""
FEW = 1000
"""Nodes that are not looked through."""


def run_query(
    query: Query, root: Node, ask: Callable[[QueryCursor], _T], until: float = inf, most: int | None = None
) -> _T | None:
    """Returns what `ask` finds with a cursor of a query; None where that may take longer than this thread may.

    It finds at most so many nodes.
    """
    from tree_sitter import QueryCursor  # the grammar is loaded by now; its module is not needed before

    if until != inf:
        nodes = root.descendant_count
        found = nodes // ONE_OF if most is None else min(most, nodes)
        if nodes > FEW and is_dear(root, until - nodes * VISIT - found * FOUND):
            return None
    return ask(QueryCursor(query))


def is_dear(root: Node, until: float = inf) -> bool:
    """Whether a query over a tree may take longer, or more than MOST_STEPS, because of long rows of siblings."""
    steps, todo = 0, [root]
    while todo:
        node = todo.pop()
        if node.descendant_count <= FEW:
            continue
        steps += node.child_count**2
        if steps > MOST_STEPS or time.thread_time() + steps * STEP > until:
            return True
        todo += node.children
    return False
