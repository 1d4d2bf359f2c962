"""The board for programs and pages."""

from __future__ import annotations

import pytest

from postil.core.failure import NotFound
from postil.tracker.failures import ClaimLost, InvalidParams
from postil.tracker.operations.cards import Columns
from tests.tracker.groups import Tracker


def shown(columns: Columns) -> dict[str, list[str]]:
    return {column.head: [card.title for card in column.cards] for column in columns.columns}


def test_a_card_moves_through_the_columns_of_the_statuses(tracker: Tracker) -> None:
    id_ = tracker.tools.create("One").id
    tracker.tools.create("Two", draft=True)
    assert shown(tracker.cards.list_columns()) == {"draft": ["Two"], "open": ["One"], "in progress": [], "closed": []}
    for column in ("in progress", "open", "in progress", "closed", "draft"):
        moved = tracker.cards.move(id_, column)
        assert (moved.id, moved.column) == (id_, column)
        assert "One" in shown(tracker.cards.list_columns())[column]
    assert tracker.issues.find(id_).claim is None


def test_a_card_moves_between_labels_and_between_milestones(tracker: Tracker) -> None:
    id_ = tracker.tools.create("One", labels=("bug", "keep")).id
    mile = tracker.tools.create("M", entity="milestone").id
    tracker.cards.move(id_, "urgent", by="label", source="bug")
    assert set(tracker.issues.find(id_).labels) == {"keep", "urgent"}
    tracker.cards.move(id_, mile, by="milestone")
    assert tracker.issues.find(id_).milestone == mile
    tracker.cards.move(id_, "", by="milestone")
    assert not tracker.issues.find(id_).milestone


def test_what_cannot_be_moved_says_why(tracker: Tracker) -> None:
    id_ = tracker.tools.create("One").id
    with pytest.raises(InvalidParams) as refused:
        tracker.cards.move(id_, "nowhere")
    assert "draft, open, in progress, closed" in refused.value.advice
    with pytest.raises(NotFound):
        tracker.cards.move("ffffffff", "open")
    with pytest.raises(InvalidParams):
        tracker.cards.list_columns(filter="status:")
    tracker.plan.claim(id_, who="bob")
    with pytest.raises(ClaimLost):
        tracker.cards.move(id_, "open")


def test_a_column_shows_its_first_cards_and_says_how_many_more(tracker: Tracker) -> None:
    for number in range(3):
        tracker.tools.create(f"Issue {number}")
    columns = tracker.cards.list_columns(column=("open",), cards=2)
    assert (columns.columns[0].total, len(columns.columns[0].cards)) == (3, 2)
    assert "… 1 more" in columns.for_person()
    assert "open (3)" in columns.for_person()


def test_by_label_a_column_holds_the_cards_asked_for_and_counts_all_that_the_filter_finds(tracker: Tracker) -> None:
    for number in range(4):
        tracker.tools.create(f"crash {number}", labels=("bug",))
    tracker.tools.create("crash elsewhere")
    tracker.tools.create("slow", labels=("bug",))
    found = tracker.cards.list_columns(by="label", filter="crash", cards=2)
    assert {one.key: (one.total, len(one.cards)) for one in found.columns} == {"": (1, 1), "bug": (4, 2)}
    nothing = tracker.cards.list_columns(by="label", filter="crash", cards=0)
    assert {one.key: (one.total, len(one.cards)) for one in nothing.columns} == {"": (1, 0), "bug": (4, 0)}
