"""The order of a list, and the cursor that goes on after a row without repeating or skipping one."""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from typing import NamedTuple

from postil.tracker.query.tree import ALIASES, FIELDS, QueryFault, suggest

SORTABLE = {
    "updated_at": "updated_l",
    "created_at": "created_l",
    "title": "title",
    "status": "status",
    "kind": "kind",
    "author": "author",
    "milestone": "milestone",
    "due": "due",
    "comments": "comments",
    "conflicts": "conflicts",
    "has_comments": "comments > 0",
    "claimed_by": "claim_who",
    "id": "id",
    "priority": "priority",
    "type": "type",
}
"""Field → what of a row is compared."""

Value = str | int


class Key(NamedTuple):
    """One key of an order."""

    column: str
    descending: bool


class Cursor(NamedTuple):
    """Where a page ended: the question, the index and its generation at the first page, and the last row's keys."""

    question: str
    epoch: str
    generation: int
    after: tuple[Value, ...]


DEFAULT_ORDER = (Key("updated_l", True), Key("id", True))
URGENCY = "urgency"
"""A word for a whole order: the most urgent first, of those what is due soonest, then the oldest."""
_URGENT_FIRST = tuple(Key(column, False) for column in ("priority", "due = ''", "due", "created_l", "id"))


def parse_order(sort: Sequence[str]) -> tuple[Key, ...]:
    """Returns the keys of `field[:asc|desc]` words; the id comes last, so the order is total."""
    if tuple(sort) == (URGENCY,):
        return _URGENT_FIRST
    keys: list[Key] = []
    for position, word in enumerate(sort):
        name, colon, direction = word.partition(":")
        lowered = ALIASES.get(name.strip().lower(), name.strip().lower())
        if lowered not in SORTABLE:
            if lowered in FIELDS:
                raise QueryFault(f"field `{name}` does not support sorting", None, f"sortable: {', '.join(SORTABLE)}")
            raise QueryFault(
                f"unknown field `{name}` in sort key {position + 1}",
                None,
                suggest(lowered, [*SORTABLE, "updated", "created"]),
            )
        if colon and direction.strip().lower() not in ("asc", "desc"):
            raise QueryFault(f"unknown direction `{direction}` in sort key `{word}`", None, "use asc or desc")
        keys.append(Key(SORTABLE[lowered], direction.strip().lower() == "desc"))
    if not keys:
        return DEFAULT_ORDER
    return (*keys, Key("id", keys[-1].descending))


def _write_order(keys: Sequence[Key]) -> str:
    """Returns the ORDER BY of an order."""
    return ", ".join(f"{key.column} {'DESC' if key.descending else 'ASC'}" for key in keys)


def build_select(columns: str, keys: Sequence[Key], where: str, limit: int, offset: int = 0) -> str:
    """Returns the statement for a page: the keys of each row, then its columns."""
    return (
        f"SELECT {', '.join(key.column for key in keys)}, {columns} FROM ent WHERE {where}"
        f" ORDER BY {_write_order(keys)} LIMIT {limit:d} OFFSET {offset:d}"
    )


def build_after(keys: Sequence[Key], after: Sequence[Value]) -> tuple[str, tuple[Value, ...]]:
    """Returns the condition of coming after a row in an order."""
    if len({key.descending for key in keys}) == 1:
        # A row comparison can use an index; the general form below cannot.
        sign = "<" if keys[0].descending else ">"
        names = ", ".join(key.column for key in keys)
        return f"({names}) {sign} ({', '.join('?' * len(keys))})", tuple(after)
    parts: list[str] = []
    values: list[Value] = []
    for i, key in enumerate(keys):
        same = [f"{other.column} = ?" for other in keys[:i]]
        parts.append("(" + " AND ".join([*same, f"{key.column} {'<' if key.descending else '>'} ?"]) + ")")
        values += [*after[:i], after[i]]
    return "(" + " OR ".join(parts) + ")", tuple(values)


def hash_question(*parts: object) -> str:
    """Returns what a cursor is bound to: the same question again, or it is refused."""
    text = repr(parts).encode()
    # Against mistakes, not against forgers: a cursor tells nobody anything. hashlib would cost 5 ms of every list.
    return f"{zlib.crc32(text):08x}{zlib.adler32(text):08x}"


def write_cursor(cursor: Cursor) -> str:
    """Returns the opaque text of a cursor."""
    import base64  # only a list with another page pays for it
    import json

    text = json.dumps(cursor, separators=(",", ":"), ensure_ascii=False)
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def read_cursor(text: str, question: str, keys: Sequence[Key]) -> Cursor | int:
    """Returns the cursor of a text; a bare `N` or `G:N`, as the old program wrote them, is an offset."""
    if found := re.fullmatch(r"(?:\d{1,18}:)?(\d{1,9})", text):
        return int(found[1])
    import base64

    import msgspec

    try:
        raw = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        cursor = msgspec.json.decode(raw, type=Cursor)
    except (ValueError, RecursionError):
        raise QueryFault(f"invalid cursor `{text[:80]}`", None, "pass nextCursor as it was given") from None
    # base64 ignores stray bits; only the very text that was given is accepted.
    if write_cursor(cursor) != text or len(cursor.after) != len(keys):
        raise QueryFault(f"invalid cursor `{text[:80]}`", None, "pass nextCursor as it was given")
    if cursor.question != question:
        raise QueryFault(
            "invalid cursor: it belongs to another filter, sort or entity", None, "repeat the first call's arguments"
        )
    return cursor
