"""Comments a page at a time, and how many there are: what a resource answers."""

from __future__ import annotations

from collections.abc import Sequence

from postil.comments.index.cache import SHOWN, Index, hold_bodies
from postil.comments.model import Located


def read_page(
    index: Index, where: str, values: Sequence[object], after: tuple[str, int], most: int, most_bytes: int
) -> tuple[list[Located], tuple[str, int] | None]:
    """Returns comments for which a condition holds, from a place on, and the place of the last if there are more.

    No more than so many, and no more bytes than so many unless one comment alone has them.
    """
    sentence = (
        f"SELECT path, place, body FROM note JOIN body USING (seq) "  # noqa: S608 - as in rows
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


def count_comments(index: Index, where: str, values: Sequence[object] = ()) -> int:
    """Returns for how many comments a condition holds."""
    return index.select(f"SELECT count(*) FROM note WHERE ({where}) AND {SHOWN}", values)[0][0]  # noqa: S608 - as in rows


def count_holders(index: Index, where: str) -> int:
    """Returns how many files hold a comment for which a condition holds."""
    return index.select(f"SELECT count(DISTINCT path) FROM note WHERE ({where}) AND {SHOWN}")[0][0]  # noqa: S608 - as in rows
