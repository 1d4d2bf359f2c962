"""The tracker at a glance."""

from __future__ import annotations

from pathlib import Path

from tests.tracker.programs import answered


def test_metrics_count_what_is_there(repository: Path):
    id_ = answered(repository, "create", "issue", "One")["id"]
    answered(repository, "create", "milestone", "1.0")
    answered(repository, "close", id_)
    told = answered(repository, "metrics", "dump")
    assert (told["entities"], told["events"], told["logs"], told["writers"]) == ({"issue": 1, "milestone": 1}, 3, 1, 1)
    assert (told["clock"], told["damaged"], told["cache_bytes"] > 0) == (3, 0, True)
