"""Creating, changing, commenting, linking and claiming, as tools and as commands."""

from __future__ import annotations

import datetime
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from postil.tracker.failures import ClaimLost, InvalidParams
from postil.tracker.operations.answers import MilestoneCounts
from tests.tracker.groups import Clock, Tracker
from tests.tracker.programs import answered, run, said


def test_creating_an_issue_prints_its_id_and_json_has_the_programs_keys(repository: Path):
    made = answered(repository, "create", "issue", "Crash", "--label", "bug", "--label", "Bug ", "--comment", "first")
    assert made["title"] == "Crash"
    assert (made["status"], made["description"], made["labels"], made["initial_comment"]) == (
        "open",
        None,
        ["bug"],
        True,
    )
    assert said(repository, "create", "milestone", "1.0").startswith("Created milestone ")


def test_a_dry_run_writes_nothing(repository: Path):
    made = answered(repository, "create", "issue", "Ghost", "--dry-run")
    assert made["dry_run"] is True
    assert answered(repository, "list", "issue")["items"] == []
    id_ = answered(repository, "create", "issue", "Real")["id"]
    dry = answered(repository, "comment", "issue", id_, "--comment", "hello", "--dry-run")
    assert (dry["dry_run"], dry["body"], dry["preview"]) == (True, "hello", "hello")
    assert answered(repository, "show", id_)["comments"] == []


def test_opening_and_closing_say_so_and_warn_when_nothing_changes(repository: Path):
    id_ = answered(repository, "create", "issue", "T")["id"]
    assert said(repository, "close", id_) == f"Issue {id_} closed\n"
    again = run(repository, "close", id_)
    assert (again.returncode, again.stdout) == (0, "")
    assert "already closed" in again.stderr
    assert said(repository, "open", id_[:8]) == f"Issue {id_} opened\n"
    assert answered(repository, "draft", id_)["status"] == "draft"


def test_labels_are_added_removed_set_and_cleared(repository: Path):
    id_ = answered(repository, "create", "issue", "T", "--label", "a")["id"]
    changed = answered(repository, "label", "issue", id_, "--add", "b", "--remove", "a")
    assert changed == {
        "resource": "issue",
        "resource_id": id_,
        "changed": True,
        "added": ["b"],
        "removed": ["a"],
        "current": ["b"],
    }
    assert answered(repository, "label", "issue", id_, "--set", "x", "--set", "y")["current"] == ["x", "y"]
    assert answered(repository, "label", "issue", id_, "--clear")["current"] == []
    assert run(repository, "label", "issue", id_, "--clear", "--add", "z").returncode == 2


def test_a_comment_can_quote_another(repository: Path):
    id_ = answered(repository, "create", "issue", "T")["id"]
    first = answered(repository, "comment", "issue", id_, "--comment", "why?\nreally")
    assert first["created"] is True
    answered(repository, "comment", "issue", id_, "--comment", "because", "--quote", first["comment_id"][:6])
    bodies = [comment["body"] for comment in answered(repository, "show", id_)["comments"]]
    assert bodies[1] == "> Tester wrote:\n> why?\n> really\n\nbecause"


def test_people_links_and_claims(repository: Path):
    a = answered(repository, "create", "issue", "A")["id"]
    b = answered(repository, "create", "issue", "B")["id"]
    assert answered(repository, "assign", a, "ann", "bob")["changed"] == ["assignees"]
    assert answered(repository, "show", a)["assignees"] == ["ann", "bob"]
    answered(repository, "link", a, "blocks", b)
    assert [item["id"] for item in answered(repository, "ready")["items"]] == [a]
    assert answered(repository, "claim", a, "--who", "ann")["who"] == "ann"
    lost = run(repository, "claim", a, "--who", "bob")
    assert lost.returncode == 6
    assert "claimed by ann" in lost.stderr
    assert answered(repository, "release", a, "--who", "ann")["who"] == ""
    circle = run(repository, "link", b, "blocks", a)
    assert circle.returncode == 2
    assert "circle" in circle.stderr


def test_the_same_idempotency_key_creates_one_issue(repository: Path):
    words = ("create", "issue", "Once", "--idempotency-key", "k1")
    assert answered(repository, *words)["id"] == answered(repository, *words)["id"]
    assert len(answered(repository, "list", "issue")["items"]) == 1


