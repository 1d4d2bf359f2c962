"""Comments a page at a time, and how many there are: what a resource answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import nsmallest
from itertools import count, islice
from typing import Any

from msgspec.json import encode

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

    def read() -> tuple[list[Located], tuple[str, int] | None]:
        found: list[Located] = []
        size, last = 0, after
        with index.using() as db:
            for path, place, body in hold_bodies(db.execute(sentence, (*values, *after))):
                size += len(body)
                if found and (len(found) == most or size > most_bytes):
                    return found, last
                last = (path, place)
                found.append(index.decode(body))
        return found, None

    return index.mend(read)


def read_numbered(
    index: Index, where: str, values: Sequence[object], first: int, most: int, most_bytes: int
) -> list[Located]:
    """Returns comments for which a condition holds, from so many of them on."""
    sentence = (
        f"SELECT body FROM note JOIN body USING (seq) "  # noqa: S608 - as in rows
        f"WHERE ({where}) AND {SHOWN} ORDER BY path, place LIMIT ? OFFSET ?"
    )

    def read() -> list[Located]:
        with index.using() as db:
            rows = hold_bodies(db.execute(sentence, (*values, most, first)))
            return cut_page((index.decode(body) for (body,) in rows), 0, most, most_bytes)

    return index.mend(read)


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
    index: Index, where: str, values: Sequence[object], order: Callable[[Located], Any], limit: int, skip: int = 0
) -> list[Located]:
    """Returns the first comments in an order for which a condition holds, but for so many: each is looked at alone."""
    sentence = f"SELECT seq, body FROM note JOIN body USING (seq) WHERE ({where}) AND {SHOWN} ORDER BY path, place"  # noqa: S608 - as in rows

    def read() -> list[bytes]:
        with index.using() as db:
            rows = ((order(index.decode(body)), seq) for seq, body in db.execute(sentence, tuple(values)))
            found = [seq for _, seq in nsmallest(skip + limit, rows)[skip:]]
            named = "SELECT seq, body FROM body WHERE seq IN (SELECT value FROM json_each(?))"
            bodies = dict[int, bytes](db.execute(named, (encode(found).decode(),)))
            return [bodies[seq] for seq in found]

    bodies = list(hold_bodies([(body,) for body in index.mend(read)]))
    index.remembered.count(sum(len(body) for (body,) in bodies))
    return [index.decode(body) for (body,) in bodies]


def keep_page(
    read: Callable[[], Iterator[Located]], order: Callable[[Located], tuple[Any, ...]], skip: int, limit: int
) -> tuple[int, list[Located]]:
    """Returns how many comments are read, and of the first in an order those behind so many: no others are held.

    The order begins with the file. Where some are skipped all are read three times, and of those before the page only
    the places in one file are held.
    """
    if not skip:
        counted = count()
        first = nsmallest(limit, (each for each, _ in zip(read(), counted, strict=False)), key=order)
        return next(counted), first
    files = sorted(Counter(order(each)[0] for each in read()).items())
    total, chosen, before = choose_files(files, skip, limit)

    def read_chosen() -> Iterator[tuple[int, Located]]:
        return enumerate(each for each in read() if order(each)[0] in chosen)

    places = nsmallest(before + limit, ((order(each), number) for number, each in read_chosen()))
    page = {number for _, number in places[before:]}
    return total, sorted((each for number, each in read_chosen() if number in page), key=order)


def choose_files(files: Iterable[tuple[str, int]], skip: int, limit: int) -> tuple[int, list[str], int]:
    """Returns how many comments files have, in which of them a page is, and how many of these files come before it."""
    total, passed, chosen = 0, 0, list[str]()
    for path, number in files:
        if total + number <= skip:
            passed += number
        elif total < skip + limit:
            chosen.append(path)
        total += number
    return total, chosen, skip - passed


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
