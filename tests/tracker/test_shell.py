"""`git mile` and `postil issue|milestone`: flags, texts and JSON of the contract's program."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from postil.tracker import events as ev
from tests.tracker.groups import Tracker, forged
from tests.tracker.programs import answered, git, run, said
from tests.tracker.stores import fresh


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
        (("list", "issues"), 2),
        (("list", "milstone"), 2),
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


def test_what_is_closed_together_is_closed_wholly_or_not_at_all(repository: Path):
    ids = [answered(repository, "create", "issue", f"T{number}")["id"] for number in range(3)]
    assert run(repository, "close", *ids, "ffffffff").returncode == 5
    assert len(answered(repository, "list", "issue")["items"]) == 3
    assert said(repository, "close", *ids).count("closed") == 3
    assert answered(repository, "list", "issue")["items"] == []


def test_edit_takes_status_and_labels_and_the_kind_is_known_by_the_id(repository: Path):
    id_ = answered(repository, "create", "milestone", "M", "--label", "old")["id"]
    said(repository, "edit", id_, "--status", "draft", "--label", "new", "--unlabel", "old", "--priority", "high")
    said(repository, "comment", id_, "hello")
    said(repository, "label", id_, "--add", "more")
    shown = answered(repository, "show", id_)
    assert (shown["status"], shown["labels"], len(shown["comments"])) == ("draft", ["more", "new"], 1)
    assert shown["fields"] == {"priority": "high"}


def test_a_list_by_label_and_ids_that_are_unique(repository: Path):
    store = fresh(repository)
    with store.transaction() as tx:
        for number in range(3):  # as UUIDs of version 7 begin, made in one millisecond
            id_ = f"0190a1b2-c3d4-7000-8000-00000000000{number}"
            tx.write(ev.Created, id_, kind="issue", title=f"T{number}", labels=("x",) if number else ())
    listed = said(repository, "list", "issue", "--label", "x", "--columns", "id,title").splitlines()[1:]
    assert [line.split()[1] for line in listed] == ["T2", "T1"]
    for line in listed:
        assert answered(repository, "show", line.split()[0])["title"] == line.split()[1]


def test_the_same_key_makes_one_issue_and_one_comment_everywhere(team: tuple[Path, Path, Path]):
    _, ann, bob = team
    made = {Tracker(where).tools.create("Once", key="k1").id for where in (ann, ann, bob)}
    (id_,) = made
    for where in (ann, bob, ann):
        Tracker(where).tools.comment(id_, "said once", key="c1")
        said(where, "sync")
    assert len(answered(ann, "list", "issue")["items"]) == 1
    assert len(answered(ann, "show", id_)["comments"]) == 1


def test_show_has_the_newest_comments_says_what_it_leaves_out_and_is_never_huge(repository: Path):
    mine = Tracker(repository)
    id_ = mine.tools.create("T", description="d" * 30_000).id
    for number in range(30):
        mine.tools.comment(id_, f"c{number} " + "word " * 400)
    shown = answered(repository, "show", id_, "--limit-comments", "2")
    assert ([one["body"].split()[0] for one in shown["comments"]], shown["comments_omitted"]) == (["c28", "c29"], 28)
    older = answered(repository, "show", id_, "--limit-comments", "2", "--skip-comments", "2")
    assert [one["body"].split()[0] for one in older["comments"]] == ["c26", "c27"]
    small = mine.show("issue", id_)
    assert len(msgspec.json.encode(small)) <= 22_000
    assert small.shortened


def test_what_comes_through_a_pipe_commands_no_terminal(repository: Path):
    id_ = forged(repository)
    for words in (("show", id_), ("list", "issue"), ("log", id_), ("ready",), ("prime",)):
        assert "\x1b" not in run(repository, *words).stdout
