"""What `make anchors` writes is true of code that nobody learnt from, or says that it is not."""

from __future__ import annotations

import subprocess
from typing import Any

import pytest

from scripts import anchors

PRINTED = """round 1: 3 anchors to be weighed, 49 measures
| truth | lines | found | silently wrong | in review | truth missing | wrongly orphaned |
|---|---|---|---|---|---|---|
| years | 3 | 100.00 | 0.00 | 0.00 | 0.00 | 0.00 |
"""


def test_projects_are_judged_by_trees_that_never_saw_them(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[str]] = []

    def run(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        asked.append(command)
        return subprocess.CompletedProcess(command, 0, PRINTED)

    monkeypatch.setattr(anchors, "find_spec", str)
    monkeypatch.setattr(subprocess, "run", run)
    assert anchors.judge_by_project(["some.jsonl.xz"]) == PRINTED[PRINTED.index("|") :].rstrip()
    assert asked[0][1:] == ["-m", "scripts.train_anchor", "some.jsonl.xz", "--check"]


def test_what_cannot_be_judged_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(anchors, "find_spec", {"numpy": "there"}.get)
    assert anchors.judge_by_project(["some.jsonl.xz"]).startswith("Not judged by project: lightgbm not installed")


def test_a_run_that_fails_is_no_result(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(command, 3, "")

    monkeypatch.setattr(anchors, "find_spec", str)
    monkeypatch.setattr(subprocess, "run", fail)
    with pytest.raises(SystemExit, match="ended with 3"):
        anchors.judge_by_project(["some.jsonl.xz"])
