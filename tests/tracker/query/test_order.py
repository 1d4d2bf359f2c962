"""Orders and cursors."""

from __future__ import annotations

import random

import pytest

from postil.tracker.index.pages import read_page
from postil.tracker.query.order import parse_order
from postil.tracker.query.tree import QueryFault
from postil.tracker.store import Store
from tests.tracker.questions import NOW, fill


@pytest.mark.parametrize(
    ("word", "complaint"),
    [
        ("labels", "field `labels` does not support sorting"),
        ("updatde", "did you mean `updated`?"),
        ("updated:down", "unknown direction"),
    ],
)
def test_a_bad_order_is_told(word: str, complaint: str):
    with pytest.raises(QueryFault, match=complaint.replace("?", r"\?")):
        parse_order([word])


def test_a_cursor_of_another_question_is_refused(store: Store):
    fill(store, 20, random.Random(1))
    first = read_page(store.index, "issue", None, (), 5, None, True, NOW)
    with pytest.raises(QueryFault, match="another filter"):
        read_page(store.index, "issue", "status == open", (), 5, first.next_cursor, True, NOW)


@pytest.mark.parametrize("cursor", ["abc", "AAAA", "[]", "🦄", "W10", "-1"])
def test_a_cursor_that_was_never_given_is_refused(store: Store, cursor: str):
    fill(store, 3, random.Random(1))
    with pytest.raises(QueryFault, match="invalid cursor"):
        read_page(store.index, "issue", None, (), 5, cursor, True, NOW)


def test_the_old_offsets_are_still_understood(store: Store):
    fill(store, 20, random.Random(1))
    whole = [row.id for row in read_page(store.index, "issue", None, (), 100, None, True, NOW).rows]
    assert [r.id for r in read_page(store.index, "issue", None, (), 5, "5", True, NOW).rows] == whole[5:10]
    assert [r.id for r in read_page(store.index, "issue", None, (), 5, "7:10", True, NOW).rows] == whole[10:15]
