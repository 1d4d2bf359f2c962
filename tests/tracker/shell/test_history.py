"""`delete` and its undoing."""

from __future__ import annotations

from pathlib import Path

from tests.tracker.programs import answered, run


def test_a_deleted_issue_is_gone_from_lists_and_can_come_back(repository: Path):
    id_ = answered(repository, "create", "issue", "T")["id"]
    answered(repository, "issue", "delete", id_, program="main")
    assert answered(repository, "list", "issue", "--all")["items"] == []
    answered(repository, "issue", "delete", id_[:6], "--undo", program="main")
    assert len(answered(repository, "list", "issue")["items"]) == 1
    for none in ("", "ffffffff-", "*"):
        assert run(repository, "delete", none, "--undo").returncode == 5
