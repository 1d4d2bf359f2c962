"""Asking a tree with a query, unless that would take long: at every node a cursor looks at its later siblings.

The siblings in a list that a grammar knows lie in a balanced tree, where that is quick. Those that a parser could make
nothing of lie in a row: 64 kB of dashes are 48,000 siblings in Python's grammar, and a query over them took two
seconds. So what a query takes is told by the tree. A cursor also has a limit of time, which is not used: one that it
stopped left the interpreter with damaged memory, and some nodes later it crashed (py-tree-sitter 0.25.2).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from tree_sitter import Node, Query, QueryCursor

_T = TypeVar("_T")
MOST_STEPS = 8_000_000
"""Looks at a sibling: about 7 ms."""
_IN_A_ROW = frozenset({"stream"})
"""Nodes whose children lie in a row although the grammar knows them: the documents of YAML."""


def run_query(query: Query, root: Node, ask: Callable[[QueryCursor], _T], match_limit: int | None = None) -> _T | None:
    """Returns what `ask` finds with a cursor of a query; None where the tree is one for which that takes long."""
    from tree_sitter import QueryCursor  # the grammar is loaded by now; its module is not needed before

    if is_dear(root):
        return None
    cursor = QueryCursor(query)
    if match_limit is not None:
        cursor.match_limit = match_limit
    return ask(cursor)


def is_dear(root: Node) -> bool:
    """Whether a query over a tree takes more than MOST_STEPS, because of long rows of what is no code."""
    steps, todo = 0, [root] if root.has_error or root.type in _IN_A_ROW else []
    while todo:
        node = todo.pop()
        if node.is_error or node.type in _IN_A_ROW:
            steps += node.child_count**2
        if steps > MOST_STEPS:
            return True
        todo += [child for child in node.children if child.has_error]
    return False
