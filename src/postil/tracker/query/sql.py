"""From the tree of a question to a condition over the tables of the index (`index/tables.py` has them).

No database is opened.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from postil.tracker.query.tree import FIELDS, All, Any, Compare, Node, Not, parse_ago, parse_stamp
from postil.tracker.text import format_moment
from postil.tracker.vocabulary import STATUSES, rank_priority

if TYPE_CHECKING:
    import sqlite3


class Condition(NamedTuple):
    """A piece of SQL over `ent`, its values, and whether it needs the table of words."""

    sql: str
    values: tuple[str | int, ...] = ()
    needs_words: bool = False


_EVERYTHING = Condition("1")
_COLUMN = {
    "title": "title",
    "author": "author",
    "claimed_by": "claim_who",
    "comments": "comments",
    "conflicts": "conflicts",
    "type": "type",
}
_SET_TABLE = {"labels": "label", "assignee": "assignee"}
_MOMENT = {"created_at": "created", "updated_at": "updated"}


class QueryContext(NamedTuple):
    """What a question refers to beyond itself: the time that `7d` counts from, milestones, statuses."""

    now: datetime.datetime
    milestones: Callable[[str], list[str]]
    has_status: Callable[[str], bool] = lambda _: False
    """Whether any entity has a status that this version does not know."""
    me: Callable[[], tuple[str, ...]] = tuple
    """The names that the one who asks goes by, the author's of new events first."""


def compile_condition(node: Node, around: QueryContext, whole: bool = True) -> Condition:
    """Returns the condition that holds for exactly the entities the tree asks for; a part of it is not `whole`."""
    if isinstance(node, Not):
        inner = compile_condition(node.item, around, False)
        return inner._replace(sql=f"NOT ({inner.sql})")
    if isinstance(node, All):
        parts = [compile_condition(item, around, whole) for item in node.items]
        if whole and any(_asks_for_status(item) for item in node.items):
            parts.append(Condition("status <> 'closed'"))  # it follows already; said so, SQLite uses `ent_status`
        return _join(parts, " AND ") if parts else _EVERYTHING
    if isinstance(node, Any):
        return _join([compile_condition(item, around, False) for item in node.items], " OR ")
    return _compile_comparison(node, around)


def _asks_for_status(node: Node) -> bool:
    return isinstance(node, Compare) and (node.field, node.op) == ("status", "=") and node.values[0] != "closed"


def restrict(tree: Node, kind: str | None, include_closed: bool) -> Node:
    """Returns the tree, for one kind of entity and without what is closed."""
    parts: list[Node] = []
    if kind is not None:
        parts.append(Compare("kind", "=", (kind,)))
    if not include_closed:
        parts.append(Compare("status", "!=", ("closed",)))
    return All((*parts, tree)) if parts else tree


def find_milestones(db: sqlite3.Connection, name: str) -> list[str]:
    """Returns the ids of the milestones meant: by title, or by the beginning of the id."""
    found = db.execute(
        "SELECT id FROM ent WHERE kind = 'milestone' AND (title = ? OR (length(?) >= 4 AND substr(id, 1, ?) = ?))",
        (name, name, len(name), name.lower()),
    )
    return [row[0] for row in found]


def has_status(db: sqlite3.Connection, status: str) -> bool:
    """Returns whether any entity has this status."""
    sql = "SELECT 1 FROM ent WHERE kind IN ('issue', 'milestone') AND status = ? AND status <> 'closed' LIMIT 1"
    return db.execute(sql, (status,)).fetchone() is not None


def _join(parts: list[Condition], word: str) -> Condition:
    return Condition(
        word.join(f"({part.sql})" for part in parts),
        tuple(value for part in parts for value in part.values),
        any(part.needs_words for part in parts),
    )


def _compile_comparison(node: Compare, around: QueryContext) -> Condition:
    if node.field not in _PEOPLE or _ME not in node.values or (node.op not in ("=", "!=", "in", "contains")):
        return _compile_values(node, around)
    if node.op == "contains" and node.field != "assignee":  # a part of a name
        return _compile_values(node, around)
    names = around.me()[:1] if node.field == "author" else around.me()
    if node.op in ("in", "!="):
        return _compile_values(node._replace(values=(*node.values, *names)), around)
    mine = _compile_values(node._replace(op="in", values=(_ME, *names)), around)
    others = tuple(value for value in node.values if value != _ME)
    return _join([mine, _compile_values(node._replace(values=others), around)], " AND ") if others else mine


_PEOPLE = ("assignee", "author", "claimed_by")
_ME = "me"


