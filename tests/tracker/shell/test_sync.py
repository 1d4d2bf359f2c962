"""The commands that exchange and look after the logs."""

from __future__ import annotations

from pathlib import Path

import pytest

from postil.tracker.log.verify import verify_logs
from tests.tracker.groups import Tracker
from tests.tracker.programs import git, run, said
from tests.tracker.teams import list_titles


def test_sync_brings_both_sides_to_the_same_state(team: tuple[Path, Path, Path]):
    _, ann, bob = team
    one = Tracker(ann).tools.create("From Ann").id
    said(ann, "sync")
    said(bob, "sync")
    Tracker(bob).tools.create("From Bob")
    Tracker(ann).tools.update(one, title="Ann's title")
    Tracker(bob).tools.update(one, title="Bob's title")
    said(bob, "sync")
    said(ann, "sync")
    said(bob, "pull")
    assert list_titles(ann) == list_titles(bob)
    states = {verify_logs(Tracker(where).issues.store, fix=False).state for where in (ann, bob)}
    assert len(states) == 1
    shown = Tracker(ann).show("issue", one)
    assert isinstance(shown.conflicts, list)
    assert len(shown.conflicts) == 1
    Tracker(ann).tools.update(one, title=shown.title)
    assert not Tracker(ann).show("issue", one).conflicts


def test_after_init_a_plain_fetch_is_enough_and_init_may_be_repeated(team: tuple[Path, Path, Path]):
    _, ann, bob = team
    Tracker(ann).tools.create("Hello")
    said(ann, "push")
    assert "Initialized" in said(bob, "init")
    assert "already" in said(bob, "init")
    git(bob, "fetch", "--quiet")
    assert list_titles(bob) == ["Hello"]
    assert "git config --add remote.origin.fetch" in said(bob, "init", "--no-config")


def traces(clone: Path) -> set[str]:
    """Every file and folder of a repository but git's objects, which its own gc removes."""
    found = (path.relative_to(clone).as_posix() for path in clone.rglob("*"))
    return {path for path in found if not path.startswith(".git/objects/")}


@pytest.mark.parametrize("where", [(), ("--branches",)])
def test_removing_the_tracker_leaves_no_trace(team: tuple[Path, Path, Path], where: tuple[str, ...]):
    _, ann, bob = team
    config, before, refs = (ann / ".git/config").read_text(), traces(ann), git(ann, "for-each-ref")
    said(ann, "init", *where)
    Tracker(ann).tools.create("x")
    Tracker(bob).tools.create("y")
    said(bob, "push")
    said(ann, "save", "mine", "label:x")
    said(ann, "sync")
    assert run(ann, "deinit").returncode == 2
    assert "3 refs" in said(ann, "deinit", "--yes")
    assert git(ann, "for-each-ref") == refs
    assert (ann / ".git/config").read_text() == config
    assert not [path for path in traces(ann) - before if "postil" in path or (ann / path).is_file()]
    assert "0 refs" in said(ann, "deinit", "--yes")


def test_exchanging_says_what_came_and_went(team: tuple[Path, Path, Path]):
    _, ann, bob = team
    assert "git fetch" in said(ann, "init")
    assert said(ann, "push") == "Nothing was written here yet\n"
    for title in ("One", "Two"):
        Tracker(ann).tools.create(title)
    assert "Pushed refs/postil/log/" in said(ann, "sync")
    assert said(ann, "sync") == "Pulled from origin: nothing new\nPushed to origin: nothing new\n"
    said(bob, "pull")
    Tracker(ann).tools.create("Three")
    said(ann, "push")
    assert said(bob, "pull") == "Pulled from origin: 1 entity changed\n"


def test_who_pulls_is_told_what_waits_for_a_decision(team: tuple[Path, Path, Path]):
    _, ann, bob = team
    one = Tracker(ann).tools.create("From Ann").id
    said(ann, "sync")
    assert "at the same time" not in said(bob, "sync")
    Tracker(ann).tools.update(one, title="Ann's title")
    Tracker(bob).tools.update(one, title="Bob's title")
    assert "at the same time" not in said(bob, "sync")
    assert f"Written here and there at the same time: {one[:8]}; " in said(ann, "pull")
    assert "at the same time" not in said(ann, "pull")


def test_a_fresh_clone_says_how_its_issues_come(team: tuple[Path, Path, Path]):
    _, ann, bob = team
    assert "`git mile create issue TITLE`" in said(ann, "list", "issue")
    Tracker(ann).tools.create("From Ann")
    said(ann, "sync")
    assert "`git mile pull`" in said(bob, "list")
    assert said(bob, "list", "--format", "raw").strip() == ""
    said(bob, "pull")
    assert "From Ann" in said(bob, "list")
    assert said(bob, "list", "label:x").strip() == "Nothing matches"
    git(ann, "remote", "remove", "origin")
    assert "pull" not in said(ann, "list", "milestone")
