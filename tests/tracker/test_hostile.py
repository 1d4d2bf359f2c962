"""Text that nobody should write: in arguments, in files that are imported, in logs that others push."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.tracker.hostile import LATEST, event, write_log
from tests.tracker.programs import answered, run, said
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
