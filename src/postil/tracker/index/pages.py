"""Lists: a page of entities for a question.

And a cursor after which nothing is repeated or skipped while others write.

A cursor remembers the generation of the index at the first page. Entities that changed since are judged as they
were then, so the listing as a whole is the one that stood at its beginning.
"""

from __future__ import annotations

import datetime
import sqlite3
from collections.abc import Callable, Sequence
from functools import partial
from operator import itemgetter

import msgspec

from postil.tracker.index.db_files import connect
from postil.tracker.index.index import Index
from postil.tracker.index.rows import write_entity, write_words
from postil.tracker.index.tables import COLUMNS, TABLES, Row, create_tables, read_meta
from postil.tracker.query.order import (
    Cursor,
    Key,
    Value,
    build_after,
    build_select,
    hash_question,
    parse_order,
    read_cursor,
    write_cursor,
)
from postil.tracker.query.parse import parse
from postil.tracker.query.sql import Condition, QueryContext, compile_condition, find_milestones, has_status, restrict
from postil.tracker.query.tree import All, Compare
from postil.tracker.state.fold import fold_lines

DEFAULT_LIMIT = 50
LARGEST_LIMIT = 1000


class Page(msgspec.Struct, frozen=True):
    """Some rows, and how to go on."""

    rows: list[Row]
    next_cursor: str | None
    generation: int


def read_page(
    index: Index,
    kind: str | None,
    filter_: str | None,
    sort: Sequence[str],
    limit: int,
    cursor: str | None,
    include_closed: bool,
    now: datetime.datetime,
    labels: Sequence[str] = (),
    me: Callable[[], tuple[str, ...]] = tuple,
) -> Page:
    """Returns a page of a list. Raises QueryFault for what cannot be asked."""
    question = parse(filter_)
    keys = parse_order(sort or question.sort)
    bound = hash_question(kind, "\n".join([filter_ or "", *labels]), tuple(sort), include_closed)
    if labels:
        question = question._replace(tree=All((question.tree, Compare("labels", "contains", tuple(labels)))))
    at = read_cursor(cursor, bound, keys) if cursor is not None else 0
    with index.lock:
        db = index.db
        around = QueryContext(now, partial(find_milestones, db), partial(has_status, db), me)
        wanted = compile_condition(restrict(question.tree, kind, include_closed), around)
        if wanted.needs_words:
            index.need_words()
        return _read_snapshot(index, keys, wanted, limit, at, bound)


def select_past(
    db: sqlite3.Connection,
    kind: str | None,
    filter_: str | None,
    sort: Sequence[str],
    limit: int,
    include_closed: bool,
    labels: Sequence[str],
    now: datetime.datetime,
    me: Callable[[], tuple[str, ...]] = tuple,
) -> Page:
    """Returns a page from tables of another time (`as_of.py`), without a cursor."""
    question = parse(filter_)
    tree = All((question.tree, Compare("labels", "contains", tuple(labels)))) if labels else question.tree
    around = QueryContext(now, partial(find_milestones, db), partial(has_status, db), me)
    wanted = compile_condition(restrict(tree, kind, include_closed), around)
    found = _select_rows(db, parse_order(sort or question.sort), wanted, None, min(limit, LARGEST_LIMIT), 0, None)
    return Page([row for row, _ in found], None, 0)


def count_issues(index: Index, milestones: Sequence[str]) -> dict[str, dict[str, int]]:
    """Returns how many issues of each milestone have which status."""
    counted: dict[str, dict[str, int]] = {}
    if milestones:
        sql = (
            f"SELECT milestone, status, count(*) FROM ent WHERE milestone IN ({', '.join('?' * len(milestones))})"
            " AND milestone <> '' AND kind = 'issue' GROUP BY milestone, status"
        )
        with index.lock:
            for milestone, status, count in index.db.execute(sql, list(milestones)):
                counted.setdefault(milestone, {})[status] = count
    return counted


def find_by_prefix(index: Index, prefix: str, kind: str | None, most: int = 10) -> list[Row]:
    """Returns the entities whose id begins so, a few at most."""
    text = prefix.lower()
    with index.lock:
        found = index.db.execute(
            f"SELECT {COLUMNS} FROM ent WHERE n IN (SELECT n FROM log WHERE id >= ? AND id < ?)"
            " AND (? IS NULL OR kind = ?) ORDER BY id LIMIT ?",
            (text, text + "g", kind, kind, most),
        ).fetchall()
    return [Row(*row) for row in found]


def _read_snapshot(
    index: Index, keys: Sequence[Key], wanted: Condition, limit: int, at: Cursor | int, bound: str
) -> Page:
    db = index.db
    db.execute("BEGIN")  # one snapshot for the generation, the rows and what changed
    try:
        generation, epoch = index.generation(), index.epoch()
        since, after, offset = generation, None, 0
        if isinstance(at, Cursor):
            after = at.after
            if at.epoch == epoch and at.generation >= int(read_meta(db, "history_from") or 0):
                since = at.generation
        else:
            offset = at
        found = _select_rows(db, keys, wanted, after, limit + 1, offset, since if since != generation else None)
        if since != generation:
            past = _rebuild_past(db, since, wanted.needs_words)
            found += _select_rows(past, keys, wanted, after, limit + 1, 0, None)
            past.close()
            _sort(found, keys)
    finally:
        db.execute("COMMIT")
    more = len(found) > limit
    found = found[:limit]
    following = None
    if more and found:
        following = write_cursor(Cursor(bound, epoch, since, found[-1][1]))
    return Page([row for row, _ in found], following, generation)


Found = tuple[Row, tuple[Value, ...]]


def _select_rows(
    db: sqlite3.Connection,
    keys: Sequence[Key],
    wanted: Condition,
    after: Sequence[Value] | None,
    limit: int,
    offset: int,
    unchanged_since: int | None,
) -> list[Found]:
    where, values = wanted.sql, list(wanted.values)
    if after is not None:
        sql, more = build_after(keys, after)
        where, values = f"({where}) AND {sql}", [*values, *more]
    if unchanged_since is not None:
        where, values = f"({where}) AND n NOT IN (SELECT n FROM history WHERE gen > ?)", [*values, unchanged_since]
    sql = build_select(COLUMNS, keys, where, limit, offset)
    width = len(keys)
    return [(Row(*row[width:]), row[:width]) for row in db.execute(sql, values)]


def _rebuild_past(db: sqlite3.Connection, generation: int, with_words: bool) -> sqlite3.Connection:
    """Returns the entities that changed after a generation, as they were then, in tables of their own."""
    past = connect(":memory:")
    create_tables(past, TABLES)
    then: list[tuple[str, bytes]] = []
    changed = db.execute(
        "SELECT h.n, h.lines, log.lines FROM"
        " (SELECT n, min(lines) AS lines FROM history WHERE gen > ? GROUP BY n) h JOIN log ON log.n = h.n",
        (generation,),
    )
    for n, count, lines in changed.fetchall():  # what changed has all its lines in the index
        if count:
            before = b"\n".join(lines.split(b"\n")[:count])
            write_entity(past, n, fold_lines(before))
            past.execute("INSERT INTO log(n, id) VALUES (?, ?)", (n, str(n)))
            then.append((str(n), before))
    if with_words:
        write_words(past, then)
    return past


def _sort(found: list[Found], keys: Sequence[Key]) -> None:
    for i in range(len(keys) - 1, -1, -1):
        found.sort(key=lambda pair: itemgetter(i)(pair[1]), reverse=keys[i].descending)