def _compile_values(node: Compare, around: QueryContext) -> Condition:
    kind, field = FIELDS[node.field][0], node.field
    if node.fault and not all(value in STATUSES or around.has_status(value) for value in node.values):
        raise node.fault
    if kind == "set":
        return _compile_set(node)
    if kind == "moment":
        return _compile_moment(node, around.now)
    if kind == "flag":
        wanted = (node.values[0] == "true") == (node.op == "=")
        return Condition("comments > 0" if wanted else "comments = 0")
    if kind == "number":
        if node.op == "in":
            return Condition(f"{_COLUMN[field]} IN ({_write_marks(node)})", tuple(int(value) for value in node.values))
        return Condition(f"{_COLUMN[field]} {node.op} ?", (int(node.values[0]),))
    if kind == "priority":
        return _compile_priority(node)
    # For these, several values are alternatives, and != means none of them; the other operators take the first.
    values = node.values if node.op in ("in", "!=") else node.values[:1]
    matches = _join([_compile_value(kind, field, node.op, value, around) for value in values], " OR ")
    return matches._replace(sql=f"NOT ({matches.sql})") if node.op == "!=" else matches


def _compile_value(kind: str, field: str, op: str, value: str, around: QueryContext) -> Condition:
    if kind == "words":
        # Asked of each row that the rest leaves: `n IN (…)` would read every text before the first row is known.
        sql = "EXISTS (SELECT 1 FROM words WHERE words.n = ent.n AND instr(text, ?))"
        return Condition(sql, (value.casefold(),), needs_words=True)
    if kind in ("status", "kind"):
        return Condition(f"{kind} = ?", (value,))
    if kind == "prefix":
        return Condition("substr(id, 1, ?) = ?", (len(value), value))
    if kind == "milestone":
        if value.lower() in ("", "none"):
            return Condition("milestone = ''")
        ids = around.milestones(value)
        # As one value: there may be more of one title than a statement may have values.
        from msgspec.json import encode  # the list without a filter starts without it

        return Condition("milestone IN (SELECT value FROM json_each(?))", (encode(ids).decode(),))
    column = _COLUMN[field]
    if op == "contains":
        return Condition(f"instr({column}, ?) > 0", (value,))
    if op == "~":
        found = f"instr(casefold({column}), ?) > 0"
        if value.isascii():  # then Python is asked only where other letters are: `Straße` is found by `strasse`
            others = f"length(CAST({column} AS BLOB)) > length({column})"
            return Condition(f"(instr(lower({column}), ?) > 0 OR {others} AND {found})", (value.casefold(),) * 2)
        return Condition(found, (value.casefold(),))
    if kind == "person":
        # "Name <mail>" answers to the whole, to the name and to the address.
        return Condition(
            "(author = ? OR substr(author, 1, ?) = ? OR substr(author, ?) = ?)",
            (value, len(value) + 2, f"{value} <", -len(value) - 2, f"<{value}>"),
        )
    return Condition(f"{column} = ?", (value,))


_TURNED = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}


def _compile_priority(node: Compare) -> Condition:
    """The most urgent has the lowest rank, and `priority > low` means more urgent than low."""
    ranks = tuple(rank_priority(value) for value in node.values)
    if node.op in ("in", "!="):
        return Condition(f"priority {'NOT ' * (node.op == '!=')}IN ({_write_marks(node)})", ranks)
    return Condition(f"priority {_TURNED.get(node.op, node.op)} ?", ranks[:1])


def _compile_set(node: Compare) -> Condition:
    table = _SET_TABLE[node.field]
    # Not correlated on purpose: SQLite then may walk the (few) bearers of a rare label instead of all issues.
    has = f"n IN (SELECT n FROM {table} WHERE name = ?)"
    if node.values == ("",):
        empty = f"n NOT IN (SELECT n FROM {table})"
        return Condition(empty if node.op in ("=", "contains", "in") else f"NOT ({empty})")
    if node.op == "in":
        return Condition(f"n IN (SELECT n FROM {table} WHERE name IN ({_write_marks(node)}))", node.values)
    if node.op == "!=":
        return Condition(f"n NOT IN (SELECT n FROM {table} WHERE name IN ({_write_marks(node)}))", node.values)
    return Condition(" AND ".join(has for _ in node.values), node.values)


def _compile_moment(node: Compare, now: datetime.datetime) -> Condition:
    value, op = node.values[0], node.op
    if node.field == "due":
        # Without a due date no comparison holds, except that it is not the one asked for.
        inner = f"substr(due, 1, ?) {op} ?"
        length = min(len(value), 10)
        ago = parse_ago(value)
        if ago is not None:
            value, length = (now - datetime.timedelta(seconds=ago)).date().isoformat(), 10
        return Condition(f"(due <> '' AND {inner})" if op != "!=" else inner, (length, value[:length]))
    name = _MOMENT[node.field]
    stamp = parse_stamp(value)
    if stamp is not None:
        return Condition(f"({name}_l, {name}_r) {op} (?, ?)", stamp)
    ago = parse_ago(value)
    if ago is not None:
        return Condition(f"{name}_ts {op} ?", (format_moment(now - datetime.timedelta(seconds=ago)),))
    if len(value) <= 10:
        return Condition(f"substr({name}_ts, 1, ?) {op} ?", (len(value), value))
    exact = format_moment(datetime.datetime.fromisoformat(value.replace(" ", "T")))
    return Condition(f"{name}_ts {op} ?", (exact,))


def _write_marks(node: Compare) -> str:
    return ", ".join("?" * len(node.values))
