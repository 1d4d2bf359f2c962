"""What a rewritten ref or a lost object took away comes back, for fresh clones too."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.tracker.damage import log_commits, lose
from tests.tracker.groups import Tracker
from tests.tracker.hostile import event, write_log
from tests.tracker.programs import git, run, said
from tests.tracker.stores import own_ref
from tests.tracker.teams import list_titles


def fresh_clone(remote: Path, name: str) -> Path:
    where = remote.parent / name
    git(remote.parent, "clone", "--quiet", str(remote), str(where))
    said(where, "pull")
    return where


def rewritten(remote: Path, how: str) -> None:
    """Somebody with push rights force-pushes over the only log."""
    ref = git(remote, "for-each-ref", "--format=%(refname)", "refs/postil/log").strip()
    replica = ref.rpartition("/")[2]
    if how == "back":
        git(remote, "update-ref", ref, f"{ref}~2")
    elif how == "deleted":
        git(remote, "update-ref", "-d", ref)
    elif how == "orphan":
        write_log(remote, event("11111111-0000-4000-8000-000000000001", 1, "comment", 1, c="x"), replica=replica)
    else:
        old = git(remote, "rev-parse", f"{ref}~1").strip()
        write_log(
            remote, event("11111111-0000-4000-8000-000000000001", 1, "comment", 9, c="x"), replica=replica, parent=old
        )


@pytest.mark.parametrize("how", ["back", "deleted", "orphan", "diverged"])
@pytest.mark.parametrize("overwritten", [False, True])
def test_the_owners_next_sync_brings_its_events_back_for_everyone(
    team: tuple[Path, Path, Path], how: str, overwritten: bool
):
    remote, ann, bob = team
    for number in range(3):
        Tracker(ann).tools.create(f"T{number}")
    said(ann, "sync")
    said(bob, "pull")
    rewritten(remote, how)
    if overwritten:  # a mirror's fetch puts the rewritten log over our own
        git(ann, "fetch", "--quiet", "--prune", "origin", "+refs/postil/log/*:refs/postil/log/*")
    told = said(ann, "sync")
    assert "again" in told or how in ("back", "deleted")
    wanted = ["T0", "T1", "T2"]
    assert list_titles(ann) == wanted
    assert list_titles(fresh_clone(remote, "carl")) == wanted
    said(bob, "sync")
    assert list_titles(bob) == wanted
    assert "nothing new" in said(ann, "sync")
    assert git(ann, "for-each-ref", "refs/postil/kept") == ""


def test_what_one_clone_saw_of_a_rewritten_log_all_get_by_plain_syncs(team: tuple[Path, Path, Path]):
    remote, ann, bob = team
    Tracker(bob).tools.create("Bob writes too")
    said(bob, "sync")
    Tracker(ann).tools.create("Ann was here")
    said(ann, "sync")
    said(bob, "sync")
    refs = git(remote, "for-each-ref", "--format=%(refname)", "refs/postil/log").split()
    (log,) = [ref for ref in refs if "Ann was here" in git(remote, "log", "-1", "--format=%b", ref)]
    git(remote, "update-ref", "-d", log)
    write_log(remote, event("11111111-0000-4000-8000-000000000001", 1, "warp", 1), replica=log.rpartition("/")[2])
    said(bob, "pull")  # ann is gone for good: bob is the last who has it
    warned = run(bob, "list").stderr
    assert "rewritten" in warned
    assert "`git mile sync` gives" in warned
    assert "1 event appended again" in said(bob, "sync")
    assert list_titles(fresh_clone(remote, "carl")) == ["Ann was here", "Bob writes too"]
    assert git(bob, "for-each-ref", "refs/postil/kept") == ""
    assert "nothing new" in said(bob, "sync")
    assert run(bob, "list").stderr == ""


def test_logs_that_somebody_deleted_come_back_by_the_sync_of_any_writer_who_saw_them(team: tuple[Path, Path, Path]):
    remote, ann, bob = team
    carl = fresh_clone(remote, "carl")
    for clone, title in ((ann, "Ann was here"), (carl, "Carl too"), (bob, "Bob writes")):
        Tracker(clone).tools.create(title)
        said(clone, "sync")
    for ref in git(remote, "for-each-ref", "--format=%(refname)", "refs/postil/log").split():
        git(remote, "update-ref", "-d", ref)
    told = said(bob, "sync")  # ann and carl are gone for good
    assert f"Pushed {own_ref(bob)} to origin" in told
    assert "2 events appended again" in told
    wanted = ["Ann was here", "Bob writes", "Carl too"]
    assert list_titles(bob) == list_titles(fresh_clone(remote, "dora")) == wanted
    assert git(bob, "for-each-ref", "refs/postil/kept") == ""
    assert "nothing new" in said(bob, "sync")


def test_an_empty_host_gets_the_events_of_all_writers_and_the_old_one_stays_as_it_was(team: tuple[Path, Path, Path]):
    remote, ann, bob = team
    for clone, title in ((ann, "Ann was here"), (bob, "Bob writes")):
        Tracker(clone).tools.create(title)
        said(clone, "sync")
    before = git(remote, "for-each-ref", "refs/postil")
    empty = remote.parent / "empty.git"
    git(remote.parent, "init", "--quiet", "--bare", str(empty))
    git(bob, "remote", "set-url", "origin", str(empty))
    assert "origin is new or somebody deleted its logs: 1 event appended again" in said(bob, "sync")
    wanted = ["Ann was here", "Bob writes"]
    assert list_titles(bob) == list_titles(fresh_clone(empty, "dora")) == wanted
    assert git(remote, "for-each-ref", "refs/postil") == before
    git(ann, "remote", "set-url", "origin", str(empty))  # ann comes after, with the log that bob had carried over
    said(ann, "sync")
    said(bob, "sync")
    assert list_titles(ann) == list_titles(bob) == wanted
    states = {said(clone, "verify").partition("state ")[2] for clone in (ann, bob)}
    assert len(states) == 1


def test_verify_fix_gives_back_what_another_writer_lost(team: tuple[Path, Path, Path]):
    remote, ann, bob = team
    Tracker(ann).tools.create("T0")
    said(ann, "sync")
    said(bob, "pull")
    rewritten(remote, "orphan")
    said(bob, "pull")
    assert "rewritten" in run(bob, "verify").stdout
    fixed = said(bob, "verify", "--fix")
    assert "1 event appended" in fixed
    assert "no problem" in fixed
    said(bob, "push")
    assert list_titles(fresh_clone(remote, "carl")) == ["T0"]


def test_the_index_is_the_last_copy_and_gives_it_back(repository: Path):
    for number in range(3):
        Tracker(repository).tools.create(f"T{number}")
    lose(repository, log_commits(repository)[1])
    fixed = run(repository, "verify", "--fix")
    assert "appended" in fixed.stdout
    assert list_titles(repository) == ["T0", "T1", "T2"]
    assert said(repository, "verify").endswith("no problem found\n")
    git(repository, "fsck", "--strict", own_ref(repository))


def test_garbage_collection_beside_writers_loses_nothing(repository: Path):
    collect = f"while [ ! -e {repository}/stop ]; do git gc --quiet --prune=now; sleep 0.2; done"
    with subprocess.Popen(["sh", "-c", collect], cwd=repository, stderr=subprocess.DEVNULL) as running:
        try:
            for number in range(12):
                said(repository, "create", "issue", f"T{number:02}")
        finally:
            (repository / "stop").touch()
            running.wait(60)
    (repository / "stop").unlink()
    assert list_titles(repository) == [f"T{number:02}" for number in range(12)]
    assert said(repository, "verify").endswith("no problem found\n")


def test_many_deleted_logs_come_back_with_a_few_processes(
    team: tuple[Path, Path, Path], monkeypatch: pytest.MonkeyPatch
):
    remote, ann, _ = team
    said(ann, "create", "issue", "Mine")
    said(ann, "sync")
    names = [f"zzzzzzzzzzz{one}{other}" for one in "abcdef" for other in "abcdef"]
    for n, name in enumerate(names):
        id_ = f"11111111-0000-4000-8000-{n:012}"
        write_log(
            remote, {**event(id_, 1, "created", 3, kind="issue", title=name), "r": name, "id": name}, replica=name
        )
    said(ann, "pull")
    for name in names:
        git(remote, "update-ref", "-d", f"refs/postil/log/{name}")
    asked: list[object] = []
    spawn, start = os.posix_spawnp, subprocess.Popen.__init__

    def count_run(*words: Any, **more: Any) -> int:
        asked.append(words)
        return spawn(*words, **more)

    def count_talk(*words: Any, **more: Any) -> None:
        asked.append(words)
        start(*words, **more)

    monkeypatch.setattr(os, "posix_spawnp", count_run)
    monkeypatch.setattr(subprocess.Popen, "__init__", count_talk)
    tracker = Tracker(ann)
    tracker.sync.sync()
    assert 0 < len(asked) < len(names)
    assert list_titles(ann) == ["Mine", *names]
    assert "refs/postil/kept" not in git(ann, "for-each-ref")
