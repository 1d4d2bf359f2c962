"""Reports for CI: what they hold beside comments on changed lines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from postil.comments.operations.views import ViewTools
from tests.comments.workspaces import commit, workspace, write


def test_a_report_says_which_comment_files_could_not_be_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    comments = workspace(tmp_path, **{"a.py": "value = 1\n"})
    write(tmp_path, "a.py.comments", "{")
    commit(tmp_path, "damaged")
    report = ViewTools(comments.context).report("HEAD", "sarif")
    (run,) = json.loads(report.for_person())["runs"]
    (told,) = run["invocations"]
    assert not told["executionSuccessful"]
    assert "a.py.comments" in told["toolExecutionNotifications"][0]["message"]["text"]
    assert "a.py.comments: the file is not JSON" in capsys.readouterr().err
    assert json.loads(ViewTools(comments.context).report("HEAD", "codequality").for_person()) == []
    assert "a.py.comments: the file is not JSON" in capsys.readouterr().err


def test_every_rule_of_a_report_says_what_github_asks_for(tmp_path: Path) -> None:
    """GitHub refuses a log whose rules lack these (rule GH2012 of Microsoft's SARIF multitool)."""
    comments = workspace(tmp_path, **{"a.py": "value = 1\n"})
    (run,) = json.loads(ViewTools(comments.context).report("HEAD", "sarif").for_person())["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert [each["id"] for each in rules] == ["postil/lost", "postil/stale", "postil/comment"]
    for each in rules:
        assert each["name"].isidentifier()
        assert all(each[key]["text"].endswith(".") for key in ("fullDescription", "help"))
        assert "`postil comments " in each["help"]["markdown"]
        assert "`" not in each["help"]["text"]
