"""Changing all that a query finds."""

from __future__ import annotations

from pathlib import Path

import pytest

from postil.tracker.failures import InvalidParams
from tests.tracker.groups import Tracker
from tests.tracker.programs import answered, said


def test_all_that_match_are_changed_in_one_write_and_a_dry_run_changes_nothing(tracker: Tracker):
    ids = [tracker.tools.create(f"T{number}", labels=("old",) if number % 2 else ()).id for number in range(6)]
    asked = {"filter": "label:old", "add_labels": ("new",), "remove_labels": ("old",), "priority": "high"}
    would = tracker.bulk.edit_all(**asked, dry_run=True)  # pyright: ignore[reportArgumentType]
    assert (would.matched, would.changed, would.dry_run) == (3, 3, True)
    assert len(tracker.list(filter="label:old").items) == 3
    done = tracker.bulk.edit_all(**asked)  # pyright: ignore[reportArgumentType]
    assert (done.changed, done.dry_run) == (3, False)
    assert {item.id for item in tracker.list(filter="label:new priority:high").items} == {*ids[1::2]}
    assert tracker.bulk.edit_all("label:new", priority="high").changed == 0


@pytest.mark.parametrize(
    "asked", [{"filter": ""}, {"filter": "label:x"}, {"filter": "status ==", "status": "closed"}], ids=str
)
def test_nothing_to_do_or_no_query_is_refused(tracker: Tracker, asked: dict[str, str]):
    with pytest.raises(InvalidParams):
        tracker.bulk.edit_all(**asked)  # pyright: ignore[reportArgumentType]


def test_the_flags_are_those_of_edit(repository: Path):
    id_ = answered(repository, "create", "issue", "One", "--label", "old")["id"]
    said(repository, "close", id_)
    assert answered(repository, "edit-all", "label:old", "--label", "new")["matched"] == 0
    done = answered(repository, "edit-all", "label:old", "--label", "new", "--unlabel", "old", "--all")
    assert (done["matched"], done["changed"]) == (1, 1)
    assert answered(repository, "show", id_)["labels"] == ["new"]
