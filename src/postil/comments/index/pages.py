"""Comments a page at a time, and how many there are: what a resource answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from heapq import nsmallest
from itertools import islice
from typing import Any

from postil.comments.index.cache import SHOWN, Index, choose_order, hold_bodies
from postil.comments.model import Located

PLAIN_SIZE = 400
"""What a comment has beside its texts."""


def read_page(
    index: Index, where: str, values: Sequence[object], after: tuple[str, int], most: int, most_bytes: int
) -> tuple[list[Located], tuple[str, int] | None]:
    """Returns comments for which a condition holds, from a place on, and the place of the last if there are more.

    No more than so many, and no more bytes than so many unless one comment alone has them.
    """
    sentence = (
        f"SELECT path, place, body FROM {choose_order(index, where, values)} JOIN body USING (seq) "  # noqa: S608 - as in rows
        f"WHERE ({where}) AND {SHOWN} AND (path, place) > (?, ?) ORDER BY path, place LIMIT {most + 1}"
    )
    found: list[Located] = []
    size = 0
    with index.using() as db:
        for path, place, body in hold_bodies(db.execute(sentence, (*values, *after))):
            size += len(body)
            if found and (len(found) == most or size > most_bytes):
                return found, after
            after = (path, place)
            found.append(index.decode(body))
    return found, None


def read_numbered(
    index: Index, where: str, values: Sequence[object], first: int, most: int, most_bytes: int
) -> list[Located]:
    """Returns comments for which a condition holds, from so many of them on."""
    sentence = (
        f"SELECT body FROM note JOIN body USING (seq) "  # noqa: S608 - as in rows
        f"WHERE ({where}) AND {SHOWN} ORDER BY path, place LIMIT ? OFFSET ?"
    )
    with index.using() as db:
        rows = hold_bodies(db.execute(sentence, (*values, most, first)))
        return cut_page((index.decode(body) for (body,) in rows), 0, most, most_bytes)


def cut_page(found: Iterable[Located], first: int, most: int, most_bytes: int) -> list[Located]:
    """Returns some comments, from so many on: no more bytes than so many, unless one comment alone has them."""
    page: list[Located] = []
    size = 0
    for each in islice(found, first, first + most):
        size += len(each.comment.text) + sum(len(reply.text) for reply in each.comment.replies) + PLAIN_SIZE
        if page and size > most_bytes:
            break
        page.append(each)
    return page


def read_first(
    index: Index, where: str, values: Sequence[object], order: Callable[[Located], Any], limit: int
) -> list[Located]:
    """Returns the first comments in an order for which a condition holds: the others are looked at one by one."""
    sentence = f"SELECT body FROM note JOIN body USING (seq) WHERE ({where}) AND {SHOWN} ORDER BY path, place"  # noqa: S608 - as in rows

    def read() -> list[bytes]:
        with index.using() as db:
            rows = (body for (body,) in db.execute(sentence, tuple(values)))
            return nsmallest(limit, rows, key=lambda body: order(index.decode(body)))

    bodies = list(hold_bodies([(body,) for body in index.mend(read)]))
    index.remembered.count(sum(len(body) for (body,) in bodies))
    return [index.decode(body) for (body,) in bodies]


def count_comments(index: Index, where: str, values: Sequence[object] = ()) -> int:
    """Returns for how many comments a condition holds."""
    return _count(index, "count(*)", where, values)


def count_holders(index: Index, where: str) -> int:
    """Returns how many files hold a comment for which a condition holds."""
    return _count(index, "count(DISTINCT path)", where, ())


def _count(index: Index, what: str, where: str, values: Sequence[object]) -> int:
    """Returns a number."""
    sentence = f"SELECT {what} FROM note WHERE ({where}) AND {SHOWN}"  # noqa: S608 - as in rows
    return index.remember(sentence, values)[0][0]


def count_files(index: Index, where: str, values: Sequence[object] = ()) -> list[tuple[str, int]]:
    """Returns the files whose code has comments for which a condition holds, in order, each with how many."""
    sentence = f"SELECT now_path, count(*) FROM note WHERE ({where}) AND {SHOWN} GROUP BY now_path ORDER BY now_path"  # noqa: S608 - as in rows
    return [(path, count) for path, count in index.remember(sentence, values)]
