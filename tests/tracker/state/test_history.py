"""The history of an entity in words."""

from __future__ import annotations

from pathlib import Path

from tests.tracker.programs import answered


def test_the_log_tells_everything_that_happened(repository: Path):
    id_ = answered(repository, "create", "issue", "T", "--message", "because")["id"]
    answered(repository, "close", id_)
    events = answered(repository, "log", id_)["events"]
    assert [event["type"] for event in events] == ["created", "set"]
    assert events[0]["what"].endswith("— because")
