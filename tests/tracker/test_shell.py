"""`git mile` and `postil issue|milestone`: flags, texts and JSON of the contract's program."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tracker.conftest import git
from tests.tracker.shell import answered, run, said


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


def test_texts_and_labels_come_from_files(repository: Path, tmp_path: Path):
    (tmp_path / "d.md").write_text("A long\n\ndescription\n\n")
    (tmp_path / "labels").write_text("one\n# not me\ntwo\n")
    made = answered(
        repository,
        "create",
        "issue",
        "T",
        "--description-file",
        str(tmp_path / "d.md"),
        "--label-file",
        str(tmp_path / "labels"),
    )
    assert (made["description"], made["labels"]) == ("A long\n\ndescription", ["one", "two"])
    both = run(repository, "create", "issue", "T", "--description", "x", "--description-file", str(tmp_path / "d.md"))
    assert both.returncode == 2
    assert "Give one of them" in both.stderr


def test_a_dry_run_writes_nothing(repository: Path):
    made = answered(repository, "create", "issue", "Ghost", "--dry-run")
    assert made["dry_run"] is True
    assert answered(repository, "list", "issue")["items"] == []
    id_ = answered(repository, "create", "issue", "Real")["id"]
    dry = answered(repository, "comment", "issue", id_, "--comment", "hello", "--dry-run")
    assert (dry["dry_run"], dry["body"], dry["preview"]) == (True, "hello", "hello")
    assert answered(repository, "show", id_)["comments"] == []


def test_a_list_can_be_a_table_raw_or_json(repository: Path):
    for title in ("One", "Two"):
        answered(repository, "create", "issue", title, "--label", "x")
    table = said(repository, "list", "issue").splitlines()
    assert table[0].split() == ["ID", "TITLE", "STATUS", "LABELS", "COMMENTS", "UPDATED"]
    assert len(table) == 3
    raw = said(repository, "list", "issue", "--format", "raw", "--columns", "title,labels", "--sort", "title:desc")
    assert raw == "Two\tx\nOne\tx\n"
    page = answered(repository, "list", "issue", "--limit", "1", "--sort", "title")
    assert [item["title"] for item in page["items"]] == ["One"]
    assert page["nextCursor"] == page["next_cursor"] is not None
    rest = answered(repository, "list", "issue", "--limit", "1", "--sort", "title", "--cursor", page["nextCursor"])
    assert ([item["title"] for item in rest["items"]], rest["nextCursor"]) == (["Two"], None)


def test_the_three_syntaxes_of_filters_work_on_the_command_line(repository: Path):
    for title, label in (("One", "a"), ("Two", "b")):
        answered(repository, "create", "issue", title, "--label", label)
    for text in ("labels contains a", "(contains labels a)", "label:a"):
        found = answered(repository, "list", "issue", "--filter", text)["items"]
        assert [item["title"] for item in found] == ["One"], text
    words = answered(repository, "issue", "list", "label:b", "status:open", program="main")["items"]
    assert [item["title"] for item in words] == ["Two"]


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


def test_show_has_the_documents_keys_and_beside_them_the_programs(repository: Path):
    id_ = answered(repository, "create", "issue", "T", "--label", "a")["id"]
    answered(repository, "label", "issue", id_, "--add", "b")
    answered(repository, "comment", "issue", id_, "hello")
    shown = answered(repository, "show", id_)
    (comment,) = shown["comments"]
    assert comment["ts"] == comment["timestamp"] == comment["created_at"] == shown["stats"]["last_commented_at"]
    assert (shown["stats"]["comment_count"], shown["stats"]["created_at"]) == (1, shown["created_at"])
    (change,) = shown["label_events"]
    assert (change["operation"], change["label"], change["actor"]) == ("add", "b", "Tester")
    (item,) = answered(repository, "list", "issue", "--long")["items"]
    assert (item["comments"], item["label_events"]) == ([comment], [change])
    assert (item["comment_count"], item["latest_comment_excerpt"]) == (1, "hello")
    assert "comments" not in answered(repository, "list", "issue")["items"][0]


def test_a_comment_can_quote_another(repository: Path):
    id_ = answered(repository, "create", "issue", "T")["id"]
    first = answered(repository, "comment", "issue", id_, "--comment", "why?\nreally")
    assert first["created"] is True
    answered(repository, "comment", "issue", id_, "--comment", "because", "--quote", first["comment_id"][:6])
    bodies = [comment["body"] for comment in answered(repository, "show", id_)["comments"]]
    assert bodies[1] == "> Tester wrote:\n> why?\n> really\n\nbecause"


def test_editing_with_flags_opens_no_editor_and_without_a_terminal_says_what_to_do(repository: Path):
    id_ = answered(repository, "create", "issue", "T")["id"]
    assert answered(repository, "edit", id_, "--title", "New")["changed"] == ["title"]
    refused = run(repository, "edit", id_)
    assert refused.returncode == 2
    assert "no terminal" in refused.stderr
    empty = run(repository, "comment", "issue", id_)
    assert empty.returncode == 2
    assert "--comment" in empty.stderr


def on_a_terminal(where: Path, *words: str, **environ: str) -> int:
    """Run `git mile` as a person at a terminal does; its exit status."""
    parent, child = pty.openpty()
    code = "import sys; from postil.surfaces.shell.main import git_mile as run; sys.exit(run())"
    done = subprocess.run(
        [sys.executable, "-c", code, *words],
        cwd=where,
        stdin=child,
        stdout=child,
        stderr=child,
        env={**os.environ, **environ},
        timeout=60,
    )
    os.close(child)
    os.close(parent)
    return done.returncode


def editor_that_types(folder: Path, name: str, text: str) -> str:
    editor = folder / name
    editor.write_text(f'#!/bin/sh\ncat "$1" > "$0.seen"\n(head -2 "$0.seen"; printf \'{text}\') > "$1"\n')
    editor.chmod(0o755)
    return str(editor)


def test_create_takes_its_first_comment_from_the_editor_that_git_mile_names(repository: Path, tmp_path: Path):
    mine = editor_that_types(tmp_path, "mine", "# A heading\\nTyped, on two\\nlines\\n")
    other = editor_that_types(tmp_path, "other", "wrong\\n")
    variables = {"GIT_MILE_EDITOR": mine, "VISUAL": other, "EDITOR": other}
    assert on_a_terminal(repository, "create", "issue", "From the editor", "--editor", **variables) == 0
    (item,) = answered(repository, "list", "issue")["items"]
    assert [c["body"] for c in answered(repository, "show", item["id"])["comments"]] == [
        "# A heading\nTyped, on two\nlines"
    ]
    assert "# The first comment on: From the editor" in (tmp_path / "mine.seen").read_text()
    assert on_a_terminal(repository, "create", "issue", "x", "--editor", "--comment", "y", **variables) == 2
    empty = editor_that_types(tmp_path, "empty", "\\n \\n")
    assert on_a_terminal(repository, "create", "issue", "x", "--editor", GIT_MILE_EDITOR=empty) == 2
    assert len(answered(repository, "list", "issue")["items"]) == 1


def test_on_a_terminal_the_editor_is_used(repository: Path, tmp_path: Path):
    id_ = answered(repository, "create", "issue", "T", "--description", "old")["id"]
    editor = editor_that_types(tmp_path, "editor", "#5 is a typed title\\n\\nTyped text\\n")
    assert on_a_terminal(repository, "edit", id_, EDITOR=editor, VISUAL=editor) == 0
    shown = answered(repository, "show", id_)
    assert (shown["title"], shown["description"]) == ("#5 is a typed title", "Typed text")


def test_the_author_can_be_named_before_and_after_the_command(repository: Path):
    one = answered(repository, "--author", "Ann", "--email", "ann@x.org", "create", "issue", "T")["id"]
    two = answered(repository, "create", "issue", "T", "--author", "Bob", "--email", "bob@x.org")["id"]
    assert answered(repository, "show", one)["author"] == "Ann"
    assert answered(repository, "show", two)["author"] == "Bob"


def test_the_repository_can_be_named(repository: Path, tmp_path: Path):
    answered(repository, "create", "issue", "There")
    found = answered(tmp_path, "--repo", str(repository), "list", "issue")
    assert [item["title"] for item in found["items"]] == ["There"]


def test_what_makes_no_sense_any_more_is_refused_with_a_reason(repository: Path):
    replica = run(repository, "--replica", "host1", "create", "issue", "T")
    assert (replica.returncode, "no two can share one" in replica.stderr) == (2, True)
    legacy = run(repository, "list", "issue", "--legacy-query")
    assert (legacy.returncode, "There is no flag --legacy-query" in legacy.stderr) == (2, True)


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


def test_the_log_tells_everything_that_happened(repository: Path):
    id_ = answered(repository, "create", "issue", "T", "--message", "because")["id"]
    answered(repository, "close", id_)
    events = answered(repository, "log", id_)["events"]
    assert [event["type"] for event in events] == ["created", "set"]
    assert events[0]["what"].endswith("— because")


def test_a_deleted_issue_is_gone_from_lists_and_can_come_back(repository: Path):
    id_ = answered(repository, "create", "issue", "T")["id"]
    answered(repository, "issue", "delete", id_, program="main")
    assert answered(repository, "list", "issue", "--all")["items"] == []
    answered(repository, "issue", "delete", id_[:6], "--undo", program="main")
    assert len(answered(repository, "list", "issue")["items"]) == 1
    for none in ("", "ffffffff-", "*"):
        assert run(repository, "delete", none, "--undo").returncode == 5


def test_milestones_have_commands_of_their_own(repository: Path):
    mile = answered(repository, "milestone", "create", "1.0", "--due", "2027-01-01", program="main")["id"]
    issue = answered(repository, "issue", "create", "T", "--milestone", "1.0", program="main")["id"]
    answered(repository, "close", issue)
    (item,) = answered(repository, "milestone", "list", program="main")["items"]
    assert (item["id"], item["due"], item["stats"]["progress"]) == (mile, "2027-01-01", 1.0)
    assert "100% (1 of 1 closed)" in said(repository, "milestone", "show", mile, program="main")


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (("list", "issue", "--filter", "status =="), 2),
        (("list", "issue", "--sort", "labels"), 2),
        (("list", "issue", "--columns", "colour"), 2),
        (("list", "issue", "words", "--filter", "status:open"), 2),
        (("comment", "issue", "ffff", "text", "--comment-file", "also"), 2),
        (("list", "epic"), 2),
        (("show", "ffffffff"), 5),
        (("show", "what?"), 2),
        (("create", "issue", ""), 2),
        (("create", "issue", "T", "--milestone", "none-such"), 2),
        (("frobnicate",), 2),
    ],
)
def test_what_cannot_be_done_ends_with_its_status_and_a_hint(repository: Path, words: tuple[str, ...], status: int):
    done = run(repository, *words)
    assert (done.returncode, done.stdout) == (status, "")
    assert "error:" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_same_idempotency_key_creates_one_issue(repository: Path):
    words = ("create", "issue", "Once", "--idempotency-key", "k1")
    assert answered(repository, *words)["id"] == answered(repository, *words)["id"]
    assert len(answered(repository, "list", "issue")["items"]) == 1


def test_worktrees_and_bare_repositories_share_and_keep_issues(repository: Path, tmp_path: Path):
    git(repository, "commit", "--quiet", "--allow-empty", "-m", "first")
    git(repository, "worktree", "add", "--quiet", str(tmp_path / "tree"))
    answered(tmp_path / "tree", "create", "issue", "From the worktree")
    assert [item["title"] for item in answered(repository, "list", "issue")["items"]] == ["From the worktree"]
    git(tmp_path, "init", "--quiet", "--bare", "bare.git")
    answered(tmp_path / "bare.git", "create", "issue", "In the bare one")
    assert [item["title"] for item in answered(tmp_path / "bare.git", "list", "issue")["items"]] == ["In the bare one"]


def test_the_first_word_settles_the_kind_and_every_verb_is_there_for_milestones(repository: Path):
    mile = answered(repository, "milestone", "create", "1.0", "--comment", "go", program="main")
    assert (mile["kind"], mile["initial_comment"]) == ("milestone", True)
    issue = answered(repository, "issue", "create", "T", program="main")["id"]
    answered(repository, "milestone", "comment", mile["id"], "on it", program="main")
    answered(repository, "milestone", "label", "1.0", "--add", "x", program="main")
    wrong = run(repository, "issue", "label", mile["id"], "--add", "y", program="main")
    assert (wrong.returncode, "is a milestone" in wrong.stderr) == (5, True)
    assert "kind" not in run(repository, "issue", "list", "--help", program="main").stdout.lower()
    for verb in ("draft", "open", "close", "show", "log"):
        assert run(repository, "milestone", verb, "1.0", program="main").returncode == 0
    assert [item["id"] for item in answered(repository, "list")["items"]] == [issue]
    same = answered(repository, "mile", "list", "milestone", "label:x", "--all", program="main")["items"]
    assert same == answered(repository, "milestone", "list", "label:x", "--all", program="main")["items"]


def test_a_key_used_for_an_issue_is_not_answered_for_a_milestone(repository: Path):
    answered(repository, "issue", "create", "Same", "--idempotency-key", "k", program="main")
    other = run(repository, "milestone", "create", "Same", "--idempotency-key", "k", program="main")
    assert other.returncode == 6


def test_a_milestone_answers_to_its_title_but_never_in_place_of_an_id(repository: Path):
    issue = answered(repository, "create", "issue", "T")["id"]
    mile = answered(repository, "create", "milestone", "Spring 1.0")["id"]
    assert answered(repository, "show", "Spring 1.0")["id"] == mile
    answered(repository, "create", "milestone", issue[:8])
    assert answered(repository, "show", issue[:8])["id"] == issue
    answered(repository, "create", "milestone", "Spring 1.0")
    twice = run(repository, "show", "Spring 1.0")
    assert (twice.returncode, "Several milestones" in twice.stderr, mile in twice.stderr) == (2, True, True)


def test_an_empty_comment_needs_to_be_meant(repository: Path):
    refused = run(repository, "create", "issue", "T", "--comment", "  ")
    assert (refused.returncode, "comment is empty" in refused.stderr) == (2, True)
    id_ = answered(repository, "create", "issue", "T", "--comment", "", "--allow-empty")["id"]
    answered(repository, "comment", "issue", id_, "--comment", "", "--allow-empty")
    assert [comment["body"] for comment in answered(repository, "show", id_)["comments"]] == ["", ""]
