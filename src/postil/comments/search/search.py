"""Searching comments: a pattern over all texts, and conditions on what is known of each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import UNSET

from postil.comments.operations.answers import CommentNow, Found, comment_now
from postil.comments.search.filters import Conditions
from postil.comments.search.patterns import Pattern
from postil.core.failure import InvalidArguments

if TYPE_CHECKING:
    from postil.comments.index.overview import Overview
    from postil.comments.model import Damage, Located
    from postil.comments.search.text_file import Hits

MOST_RESULTS = 1000


def search(
    overview: Overview,
    query: str,
    conditions: Conditions,
    limit: int,
    shown: dict[str, str | bool | dict[str, str]],
    *,
    plain: bool = False,
    replies: bool = True,
) -> Found:
    """Returns the comments that match, or (`replies`) whose replies do, newest first; the total counts all."""
    if not 1 <= limit <= MOST_RESULTS:
        raise InvalidArguments(f"Invalid arguments: limit is between 1 and {MOST_RESULTS}", path="limit")
    pattern = Pattern(query, plain=plain)
    overview.refresh()
    hits = overview.index.search(pattern)
    if replies:
        from postil.comments.index.cache import search_replies  # SQLite, which the overview has loaded

        hits = hits.with_others(search_replies(overview.index, pattern))
    total, located, damaged = overview.index.read(lambda: _read_newest(overview, hits, conditions, limit))
    found = tuple(comment_now(each) for each in located)
    asked = found if hits.has_others else ()  # else each of them was found by its own text
    inside = {each.id: some for each in asked if (some := _list_matching(pattern, each))}
    outside = overview.outside(conditions.file)
    return Found(found, total, query, shown, damaged, inside or UNSET, outside or UNSET)


def _read_newest(
    overview: Overview, hits: Hits, conditions: Conditions, limit: int
) -> tuple[int, list[Located], tuple[Damage, ...]]:
    where, values = conditions.clause(overview)
    return *overview.index.newest(hits, where, values, limit), overview.damaged(conditions.file)


def _list_matching(pattern: Pattern, each: CommentNow) -> tuple[str, ...]:
    """Returns the replies by which a comment was found; none where it says the same itself."""
    if not each.replies or pattern.matches(_encode(each.text)):
        return ()
    return tuple(reply.id for reply in each.replies if pattern.matches(_encode(reply.text)))


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "replace")
