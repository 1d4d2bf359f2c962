"""`log`; `delete` and its undoing."""

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


def test_the_log_says_with_which_milestone_an_issue_began(repository: Path):
    mile = answered(repository, "create", "milestone", "1.0")["id"]
    id_ = answered(repository, "create", "issue", "T", "--milestone", "1.0")["id"]
    (first, *_) = answered(repository, "log", id_)["events"]
    assert first["what"] == f"issue open: “T” milestone {mile[:8]}"