def test_a_key_used_for_an_issue_is_not_answered_for_a_milestone(repository: Path):
    answered(repository, "issue", "create", "Same", "--idempotency-key", "k", program="main")
    other = run(repository, "milestone", "create", "Same", "--idempotency-key", "k", program="main")
    assert other.returncode == 6


def test_an_empty_comment_needs_to_be_meant(repository: Path):
    refused = run(repository, "create", "issue", "T", "--comment", "  ")
    assert (refused.returncode, "comment is empty" in refused.stderr) == (2, True)
    id_ = answered(repository, "create", "issue", "T", "--comment", "", "--allow-empty")["id"]
    answered(repository, "comment", "issue", id_, "--comment", "", "--allow-empty")
    assert [comment["body"] for comment in answered(repository, "show", id_)["comments"]] == ["", ""]


def test_one_of_many_processes_claims(repository: Path):
    id_ = Tracker(repository).tools.create("Work").id
    code = "import sys; from postil.surfaces.shell.main import git_mile as run; sys.exit(run())"
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", code, "claim", id_, "--who", f"w{n}"],
            cwd=repository,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for n in range(6)
    ]
    assert sorted(racer.wait(timeout=100) for racer in racers) == [0, 6, 6, 6, 6, 6]


def test_who_claimed_at_the_same_time_and_lost_is_told(team: tuple[Path, Path, Path]):
    _, ann, bob = team
    issue = Tracker(ann).tools.create("Wanted").id
    said(ann, "push")
    assert "1 entity changed" in said(bob, "pull")
    for clone, who in ((ann, "ann"), (bob, "bob")):
        Tracker(clone).plan.claim(issue, who=who)
    for clone in (ann, bob, ann):
        said(clone, "sync")
    shown = answered(ann, "show", issue)
    winner = shown["claim"]["who"]
    (lost,) = shown["lost_claims"]
    assert {winner, lost["who"]} == {"ann", "bob"}
    assert answered(bob, "show", issue)["claim"] == shown["claim"]
    assert f"{lost['who']} claimed it at the same time, and lost" in said(ann, "show", issue)
    again = run(ann, "claim", issue, "--who", lost["who"])
    assert (again.returncode, f"is claimed by {winner}" in again.stderr, "hint: " in again.stderr) == (6, True, True)


CATALOGUE = Path(__file__).resolve().parents[3] / "src/postil/catalogue/tracker.json"


def test_what_was_created_is_listed_and_shown(tracker: Tracker):
    mile = tracker.tools.create("1.0", "milestone", due="2026-02-01")
    made = tracker.tools.create(
        "Crash", labels=("bug",), milestone="1.0", description="It crashes.", assignees=("ann",)
    )
    shown = tracker.show("issue", made.id[:8])
    assert (shown.title, shown.description, shown.labels, shown.milestone) == (
        "Crash",
        "It crashes.",
        ("bug",),
        mile.id,
    )
    (item,) = tracker.list("issue").items
    assert item.id == made.id
    assert made.for_model() == f"Issue {made.id[:8]} “Crash” [open]: created"


def test_a_closed_issue_leaves_the_list_and_counts_in_its_milestone(tracker: Tracker):
    mile = tracker.tools.create("1.0", "milestone")
    ids = [tracker.tools.create(f"I{i}", milestone=mile.id).id for i in range(3)]
    tracker.tools.close(ids[0], comment="done")
    assert {item.id for item in tracker.list("issue").items} == set(ids[1:])
    assert len(tracker.list("issue", includeClosed=True).items) == 3
    stats = tracker.list("milestone").items[0].stats
    assert isinstance(stats, MilestoneCounts)
    assert (stats.open_issues, stats.closed_issues) == (2, 1)
    tracker.tools.close(ids[0], reopen=True)
    assert len(tracker.list("issue").items) == 3


def test_labels_are_attached_and_detached(tracker: Tracker):
    made = tracker.tools.create("L", labels=("a",))
    assert tracker.tools.label(made.id, add=("b", " B ", ""), remove=("a", "zzz")).changed == ["+b", "-a"]
    assert tracker.show("issue", made.id).labels == ("b",)


def test_what_is_blocked_or_claimed_is_not_ready(tracker: Tracker):
    a, b, c = (tracker.tools.create(name).id for name in "abc")
    tracker.tools.link(a, "blocks", b)
    tracker.plan.claim(c, who="ann")
    assert [item.id for item in tracker.plan.ready().items] == [a]
    tracker.tools.close(a)
    assert [item.id for item in tracker.plan.ready().items] == [b]


