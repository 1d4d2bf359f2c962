"""The tree of a question, the fields it may ask about, and how a mistake in it is told.

The three syntaxes (`infix.py`, `sexpr.py`, `git_bug.py`) all build this tree through `compare`, so a field means the
same in each; `sql.py` turns the tree into a condition. Nothing here reads a database. Named tuples, not structs:
`git mile list` is done before msgspec would be imported.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from postil.tracker.vocabulary import KINDS, PRIORITIES, STATUSES


class QueryFault(Exception):
    """A question that cannot be asked: what is wrong, where (offset from 0), and what was probably meant."""

    def __init__(self, message: str, position: int | None = None, suggestion: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.position = position
        self.suggestion = suggestion

    def __str__(self) -> str:
        where = "" if self.position is None else f" at position {self.position}"
        hint = "" if self.suggestion is None else f"; {self.suggestion}"
        return f"{self.message}{where}{hint}"


class All(NamedTuple):
    """Every one of these (of none: everything)."""

    items: tuple[Node, ...] = ()
    means: str = "all"


class Any(NamedTuple):
    """At least one of these."""

    items: tuple[Node, ...]
    means: str = "any"


class Not(NamedTuple):
    """The opposite."""

    item: Node
    means: str = "not"


class Compare(NamedTuple):
    """One field against values."""

    field: str
    op: str
    values: tuple[str, ...]
    fault: QueryFault | None = None
    """What is wrong with it, unless the tracker has such a value: a status of a later version."""


Node = All | Any | Not | Compare

OPERATORS = {
    "=": "Eq",
    "!=": "Ne",
    ">": "GreaterThan",
    "<": "LessThan",
    ">=": "GreaterOrEqual",
    "<=": "LessOrEqual",
    "in": "In",
    "contains": "Contains",
    "~": "Matches",
}
"""Operator → the name by which messages call it."""

_EQUALITY = ("=", "!=", "in")
_TEXT = (*_EQUALITY, "contains", "~")
_ORDER = ("=", "!=", ">", "<", ">=", "<=")

FIELDS: dict[str, tuple[str, tuple[str, ...]]] = {
    "title": ("text", _TEXT),
    "author": ("person", _TEXT),
    "text": ("words", ("contains", "~", "=")),
    "id": ("prefix", _EQUALITY),
    "kind": ("kind", _EQUALITY),
    "status": ("status", _EQUALITY),
    "milestone": ("milestone", _EQUALITY),
    "labels": ("set", ("contains", "=", "!=", "in")),
    "assignee": ("set", ("contains", "=", "!=", "in")),
    "claimed_by": ("text", _TEXT),
    "created_at": ("moment", _ORDER),
    "updated_at": ("moment", _ORDER),
    "due": ("moment", _ORDER),
    "comments": ("number", (*_ORDER, "in")),
    "conflicts": ("number", (*_ORDER, "in")),
    "has_comments": ("flag", ("=", "!=")),
    "priority": ("priority", (*_ORDER, "in")),
    "type": ("text", _TEXT),
}
"""Field → (kind of value, operators)."""

ALIASES = {
    "created": "created_at",
    "updated": "updated_at",
    "label": "labels",
    "assignees": "assignee",
    "comment_count": "comments",
    "claimed": "claimed_by",
    "creation": "created_at",
    "edit": "updated_at",
}

# Texts, which are compiled when one is needed: most lists need none.
_DATE = r"\d{4}(-\d{2}(-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?(Z|[+-]\d{2}:?\d{2})?)?)?)?\Z"
_AGO = r"(\d{1,4})(h|d|w)\Z"
_STAMP = r"(\d{1,15})@(\S*)\Z"
TRUE_WORDS, FALSE_WORDS = ("true", "1", "yes", "on"), ("false", "0", "no", "off")


def find_field(name: str, position: int | None = None) -> str:
    """Returns the field meant by a name."""
    lowered = name.lower()
    known = ALIASES.get(lowered, lowered)
    if known not in FIELDS:
        raise QueryFault(f"unknown field `{name}`", position, suggest(lowered, [*FIELDS, *ALIASES]))
    return known


def is_nearly_field(word: str) -> bool:
    """Returns whether a word is a field's name, or nearly: then a question about it was begun and not ended."""
    return word in FIELDS or word in ALIASES or suggest(word, [*FIELDS, *ALIASES]).startswith("did you mean")


