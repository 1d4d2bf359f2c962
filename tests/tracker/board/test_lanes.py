"""The columns and the cards in them."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

import pytest

from postil.tracker import events as ev
from postil.tracker.board.lanes import By, read_lanes
from postil.tracker.failures import InvalidParams
from tests.tracker.groups import ESCAPES, Tracker, forged


def cards(tracker: Tracker, by: By, names: Sequence[str] = (), filter_: str = "") -> dict[str, list[str]]:
    return {lane.head: [one.title for one in lane.cards] for lane in read_lanes(tracker.issues, by, names, filter_)}


def test_a_column_a_status_and_what_is_claimed_in_one_of_its_own(tracker: Tracker) -> None:
    tracker.tools.create("Later", draft=True)
    tracker.tools.create("Low", priority="low")
    tracker.tools.create("High", priority="high")
    tracker.plan.claim(tracker.tools.create("Mine").id)
    tracker.tools.close(tracker.tools.create("Done").id)
    odd = tracker.tools.create("Odd").id
    with tracker.issues.transaction() as tx:
        tx.write(ev.Set, odd, f="status", value="reviewed")
    assert cards(tracker, "status") == {
        "draft": ["Later"],
        "open": ["High", "Low"],
        "in progress": ["Mine"],
        "closed": ["Done"],
        "reviewed": ["Odd"],
    }
    assert list(cards(tracker, "status", ["closed", "open"])) == ["closed", "open"]


def test_there_may_be_more_cards_than_a_statement_may_have_values(tracker: Tracker) -> None:
    for number in range(6):
        tracker.tools.create("v1", entity="milestone")
        tracker.tools.create(f"Card {number}", labels=("bug",))
    cards(tracker, "label")  # reads what was written
    tracker.issues.store.index.db.setlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER, 4)
    assert len(cards(tracker, "label", ["bug"])["bug"]) == 6
    assert cards(tracker, "label", ["bug"], "milestone:v1") == {"others": [], "bug": []}


def test_a_column_a_label_or_a_milestone(tracker: Tracker) -> None:
    later = tracker.tools.create("2.0", entity="milestone", due="2027-01-01").id
    tracker.tools.create("1.0", entity="milestone", due="2026-12-01")
    tracker.tools.create("Both", labels=("bug", "docs"), milestone=later)
    tracker.tools.create("None")
    assert cards(tracker, "label") == {"others": ["None"], "bug": ["Both"], "docs": ["Both"]}
    assert cards(tracker, "label", ["docs", "new"]) == {"others": ["None"], "docs": ["Both"], "new": []}
    assert cards(tracker, "milestone") == {"no milestone": ["None"], "1.0": [], "2.0": ["Both"]}
    assert cards(tracker, "milestone", ["2.0"]) == {"no milestone": ["None"], "2.0": ["Both"]}


def test_a_filter_chooses_the_cards_and_a_mistake_in_it_is_told(tracker: Tracker) -> None:
    tracker.tools.create("Crash", description="of the parser")
    tracker.tools.create("Else")
    assert cards(tracker, "status", (), "parser")["open"] == ["Crash"]
    with pytest.raises(InvalidParams, match="unknown field"):
        read_lanes(tracker.issues, "status", (), "nope == 1")


def test_words_of_others_cannot_move_the_cursor(tracker: Tracker) -> None:
    forged(tracker.issues.store.repository.root)  # type: ignore[arg-type]
    text = repr(read_lanes(tracker.issues, "label")) + "".join(
        one.title + one.facts + lane.head for lane in read_lanes(tracker.issues, "label") for one in lane.cards
    )
    assert "\x1b" in ESCAPES
    assert not any(mark in text for mark in "\x1b\x9b\x07\u202e")
