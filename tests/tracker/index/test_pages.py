"""Pages of a list while others write."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from postil.tracker import events as ev
from postil.tracker.index.pages import read_page
from postil.tracker.store import Store
from tests.tracker.questions import NOW, fill

SORTS: list[list[str]] = [
    [],
    ["updated:desc"],
    ["title", "created:desc"],
    ["status:desc", "comments", "title:desc"],
    ["due"],
]


@pytest.mark.parametrize("sort", SORTS)
def test_pages_put_together_are_the_whole_list_in_order(store: Store, sort: list[str]):
    fill(store, 57, random.Random(3))
    whole = [row.id for row in read_page(store.index, "issue", None, sort, 1000, None, True, NOW).rows]
    assert len(whole) == 57
    seen: list[str] = []
    cursor = None
    while True:
        part = read_page(store.index, "issue", None, sort, 10, cursor, True, NOW)
        seen += [row.id for row in part.rows]
        cursor = part.next_cursor
        if cursor is None:
            break
    assert seen == whole


@pytest.mark.parametrize("sort", SORTS)
def test_a_listing_neither_repeats_nor_skips_while_others_write(store: Store, sort: list[str]):
    dice = random.Random(11)
    fill(store, 60, dice)
    whole = [row.id for row in read_page(store.index, "issue", None, sort, 1000, None, False, NOW).rows]
    seen: list[str] = []
    cursor = None
    while True:
        part = read_page(store.index, "issue", None, sort, 7, cursor, False, NOW)
        seen += [row.id for row in part.rows]
        cursor = part.next_cursor
        if cursor is None:
            break
        with store.transaction() as tx:
            for id_ in dice.sample(whole, 5):
                tx.write(ev.Set, id_, f="title", value=dice.choice("AZmq"))
            tx.write(ev.Set, dice.choice(whole), f="status", value="closed")
            tx.write(ev.Created, ev.new_entity_id(), kind="issue", title="New")
    assert seen == whole


def test_a_cursor_outlives_the_cache(store: Store, repository: Path):
    fill(store, 20, random.Random(1))
    whole = [row.id for row in read_page(store.index, "issue", None, (), 100, None, True, NOW).rows]
    first = read_page(store.index, "issue", None, (), 5, None, True, NOW)
    store.index.forget()
    store.refresh()
    rest = read_page(store.index, "issue", None, (), 100, first.next_cursor, True, NOW)
    assert [row.id for row in rest.rows] == whole[5:]
