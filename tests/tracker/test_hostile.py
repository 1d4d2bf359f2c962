"""Text that nobody should write: in arguments, in files that are imported, in logs that others push."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import msgspec

from postil.tracker import events as ev
from tests.tracker.groups import Tracker
from tests.tracker.hostile import LATEST, event, write_log
from tests.tracker.programs import answered, git, run, said
from tests.tracker.stores import fresh, own_ref


def test_bytes_that_are_no_text_are_refused(repository: Path, tmp_path: Path):
    (tmp_path / "bytes").write_bytes(b"\xff\xfe{}")
    code = "import sys; from postil.surfaces.shell.main import git_mile; sys.exit(git_mile())"
    for name in (str(tmp_path / "bytes"), "-"):
        with (tmp_path / "bytes").open("rb") as given:
            done = subprocess.run(
                [sys.executable, "-c", code, "import", name],
                cwd=repository,
                stdin=given,
                capture_output=True,
                timeout=60,
            )
        assert (done.returncode, b"not UTF-8" in done.stderr) == (2, True)


def poisoned(team: tuple[Path, Path, Path]) -> tuple[Path, Path, str]:
    """Two clones with one issue, and a third writer's event with the greatest clock there can be."""
    remote, ann, bob = team
    id_ = answered(ann, "create", "issue", "Mine", "--label", "keep")["id"]
    said(ann, "sync")
    write_log(remote, event(id_, 1, "labels", add=["evil"]), event(id_, 2, "assign", add=["eve"]))
    for clone in (ann, bob):
        said(clone, "pull")
    return ann, bob, id_


def test_what_is_removed_after_a_poisoned_clock_stays_removed_everywhere(team: tuple[Path, Path, Path]):
    ann, bob, id_ = poisoned(team)
    said(ann, "label", "issue", id_, "--remove", "evil")
    said(ann, "assign", id_, "--remove", "eve")
    for clone in (ann, bob, ann):
        said(clone, "sync")
    for clone in (ann, bob):
        shown = answered(clone, "show", id_)
        assert (shown["labels"], shown.get("assignees")) == (["keep"], None)


def test_nobody_follows_a_clock_that_is_not_believed_and_verify_names_the_event(team: tuple[Path, Path, Path]):
    ann, _, id_ = poisoned(team)
    said(ann, "comment", "issue", id_, "--comment", "after it")
    store = fresh(ann)
    store.refresh()
    assert store.index.clock() < 100
    told = run(ann, "verify")
    assert "evil0000000000000002" in told.stdout
    assert told.returncode == 0


def test_events_forged_under_ones_name_do_not_stop_one_from_writing(team: tuple[Path, Path, Path]):
    remote, ann, bob = team
    id_ = answered(ann, "create", "issue", "Mine")["id"]
    said(ann, "sync")
    me = own_ref(ann).rpartition("/")[2]
    write_log(remote, event(id_, LATEST, "set", 3, f="title", value="Forged", r=me))
    said(ann, "pull")
    for number in range(2):
        said(ann, "comment", "issue", id_, "--comment", f"still here {number}")
    said(ann, "edit", id_, "--title", "Mine again")
    said(ann, "sync")
    said(bob, "pull")
    shown = answered(bob, "show", id_)
    assert (shown["title"], len(shown["comments"])) == ("Mine again", 2)


def test_what_a_newer_version_writes_is_shown_as_it_is_and_kept(team: tuple[Path, Path, Path]):
    remote, ann, _ = team
    id_ = answered(ann, "create", "issue", "Mine")["id"]
    other = answered(ann, "create", "issue", "Other")["id"]
    said(ann, "sync")
    write_log(
        remote,
        event(id_, 1, "link", 5, add=[["teleports", other]]),
        event(id_, 2, "set", 6, f="status", value="in-review"),
        event(id_, 3, "set", 7, f="mood", value="fine"),
        event(id_, 4, "beamed", 8, where="moon"),
        event(id_, 5, "set", 9, f="title", value="Of version 2", v=2),
        event("11111111-0000-4000-8000-000000000001", 6, "created", 10, kind="", title="Of no kind"),
    )
    said(ann, "pull")
    shown = answered(ann, "show", id_)
    assert (shown["title"], shown["status"], shown["fields"]) == ("Mine", "in-review", {"mood": "fine"})
    assert [link["type"] for link in shown["links"]] == ["teleports"]
    assert [link["type"] for link in answered(ann, "show", other)["links"]] == ["teleports of"]
    for words in (("show", id_), ("show", other), ("list", "issue"), ("ready",), ("close", id_), ("show", "11111111")):
        said(ann, *words)
    kinds = [one["type"] for one in answered(ann, "log", id_)["events"]]
    assert [kind for kind in ("beamed", "set") if kind in kinds] == ["beamed", "set"]
    assert run(ann, "show", "11111111", "--json").returncode == 0
    assert "newer version" in said(ann, "verify")
    assert run(ann, "label", "milestone", "1111", "--add", "x").returncode == 5


