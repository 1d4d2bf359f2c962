"""What a move writes."""

from __future__ import annotations

from itertools import pairwise

import pytest

from postil.tracker.board.lanes import By, read_lanes
from postil.tracker.board.moves import move_card
from postil.tracker.failures import ClaimLost, InvalidParams
from tests.tracker.groups import Tracker


def move(tracker: Tracker, by: By, id_: str, source: str, target: str) -> None:
    lanes = {lane.head: lane for lane in read_lanes(tracker.issues, by)}
    move_card(tracker.issues, by, id_, lanes[source], lanes[target])


def test_by_status_it_is_the_status_and_the_claim(tracker: Tracker) -> None:
    id_ = tracker.tools.create("One", draft=True).id
    seen: list[tuple[str, bool]] = []
    way = ["draft", "open", "in progress", "open", "in progress", "closed", "in progress", "draft"]
    for source, target in pairwise(way):
        move(tracker, "status", id_, source, target)
        entity = tracker.issues.find(id_)
        seen.append((entity.status, entity.claim is not None))
    assert seen == [
        ("open", False),
        ("open", True),
        ("open", False),
        ("open", True),
        ("closed", False),
        ("open", True),
        ("draft", False),
    ]


def test_another_ones_claim_stays(tracker: Tracker) -> None:
    id_ = tracker.tools.create("One").id
    tracker.plan.claim(id_, who="bob")
    with pytest.raises(ClaimLost, match="bob"):
        move(tracker, "status", id_, "in progress", "open")
    with pytest.raises(ClaimLost, match="bob"):
        move(tracker, "status", id_, "open", "in progress")
    assert tracker.issues.find(id_).claim


def test_by_label_one_goes_and_one_comes_and_others_stay(tracker: Tracker) -> None:
    id_ = tracker.tools.create("One", labels=("bug", "keep")).id
    tracker.tools.create("Two", labels=("docs",))
    move(tracker, "label", id_, "bug", "docs")
    assert tracker.issues.find(id_).labels == ("docs", "keep")
    move(tracker, "label", id_, "docs", "others")
    assert tracker.issues.find(id_).labels == ("keep",)


def test_by_milestone_it_is_the_milestone(tracker: Tracker) -> None:
    aim = tracker.tools.create("1.0", entity="milestone").id
    id_ = tracker.tools.create("One").id
    move(tracker, "milestone", id_, "no milestone", "1.0")
    assert tracker.issues.find(id_).milestone == aim
    move(tracker, "milestone", id_, "1.0", "no milestone")
    assert tracker.issues.find(id_).milestone is None


def test_a_status_of_a_later_version_cannot_be_given(tracker: Tracker) -> None:
    id_ = tracker.tools.create("One").id
    lanes = read_lanes(tracker.issues, "status")
    with pytest.raises(InvalidParams, match="later version"):
        move_card(tracker.issues, "status", id_, lanes[1], lanes[0]._replace(key="reviewed"))
