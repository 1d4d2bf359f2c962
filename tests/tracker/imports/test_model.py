"""What comes from elsewhere is written once."""

from __future__ import annotations

import json
from pathlib import Path

from msgspec import UNSET

from tests.tracker.foreign import EVENTS, OLD, told, write_entity
from tests.tracker.groups import Tracker
from tests.tracker.programs import answered, git, said


def test_what_happened_there_since_the_last_import_is_added_and_nothing_else(repository: Path):
    write_entity(repository, EVENTS[:3])
    said(repository, "import", "--source", "git-mile")
    mine = Tracker(repository)
    mine.tools.comment(OLD, "written here")
    write_entity(repository, EVENTS)
    assert answered(repository, "import", "--source", "git-mile", "--dry-run")["updated"] == 1
    assert answered(repository, "import", "--source", "git-mile") == {"created": 0, "updated": 1, "unchanged": 0}
    shown = Tracker(repository).show("issue", OLD)
    assert ([c.body for c in shown.comments], shown.status) == (["hello", "written here", "again"], "closed")
    assert len(told(repository, OLD)) == 7


def test_two_clones_that_import_the_same_have_each_thing_once(repository: Path, tmp_path: Path):
    write_entity(repository, EVENTS)
    git(tmp_path, "clone", "--quiet", str(repository), "other")
    other = tmp_path / "other"
    git(other, "fetch", "--quiet", "origin", "refs/git-mile/*:refs/git-mile/*")
    for clone in (repository, other):
        said(clone, "import", "--source", "git-mile")
    said(other, "pull")
    shown = Tracker(other).show("issue", OLD)
    assert ([c.body for c in shown.comments], shown.labels, shown.conflicts) == (["hello", "again"], ("b",), UNSET)


def test_a_title_too_long_for_a_title_is_kept_whole_in_the_description(repository: Path, tmp_path: Path):
    file = tmp_path / "long.jsonl"
    huge = "word " * 60_000
    file.write_text(json.dumps({"origin": "x:1", "title": huge, "labels": ["a\x1b[0m", "l" * 900]}) + "\n")
    answered(repository, "import", "--source", "jsonl", str(file))
    assert answered(repository, "import", "--source", "jsonl", str(file))["unchanged"] == 1
    (item,) = answered(repository, "list", "issue")["items"]
    assert (len(item["title"]), item["title"][-1], len(item["labels"][1])) == (1000, "…", 200)
    assert "\x1b" not in item["labels"][0]
    assert answered(repository, "show", item["id"])["description"] == huge.strip()


def test_what_an_import_does_not_know_becomes_what_is_known(repository: Path, tmp_path: Path):
    file = tmp_path / "odd.jsonl"
    file.write_text(json.dumps({"origin": "x:1", "title": "T", "kind": "epic", "due": "soon", "status": "wip"}) + "\n")
    answered(repository, "import", "--source", "jsonl", str(file))
    (item,) = answered(repository, "list", "issue")["items"]
    assert (item["status"], "due" in item) == ("open", False)