def test_a_log_of_a_later_format_is_named_and_hides_no_other(team: tuple[Path, Path, Path]):
    remote, ann, _ = team
    said(ann, "create", "issue", "Mine")
    said(ann, "sync")
    write_log(remote, event("11111111-0000-4000-8000-000000000001", 1, "created", 3), head="postil/2")
    said(ann, "pull")
    listed = run(ann, "list", "issue")
    assert "Mine" in listed.stdout
    assert "format 2" in run(ann, "verify").stdout


def test_a_status_of_a_newer_version_can_be_asked_for(repository: Path):
    id_ = answered(repository, "create", "issue", "One")["id"]
    store = Tracker(repository).issues.store
    with store.transaction() as tx:
        tx.write(ev.Set, id_, f="status", value="Reviewed")
    for _ in range(2):  # the ordinary way, then the fast one
        for asked in ("status == Reviewed", "status:Reviewed", "(= status Reviewed)", "status in [open, Reviewed]"):
            assert id_[:8] in said(repository, "list", "issue", "--filter", asked)
    assert id_[:8] not in said(repository, "list", "issue", "--filter", "status != Reviewed")
    refused = run(repository, "list", "issue", "--filter", "status == opne")
    assert refused.returncode == 2
    assert "did you mean `open`?" in refused.stderr


def test_a_log_that_nobody_should_write_ends_no_command_of_others(repository: Path):
    said(repository, "create", "issue", "Mine")
    write_log(repository, event("11111111-0000-4000-8000-000000000001", 1, "comment", 1, body="x" * (13 << 20)))
    blob = subprocess.run(
        ["git", "hash-object", "-w", "--stdin"], cwd=repository, input=b"x", capture_output=True, check=True
    )
    git(repository, "update-ref", "refs/postil/log/ddddddddddddd", blob.stdout.decode().strip())
    for words in (("list",), ("ready",), ("create", "issue", "More"), ("list", "--json")):
        done = run(repository, *words)
        assert done.returncode == 0, words
    assert "is not read" in run(repository, "ready").stderr  # but it is said
    checked = run(repository, "verify")
    assert checked.returncode == 7
    assert checked.stdout.count("is not read") == 2


def test_no_field_of_an_issue_reaches_the_output_raw_or_whole(repository: Path):
    id_ = "11111111-0000-4000-8000-000000000001"
    bad = "\x1b[2J\x9b\u202e" * 2000
    other = answered(repository, "create", "issue", "Other")["id"]
    write_log(
        repository,
        event(id_, 1, "created", 1, kind="issue", title=bad * 50, status=bad, due=bad, milestone=bad, labels=[bad]),
        event(id_, 6, "described", 6, text=bad),
        event(id_, 2, "set", 2, f=bad, value=bad),
        event(id_, 3, "set", 2, f="title", value=bad, r="other22222222"),
        event(id_, 4, "claim", 4, who=bad, until="2099-01-01T00:00:00.000Z"),
        event(id_, 5, "comment", 5, c=bad, body=bad),
    )
    for words in (
        ("list", "--all", "--long"),
        ("show", id_),
        ("log", id_),
        ("ready",),
        ("prime",),
        ("entity-debug", "show", id_),
        ("next", "--no-claim"),
        ("label", "issue", id_, "--add", "mine"),
        ("edit", id_, "--priority", "high"),
        ("link", id_, "related", other),
        ("draft", id_),
        ("release", id_, "--reason", "done"),
        ("claim", id_),
        ("close", id_),
    ):
        done = run(repository, *words)
        assert done.returncode == 0, words
        assert not any(mark in done.stdout + done.stderr for mark in "\x1b\x9b\u202e"), words
    assert len(said(repository, "next", "--no-claim")) < 4000


def test_one_issue_does_not_push_the_others_out_of_a_list(repository: Path):
    other = answered(repository, "create", "issue", "Other")["id"]
    many = [f"label{n}" for n in range(9_000)]
    id_ = "11111111-0000-4000-8000-000000000001"
    write_log(
        repository,
        event(id_, 1, "created", 5, kind="issue", title="T" * 50_000, labels=many, assignees=many),
        *(event(id_, n, "set", 9, f="title", value=f"v{n}", r=name_writer(n)) for n in range(2, 302)),
    )
    tracker = Tracker(repository)
    found = tracker.list("issue")
    assert [item.id for item in found.items] == [id_, other]
    assert found.items[0].labels[-1] == "… 8950 more"
    ready = tracker.plan.ready()
    assert len(msgspec.json.encode((found, ready))) < 10_000
    for words in (("list",), ("ready",), ("show", id_)):
        assert len(said(repository, *words)) < 20_000, words
    assert len(answered(repository, "show", id_)["labels"]) == 9_000


def name_writer(number: int) -> str:
    return f"other{number:08d}".translate(str.maketrans("0123456789", "abcdefghij"))