def test_only_one_can_claim_and_a_claim_ends(tracker: Tracker, clock: Clock):
    made = tracker.tools.create("Work")
    tracker.plan.claim(made.id, who="ann", minutes=60)
    with pytest.raises(ClaimLost, match="claimed by ann"):
        tracker.plan.claim(made.id, who="bob")
    with pytest.raises(ClaimLost):
        tracker.plan.claim(made.id, who="bob", release=True)
    clock.at += datetime.timedelta(minutes=61)
    assert tracker.plan.claim(made.id, who="bob").who == "bob"
    assert tracker.plan.claim(made.id, who="bob", release=True).who == ""
    assert tracker.plan.claim(made.id, who="ann").who == "ann"


def test_all_tools_of_the_tracker_fit_into_twelve_kilobytes():
    operations = [
        entry
        for entry in json.loads(CATALOGUE.read_text())["operations"]
        if entry.get("tool", True) and entry.get("toolset") != "extra"  # those are offered only where settings say so
    ]
    listed = [
        {
            "name": entry["name"],
            "title": entry.get("title", ""),
            "description": entry["description"],
            "inputSchema": entry["input_schema"],
            "annotations": {"destructiveHint": False, "openWorldHint": False},
        }
        for entry in operations
    ]
    assert len(listed) >= 17
    assert len(json.dumps(listed, separators=(",", ":"))) <= 12000


@pytest.mark.parametrize(
    ("operation", "arguments"),
    [
        ("git_mile_update", {"title": "New", "description": "text", "status": "draft"}),
        ("git_mile_label", {"add": ["bug"]}),
        ("git_mile_link", {"type": "blocks"}),
    ],
)
def test_what_is_called_idempotent_writes_nothing_the_second_time(
    repository: Path, operation: str, arguments: dict[str, Any]
):
    tracker = Tracker(repository)
    one, two = tracker.tools.create("One").id, tracker.tools.create("Two").id
    tool = getattr(tracker.tools, operation.removeprefix("git_mile_"))
    assert tool.__postil__.idempotent
    more = {"target": two} if operation == "git_mile_link" else {}
    written: list[int] = []
    for _ in range(2):
        tool(one, **arguments, **more)
        written.append(sum(len(Tracker(repository).issues.refresh().events(each)) for each in (one, two)))
    assert written[0] > 2
    assert written[1] == written[0]


def test_a_link_may_be_told_from_its_other_end(tracker: Tracker):
    first, second = tracker.tools.create("First").id, tracker.tools.create("Second").id
    assert tracker.tools.link(second, "blocked-by", first).changed == ["linked blocked-by"]
    assert [(one.type, one.id) for one in tracker.show("issue", second).links or ()] == [("blocked-by", first)]
    assert tracker.tools.link(first, "blocks", second).changed == []
    assert tracker.tools.link(second, "blocked-by", first, remove=True).changed == ["unlinked blocked-by"]
    tracker.tools.link(first, "child", second)
    assert [(one.type, one.id) for one in tracker.show("issue", second).links or ()] == [("parent", first)]


def test_closing_says_what_is_not_done(tracker: Tracker):
    epic = tracker.tools.create("Epic", description="- [x] one\n- [ ] two").id
    tracker.tools.link(tracker.tools.create("Part").id, "parent", epic)
    assert tracker.tools.close(epic).changed == ["status closed", "1 sub-issue still open", "1 of 2 criteria not done"]


def test_what_was_deleted_is_said_to_be(tracker: Tracker):
    id_ = tracker.tools.create("T").id
    tracker.history.delete(id_)
    with pytest.raises(InvalidParams) as refused:
        tracker.issues.find(id_[:8])
    assert refused.value.advice == f"It was deleted: `git mile delete {id_[:8]} --undo` brings it back"


def test_a_sub_issue_is_made_in_one_step_or_not_at_all(repository: Path):
    whole = answered(repository, "create", "issue", "Whole")["id"]
    part = answered(repository, "create", "issue", "Part", "--parent", whole[:8])["id"]
    (link,) = answered(repository, "show", part)["links"]
    assert (link["type"], link["title"]) == ("parent", "Whole")
    assert run(repository, "create", "issue", "Lost", "--parent", "ffffffff").returncode == 5
    assert [item["title"] for item in answered(repository, "list", "issue")["items"]] == ["Part", "Whole"]
