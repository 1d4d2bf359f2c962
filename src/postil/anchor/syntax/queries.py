"""Asking a tree with a query, for a bounded time: a cursor looks at all later siblings of every node that it passes.

64 kB of dashes are 49,000 siblings in Python's grammar; a query over them took two seconds.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from tree_sitter import Node, Query, QueryCursor

_T = TypeVar("_T")
LONGEST_QUERY, QUERY_BYTE = 0.02, 2e-7
"""Seconds of CPU for a query, and for each byte of the text: ordinary code takes a quarter of the latter."""
_STRETCHES = (1, 3, 10)
"""A cursor's own limit is of time that passes. Where others had the processor meanwhile, it gets so many times more."""


def run_query(query: Query, root: Node, ask: Callable[[QueryCursor], _T], match_limit: int | None = None) -> _T | None:
    """Returns what `ask` finds with a cursor of a query; None where it takes too long, and was not all found."""
    limit = LONGEST_QUERY + QUERY_BYTE * (root.end_byte - root.start_byte)
    for stretch in _STRETCHES:
        cursor = _make_cursor(query, limit * stretch)
        if match_limit is not None:
            cursor.match_limit = match_limit
        begun, spent = time.monotonic(), time.thread_time()
        found = ask(cursor)
        if time.monotonic() - begun < limit * stretch:
            return found
        if time.thread_time() - spent >= limit:
            break
    return None


def _make_cursor(query: Query, seconds: float) -> QueryCursor:
    from tree_sitter import QueryCursor  # the grammar is loaded by now; its module is not needed before

    try:  # an old setting, as for the parser; what is to follow it crashes
        return QueryCursor(query, timeout_micros=max(1, round(seconds * 1_000_000)))  # pyright: ignore[reportDeprecated]
    except TypeError:  # a newer one, without it
        return QueryCursor(query)
