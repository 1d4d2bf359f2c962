"""Lists as they were at the end of a day: the events up to then, folded into tables of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from postil.tracker.events import decode_lines
from postil.tracker.failures import InvalidParams
from postil.tracker.index.db_files import connect
from postil.tracker.index.pages import Page, select_past
from postil.tracker.index.rows import write_entity
from postil.tracker.index.tables import INDEXES, TABLES, create_tables, write_meta
from postil.tracker.model import Entity
from postil.tracker.state.fold import fold
from postil.tracker.text import is_day

if TYPE_CHECKING:
    from postil.tracker.store import Store


def read_past_page(
    store: Store,
    kind: str,
    filter_: str | None,
    sort: Sequence[str],
    limit: int,
    include_closed: bool,
    labels: Sequence[str],
    day: str,
    me: Callable[[], tuple[str, ...]] = tuple,
) -> Page:
    """Returns the first page of a list as it was at the end of a day. It has no cursor: ask for a larger page."""
    check_day(day)
    past = connect(":memory:")
    create_tables(past, TABLES + INDEXES)
    write_meta(past, "words", 1)
    for n, (id_, lines) in enumerate(store.index.read_all_histories(), 1):
        entity = fold_until(lines, day)
        if entity is not None:
            past.execute("INSERT INTO log(n, id) VALUES (?, ?)", (n, id_))
            write_entity(past, n, entity, with_words=True)
    try:
        return select_past(past, kind, filter_, sort, limit, include_closed, labels, store.now(), me)
    finally:
        past.close()


def fold_until(lines: bytes, day: str) -> Entity | None:
    """Returns what the events up to the end of a day make."""
    return fold(event for event in decode_lines(lines) if event.ts[:10] <= day)


def check_day(day: str) -> str:
    """Returns the day. Raises InvalidParams if it is none."""
    if not is_day(day):
        raise InvalidParams(f"`{day[:64]}` is not a day", advice="Write it as 2026-11-15")
    return day
