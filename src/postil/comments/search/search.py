"""Searching comments: a pattern over all texts, and conditions on what is known of each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from postil.comments.operations.answers import Found, comment_now
from postil.comments.search.filters import Conditions
from postil.comments.search.patterns import Pattern
from postil.core.failure import InvalidArguments

if TYPE_CHECKING:
    from postil.comments.index.overview import Overview

MOST_RESULTS = 1000


def search(
    overview: Overview,
    query: str,
    conditions: Conditions,
    limit: int,
    shown: dict[str, str | bool | dict[str, str]],
    *,
    plain: bool = False,
) -> Found:
    """Returns the comments that match, newest first; the total counts before the limit."""
    if not 1 <= limit <= MOST_RESULTS:
        raise InvalidArguments(f"Invalid arguments: limit is between 1 and {MOST_RESULTS}", path="limit")
    pattern = Pattern(query, plain=plain)
    overview.refresh()
    where, values = conditions.clause(overview)
    hits = overview.index.search(pattern)
    total, located = overview.index.newest(hits, where, values, limit)
    return Found(tuple(comment_now(each) for each in located), total, query, shown, overview.damaged(conditions.file))
