"""The columns of the board and the cards in them, read from the index: by status, by label or by milestone.

A column reads a bounded number of cards and counts the rest. What a move between two columns writes is `moves.py`'s.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Literal, NamedTuple

from postil.tracker.index.tables import COLUMNS, Row
from postil.tracker.query.parse import parse
from postil.tracker.query.sql import Condition, QueryContext, compile_condition, find_milestones, has_status
from postil.tracker.query.tree import QueryFault
from postil.tracker.text import LONGEST_CLAIM, flatten, format_moment
from postil.tracker.validation import translate_fault
from postil.tracker.vocabulary import NO_PRIORITY, PRIORITIES, STATUSES

if TYPE_CHECKING:
    from postil.tracker.issues import Issues

By = Literal["status", "label", "milestone"]
IN_PROGRESS = "in progress"
"""The column of open issues that somebody has claimed; no status is called so."""
MOST_CARDS = 200
_MOST_LABELS = 6
_MOST_MILESTONES = 12
_LONGEST = 400
"""Letters of a title that are looked at: no terminal is wider."""


class Card(NamedTuple):
    """An issue on the board."""

    id: str
    short: str
    title: str
    facts: str
    """Priority, who works on it, when it is due: in few words."""


class Lane(NamedTuple):
    """A column: what it stands for, its head, its first cards and how many it has."""

    key: str
    head: str
    cards: tuple[Card, ...]
    total: int


_URGENT = "priority, due = '', due, created_l, id"
_NOT_CLOSED = "(status < 'closed' OR status > 'closed')"
"""As two ranges, which the index of statuses answers; `<>` would read what is closed too."""


class _Asked(NamedTuple):
    key: str
    head: str
    where: str
    values: tuple[str | int, ...]
    order: str = _URGENT


def read_lanes(
    issues: Issues, by: By, names: Sequence[str] = (), filter_: str = "", most: int = MOST_CARDS
) -> list[Lane]:
    """Returns the columns, each with its first cards. Raises InvalidParams for a filter that cannot be asked."""
    store = issues.refresh()
    index, now = store.index, store.now()
    with index.lock:
        try:
            around = QueryContext(
                now, partial(find_milestones, index.db), partial(has_status, index.db), issues.name_writer
            )
            wanted = compile_condition(parse(filter_ or None).tree, around)
        except QueryFault as fault:
            raise translate_fault(fault) from None
        if wanted.needs_words:
            index.need_words()
        if by == "label":
            return _read_labels(issues, names, wanted, most)
        choose = {"status": _ask_statuses, "milestone": _ask_milestones}[by]
        return [_read_lane(issues, asked, wanted, most) for asked in choose(issues, names, now)]


def _read_lane(issues: Issues, asked: _Asked, wanted: Condition, most: int) -> Lane:
    query = issues.store.index.query
    where = f"kind = 'issue' AND ({asked.where}) AND ({wanted.sql})"
    values = (*asked.values, *wanted.values)
    found = [
        Row(*row)
        for row in query(f"SELECT {COLUMNS} FROM ent WHERE {where} ORDER BY {asked.order} LIMIT {most}", values)
    ]
    total = len(found)
    if total == most:
        ((total,),) = query(f"SELECT count(*) FROM ent WHERE {where}", values)
    short = issues.shorten(row.id for row in found)
    return Lane(asked.key, asked.head, tuple(_make_card(row, short[row.id], asked.key) for row in found), total)


def _make_card(row: Row, short: str, lane: str) -> Card:
    facts = [PRIORITIES[row.priority]] if row.priority < NO_PRIORITY else []
    facts += [row.type[:20]] if row.type else []
    facts += [f"@{row.claim_who[:40]}"] if lane == IN_PROGRESS else []
    facts += [f"due {row.due[:10]}"] if row.due else []
    facts += [f"{row.comments} comment{'s' * (row.comments > 1)}"] if row.comments else []
    return Card(row.id, short, flatten(row.title[:_LONGEST]), flatten(" · ".join(facts)))


def _ask_statuses(issues: Issues, names: Sequence[str], now: datetime.datetime) -> list[_Asked]:
    """Returns a column a status; what is open and claimed stands in one of its own."""
    latest = format_moment(now + LONGEST_CLAIM + datetime.timedelta(days=1))
    held = "claim_who <> '' AND claim_until > ? AND claim_until <= ?"
    times = (format_moment(now), latest)
    known = {
        "draft": _Asked("draft", "draft", "status = 'draft'", ()),
        "open": _Asked("open", "open", f"status = 'open' AND NOT ({held})", times),
        IN_PROGRESS: _Asked(IN_PROGRESS, IN_PROGRESS, f"status = 'open' AND {held}", times),
        "closed": _Asked("closed", "closed", "status = 'closed'", (), "updated_l DESC, id"),
    }
    marks = ", ".join("?" * len(STATUSES))
    sql = f"SELECT DISTINCT status FROM ent WHERE kind = 'issue' AND status NOT IN ({marks}) ORDER BY status LIMIT 8"
    for (status,) in issues.store.index.query(sql, STATUSES):  # of a later version: shown as it is
        known[status] = _Asked(status, flatten(status[:_LONGEST]), "status = ?", (status,))
    return [known[name] for name in names if name in known] or list(known.values())


def _read_labels(issues: Issues, names: Sequence[str], wanted: Condition, most: int) -> list[Lane]:
    """Returns a column a label, those named or else the most used ones, and one for what has none of them.

    All columns are read in one pass over the open issues: a question a column would look at each issue many times.
    """
    query = issues.store.index.query
    if not names:
        sql = "SELECT name FROM label GROUP BY name ORDER BY count(*) DESC, name LIMIT ?"  # of all: far quicker
        names = sorted(name for (name,) in query(sql, (_MOST_LABELS,)))
    known = dict.fromkeys(names)
    first: dict[str, list[int]] = {"": [], **{name: [] for name in known}}
    totals = dict.fromkeys(first, 0)
    lanes_of: dict[str, tuple[str, ...]] = {}
    sql = f"SELECT n, labels FROM ent WHERE kind = 'issue' AND {_NOT_CLOSED} AND ({wanted.sql}) ORDER BY {_URGENT}"
    for n, labels in query(sql, wanted.values):
        lanes = lanes_of.get(labels)
        if lanes is None:
            borne = set(labels.split("\n")) if labels else set[str]()
            lanes = lanes_of[labels] = tuple(name for name in known if name in borne) or ("",)
        for name in lanes:
            totals[name] += 1
            if totals[name] <= most:
                first[name].append(n)
    shown = dict.fromkeys(n for some in first.values() for n in some)
    sql = f"SELECT {COLUMNS} FROM ent WHERE n IN (SELECT value FROM json_each(?))"  # more than values of a statement
    rows = {row[0]: Row(*row) for row in query(sql, (str(list(shown)),))}
    short = issues.shorten(row.id for row in rows.values())
    heads = {"": "others" if known else "no label", **{name: flatten(name[:_LONGEST]) for name in known}}
    return [
        Lane(name, head, tuple(_make_card(rows[n], short[rows[n].id], name) for n in first[name]), totals[name])
        for name, head in heads.items()
    ]


def _ask_milestones(issues: Issues, names: Sequence[str], now: datetime.datetime) -> list[_Asked]:
    """Returns a column a milestone, those named or else the open ones by due date, and one for what has none."""
    query = issues.store.index.query
    if names:
        found = [(id_, name) for name in names for id_ in find_milestones(issues.store.index.db, name)]
    else:
        sql = (
            "SELECT id, title FROM ent WHERE kind = 'milestone' AND status <> 'closed'"
            " ORDER BY due = '', due, title, id LIMIT ?"
        )
        found = query(sql, (_MOST_MILESTONES,))
    open_ = f"{_NOT_CLOSED} AND milestone = ?"
    lanes = [_Asked(id_, flatten(title[:_LONGEST]), open_, (id_,)) for id_, title in found]
    return [_Asked("", "no milestone", open_, ("",)), *lanes]
