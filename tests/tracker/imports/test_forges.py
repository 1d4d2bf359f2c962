"""Issues of GitHub, GitLab and Backlog.md."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from postil.tracker.imports.forges import read_host
from tests.tracker.programs import answered, run

TASK = """---
id: task-{number}
title: '{title}'
status: {status}
assignee:
  - '@ann'
labels: [ui, "good first"]
dependencies: {after}
priority: high
created_date: '2025-06-08'
---

## Description

<!-- SECTION:DESCRIPTION:BEGIN -->
Do it
<!-- SECTION:DESCRIPTION:END -->

- [ ] #1 works
"""


def test_a_folder_of_backlog_comes_with_its_order_and_criteria(repository: Path, tmp_path: Path):
    folder = tmp_path / "backlog" / "tasks"
    folder.mkdir(parents=True)
    (folder / "task-1 - First.md").write_text(TASK.format(number=1, title="First", status="Done", after="[]"))
    (folder / "task-2 - Then.md").write_text(
        TASK.format(number=2, title="Then", status="In Progress", after="[task-1]")
    )
    assert answered(repository, "import", str(tmp_path / "backlog"))["created"] == 2
    then = answered(repository, "show", "task-2")
    assert (then["title"], then["labels"], then["assignees"]) == ("Then", ["good first", "ui"], ["ann"])
    assert then["fields"] == {"priority": "high", "state": "In Progress"}
    assert [(link["type"], link["title"]) for link in then["links"]] == [("blocked-by", "First")]
    assert [one["text"] for one in then["criteria"]] == ["#1 works"]
    assert answered(repository, "show", "task-1")["status"] == "closed"
    assert answered(repository, "import", str(tmp_path / "backlog"))["unchanged"] == 2


@pytest.mark.parametrize(
    "record",
    [
        {
            "iid": 7, "title": "T", "description": "body", "state": "closed", "labels": ["bug"],
            "author": {"username": "ann"}, "assignees": [{"username": "bob"}], "created_at": "2025-01-01T00:00:00Z",
            "closed_at": "2025-01-02T00:00:00Z", "web_url": "https://gitlab.example/g/p/-/issues/7",
        },
        {
            "number": 7, "title": "T", "body": "body", "state": "CLOSED", "labels": [{"name": "bug"}],
            "author": {"login": "ann"}, "assignees": [{"login": "bob"}], "createdAt": "2025-01-01T00:00:00Z",
            "closedAt": "2025-01-02T00:00:00Z", "url": "https://github.com/g/p/issues/7",
            "comments": [{"id": "c1", "author": {"login": "bob"}, "body": "hi", "createdAt": "2025-01-01T01:00:00Z"}],
        },
    ],
    ids=["gitlab", "github"],
)  # fmt: skip
def test_issues_of_a_host_keep_people_times_and_labels(repository: Path, tmp_path: Path, record: dict[str, object]):
    (tmp_path / "issues.json").write_text(json.dumps([record]))
    assert answered(repository, "import", str(tmp_path / "issues.json"))["created"] == 1
    (item,) = answered(repository, "list", "issue", "--all")["items"]
    shown = answered(repository, "show", item["id"])
    assert (shown["author"], shown["assignees"], shown["labels"]) == ("ann", ["bob"], ["bug"])
    assert (shown["status"], shown["created_at"]) == ("closed", "2025-01-01T00:00:00Z")
    assert shown["fields"]["external_ref"].endswith("issues/7")
    assert len(shown["comments"]) == ("comments" in record)
    address = str(record.get("web_url") or record.get("url"))
    assert answered(repository, "show", address)["id"] == item["id"]  # as it stands in the browser
    assert run(repository, "show", address + "0").returncode == 2


MILESTONES = [
    {
        "number": 7, "title": "T", "url": "https://github.com/g/p/issues/7",
        "milestone": {"number": 3, "title": "v1", "description": "first", "dueOn": "2025-03-01T00:00:00Z"},
    },
    {"number": 8, "title": "U", "url": "https://github.com/g/p/issues/8", "milestone": {"number": 3, "title": "v1"}},
    {"number": 9, "title": "V", "url": "https://github.com/g/p/issues/9", "milestone": None},
]  # fmt: skip


def test_milestones_of_a_host_are_milestones(repository: Path, tmp_path: Path):
    (tmp_path / "issues.json").write_text(json.dumps(MILESTONES))
    assert answered(repository, "import", str(tmp_path / "issues.json"))["created"] == 4
    shown = answered(repository, "show", "v1")
    assert (shown["kind"], shown["due"], shown["description"]) == ("milestone", "2025-03-01", "first")
    found = answered(repository, "list", "issue", "--filter", 'milestone = "v1"')["items"]
    assert sorted(item["title"] for item in found) == ["T", "U"]
    assert answered(repository, "import", str(tmp_path / "issues.json"))["unchanged"] == 4


def test_a_milestone_of_the_same_title_is_taken(repository: Path, tmp_path: Path):
    here = answered(repository, "create", "milestone", "v1", "--description", "ours")
    (tmp_path / "issues.json").write_text(json.dumps(MILESTONES))
    assert answered(repository, "import", str(tmp_path / "issues.json"))["created"] == 3
    assert answered(repository, "show", "g/p#8")["milestone"] == here["id"]
    assert answered(repository, "show", "v1")["description"] == "ours"


def test_one_issue_of_gitlab_is_a_source_and_a_short_list_says_what_is(repository: Path, tmp_path: Path):
    file = tmp_path / "issue.json"
    address = "https://gitlab.example/g/p/-/issues/"
    one = {"iid": 7, "title": "T", "milestone": "v1", "web_url": f"{address}7"}
    file.write_text(json.dumps(one))
    assert answered(repository, "import", str(file))["created"] == 2
    assert answered(repository, "show", "https://gitlab.example/g/p/-/issues/7")["title"] == "T"
    file.write_text(json.dumps([one]) + json.dumps([{**one, "iid": 8, "web_url": f"{address}8"}], indent=1))
    assert answered(repository, "import", str(file))["created"] == 1  # pages as glab prints them
    file.write_text(json.dumps({"issues": [{"iid": 7, "title": "T"}], "pagination": {}}))
    refused = run(repository, "import", str(file))
    assert refused.returncode == 2
    assert "glab api" in refused.stderr


def test_what_is_no_list_of_issues_is_refused(repository: Path, tmp_path: Path):
    (tmp_path / "x.json").write_text('[{"iid": ')
    assert run(repository, "import", str(tmp_path / "x.json")).returncode == 2
    (tmp_path / "empty").mkdir()
    assert run(repository, "import", str(tmp_path / "empty")).returncode == 2


def test_remarks_that_are_never_closed_are_read_at_once(repository: Path, tmp_path: Path):
    """Each of them was searched to the end of the text."""
    folder = tmp_path / "backlog" / "tasks"
    folder.mkdir(parents=True)
    head = "---\nid: task-1\ntitle: One\nstatus: To Do\n---\n"
    (folder / "task-1 - one.md").write_text(f"{head}<!-- a\nb -->\nkept\n" + "<!--" * 8_000)
    assert answered(repository, "import", str(tmp_path / "backlog"))["created"] == 1


def test_what_gitlab_plans_and_hides_comes_along_and_is_told(repository: Path, tmp_path: Path):
    record = {
        "iid": 7, "title": "T", "web_url": "https://gitlab.example/g/p/-/issues/7",
        "due_date": "2025-05-01", "weight": 3, "confidential": True,
    }  # fmt: skip
    file = tmp_path / "issues.json"
    file.write_text(json.dumps([record, {**record, "iid": 8, "due_date": None, "weight": None, "confidential": False}]))
    told = run(repository, "import", str(file))
    assert "confidential there: 1" in told.stdout
    shown = [answered(repository, "show", f"gitlab.example/g/p#{iid}") for iid in (7, 8)]
    assert [one.get("due") for one in shown] == ["2025-05-01", None]
    assert [one["fields"].get("estimate") for one in shown] == ["3p", None]
    assert shown[0]["fields"]["confidential"] == "yes"
    assert answered(repository, "import", str(file))["unchanged"] == 2
    assert "confidential" not in shown[1]["fields"]


def test_a_project_without_issues_is_imported(repository: Path, tmp_path: Path):
    (tmp_path / "issues.json").write_text("[ ]\n")
    assert answered(repository, "import", str(tmp_path / "issues.json"))["created"] == 0


@pytest.mark.parametrize(
    "more",
    [
        {"comments": ["plain", 1, None]},
        {"comments": 3},
        {"labels": 5, "assignees": "bob"},
        {"createdAt": "9999-12-31T23:59:59-23:59"},
        {"updatedAt": "0001-01-01T00:00:00+23:59"},
        {"createdAt": "99999-01-01"},
    ],
)
def test_what_no_host_prints_ends_no_import(more: dict[str, object]):
    (one,) = read_host(json.dumps([{"number": 1, "title": "T", "url": "https://github.com/a/b/issues/1", **more}]))
    assert (one.title, one.ts, one.updated_ts, one.labels) == ("T", "", "", ())
    assert [comment.body for comment in one.comments] == (
        ["plain", "1"] if more.get("comments") not in (None, 3) else []
    )
