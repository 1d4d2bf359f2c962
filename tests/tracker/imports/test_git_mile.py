"""Refs of git-mile, in both of its layouts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.tracker.foreign import ALPHA, EVENTS, OLD, commit, told, write_entity
from tests.tracker.groups import Tracker
from tests.tracker.programs import answered, git, run, said


def test_entities_of_the_old_git_mile_are_imported_under_their_ids_with_their_history(repository: Path):
    write_entity(repository, EVENTS)
    assert answered(repository, "import", "--source", "git-mile") == {"created": 1, "updated": 0, "unchanged": 0}
    shown = Tracker(repository).show("issue", OLD)
    assert (shown.title, shown.status, shown.labels, shown.author) == ("Alpha", "closed", ("b",), "Ann")
    assert [(c.author, c.body, c.ts) for c in shown.comments] == [
        ("Ann", "hello", "2023-11-14T22:14:20Z"),
        ("Bob", "again", "2023-11-14T22:19:20Z"),
    ]
    assert told(repository, OLD) == [
        ("2023-11-14T22:14:20", "Ann <ann@x>", "created", "“Alpha” +a"),
        ("2023-11-14T22:14:20", "Ann <ann@x>", "comment", "hello"),
        ("2023-11-14T22:15:20", "Bob <bob@x>", "labels", "+b — why"),
        ("2023-11-14T22:16:20", "Ann <ann@x>", "labels", "-a"),
        ("2023-11-14T22:17:20", "Bob <bob@x>", "set", "status → closed"),
        ("2023-11-14T22:19:20", "Bob <bob@x>", "comment", "again"),
    ]
    assert answered(repository, "import", "--source", "git-mile")["unchanged"] == 1


def test_tasks_of_the_new_git_mile_are_imported_under_their_ids_with_their_history(repository: Path):
    id_, parent = "0199f000-0000-7000-8000-000000000001", "0199f000-0000-7000-8000-0000000000ff"
    kinds = [
        {"type": "taskCreated", "title": "Task", "labels": ["a"], "assignees": ["ann"], "state": "state/todo"},
        {"type": "taskTitleSet", "title": "Better"},
        {"type": "labelsAdded", "labels": ["b"]},
        {"type": "commentAdded", "comment_id": "e9", "body_md": "hi"},
        {"type": "commentUpdated", "comment_id": "e9", "body_md": "hi!"},
        {"type": "childLinked", "parent": parent, "child": id_},
        {"type": "taskStateSet", "state": "state/done", "state_kind": "done"},
    ]  # fmt: skip
    empty = git(repository, "write-tree").strip()
    tip: list[str] = []
    for i, kind in enumerate(kinds):
        event = {
            "schema": "git-mile-event@1",
            "id": f"e{i}",
            "lamport": 0,
            "ts": f"2025-11-0{i + 1}T00:00:00.123456789Z",
            "actor": {"name": "Ann", "email": "ann@x"},
            "task": id_,
            "kind": kind,
        }
        tip = [commit(repository, empty, f"git-mile-event: e{i}\n\n{json.dumps(event, indent=2)}", *tip)]
    git(repository, "update-ref", f"refs/git-mile/tasks/{id_}", tip[0])
    said(repository, "import", "--source", "git-mile")
    shown = Tracker(repository).show("issue", id_)
    assert (shown.title, shown.status, shown.labels, shown.assignees) == ("Better", "closed", ("a", "b"), ("ann",))
    assert [(c.body, c.ts, c.edited_at) for c in shown.comments] == [
        ("hi!", "2025-11-04T00:00:00Z", "2025-11-05T00:00:00Z")
    ]
    assert (shown.created_at, shown.updated_at) == ("2025-11-01T00:00:00Z", "2025-11-07T00:00:00Z")
    assert shown.fields == {"state": "state/done"}
    days = [(ts[8:10], what) for ts, _, _, what in told(repository, id_)]
    assert days == [
        ("01", "“Task” +a for ann"),
        ("01", "state → state/todo"),
        ("02", "title → Better"),
        ("03", "+b"),
        ("04", "hi"),
        ("05", "hi!"),
        ("06", f"+parent {parent[:8]}"),
        ("07", "status → closed"),
        ("07", "state → state/done"),
    ]


def test_identities_of_the_old_git_mile_are_imported(repository: Path):
    write_entity(
        repository,
        [
            {"version": 1, "type": "created", "data": {"display_name": "Ann", "email": "a@x", "login": "ann"}},
            {"version": 1, "type": "adopted", "data": {"replica_id": "host1", "signature": "s"}},
            {
                "version": 1,
                "type": "protection_added",
                "data": {"protection": {"kind": "pgp", "fingerprint": "0123456789ABCDEF0123456789ABCDEF01234567"}},
            },
        ],
    )
    said(repository, "import", "--source", "git-mile")
    (one,) = answered(repository, "list", "identity")
    assert (one["id"], one["status"], one["email"], one["adopted_by"]) == (OLD, "protected", "a@x", "host1")


def test_a_story_with_a_text_that_is_no_text_is_named_and_keeps_no_other_up(repository: Path):
    write_entity(repository, EVENTS)
    good = git(repository, "rev-parse", f"refs/git-mile/entities/{OLD}").strip()
    write_entity(repository, [{"version": 3, "type": "created", "data": {**ALPHA, "title": "@@"}}], b"\xff\xff")
    other = OLD.replace("abcd", "0001")
    git(repository, "update-ref", f"refs/git-mile/entities/{other}", f"refs/git-mile/entities/{OLD}")
    git(repository, "update-ref", f"refs/git-mile/entities/{OLD}", good)
    done = run(repository, "import", "--source", "git-mile", "--json")
    found = json.loads(done.stdout)
    assert (done.returncode, found["created"], len(found["unread"])) == (7, 1, 1), done.stderr
    assert other in found["unread"][0]


@pytest.mark.parametrize(
    "committer", ["Ann <ann@x> " + "9" * 5_000 + " +0000", "Ann <ann@x>", "Ann <ann@x> soon +0000"]
)
def test_a_commit_that_does_not_say_when_it_was_made_is_named(repository: Path, committer: str):
    top = git(repository, "mktree").strip()
    text = f"tree {top}\nauthor Ann <ann@x> 1 +0000\ncommitter {committer}\n\ngit-mile-event: e1\n\n{{}}"
    path = repository / "commit"
    path.write_text(text)
    oid = git(repository, "hash-object", "-t", "commit", "-w", "--literally", "commit").strip()
    for kind, name in (("entities", OLD), ("tasks", "0199f000-0000-7000-8000-000000000001")):
        git(repository, "update-ref", f"refs/git-mile/{kind}/{name}", oid)
    done = run(repository, "import", "--source", "git-mile", "--json")
    assert (done.returncode, len(json.loads(done.stdout)["unread"])) == (7, 2), done.stderr