def compare(name: str, op: str, values: Sequence[str], position: int, value_position: int | None = None) -> Compare:
    """Returns a checked comparison."""
    field = find_field(name, position)
    kind, operators = FIELDS[field]
    if op not in operators:
        raise QueryFault(
            f"operator `{OPERATORS[op]}` not allowed for field `{name}`",
            position,
            f"use one of {' '.join(operators)}",
        )
    if not values:
        raise QueryFault(
            f"comparison operator `{OPERATORS[op]}` requires at least one value", value_position, f"{name} {op} …"
        )
    at = position if value_position is None else value_position
    unknown = [value for value in values if kind == "status" and value.lower() not in STATUSES]
    fault = QueryFault(f"unknown status `{unknown[0]}`", at, suggest(unknown[0].lower(), STATUSES)) if unknown else None
    return Compare(field, op, tuple(_check_value(field, kind, value, at) for value in values), fault)


def suggest(word: str, choices: Iterable[str]) -> str:
    """Returns a did-you-mean, or the list of what there is."""
    listed = list(dict.fromkeys(choices))
    begun = [choice for choice in listed if len(word) > 2 and choice.startswith(word)]
    best = min(begun or listed, key=lambda choice: (_count_edits(word, choice), choice), default="")
    if best and (begun or _count_edits(word, best) <= max(1, len(word) // 3)):
        return f"did you mean `{best}`?"
    return f"known: {', '.join(choice for choice in listed if choice not in ALIASES)}"


def _check_value(field: str, kind: str, value: str, position: int) -> str:
    lowered = value.lower()
    if kind == "status" and lowered not in STATUSES:
        return value
    if kind == "kind" and lowered not in KINDS:
        raise QueryFault(f"unknown kind `{value}`", position, suggest(lowered, KINDS))
    if kind == "priority" and lowered not in (*PRIORITIES, "none"):
        raise QueryFault(f"unknown priority `{value}`", position, suggest(lowered, (*PRIORITIES, "none")))
    if kind in ("status", "kind", "priority"):
        return lowered
    if kind == "flag":
        if lowered not in TRUE_WORDS + FALSE_WORDS:
            raise QueryFault(f"`{value}` is neither true nor false", position, "use true or false")
        return "true" if lowered in TRUE_WORDS else "false"
    if kind == "number" and not re.fullmatch(r"\d{1,9}", value):
        raise QueryFault(f"`{value}` is not a number", position, f"{field} takes a whole number")
    if kind == "prefix" and not re.fullmatch(r"#?[0-9a-fA-F-]{1,36}", value):
        raise QueryFault(f"`{value}` is not the beginning of an id", position, "ids are made of 0-9, a-f and -")
    if kind == "prefix":
        return lowered.removeprefix("#")
    if kind == "moment" and not (re.match(_DATE, value) or re.match(_AGO, value) or re.match(_STAMP, value)):
        raise QueryFault(
            f"`{value}` is not a moment", position, "write 2024-10-25, 2024-10-25T09:17:00Z, 7d (ago) or 12@replica"
        )
    return value


def parse_stamp(value: str) -> tuple[int, str] | None:
    """Returns the (counter, replica) of a clock literal."""
    found = re.match(_STAMP, value)
    return (int(found[1]), found[2]) if found else None


def parse_ago(value: str) -> int | None:
    """Returns the seconds of `7d`, `12h`, `2w`."""
    found = re.match(_AGO, value)
    return int(found[1]) * {"h": 3600, "d": 86400, "w": 604800}[found[2]] if found else None


def _count_edits(one: str, two: str) -> int:
    """Edits between two words, a swap of neighbours counting as one."""
    rows = [list(range(len(two) + 1))]
    for i, a in enumerate(one, 1):
        row = [i]
        for j, b in enumerate(two, 1):
            cost = min(rows[-1][j] + 1, row[-1] + 1, rows[-1][j - 1] + (a != b))
            if i > 1 and j > 1 and a == two[j - 2] and one[i - 2] == b:
                cost = min(cost, rows[-2][j - 2] + 1)
            row.append(cost)
        rows.append(row)
    return rows[-1][-1]
