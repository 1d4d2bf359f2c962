"""Damage is found, named and repaired where it can be."""

from __future__ import annotations

import os
import random
import shutil
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from postil.tracker.log import verify
from postil.tracker.log.format import Objects, open_objects
from postil.tracker.log.verify import verify_logs
from tests.tracker.damage import lose
from tests.tracker.groups import Tracker
from tests.tracker.programs import git, run, said
from tests.tracker.stores import fetch, fresh, hash_state, make_many
from tests.tracker.teams import list_titles


def test_verify_names_a_missing_object_and_other_logs_are_still_read(team: tuple[Path, Path, Path]):
    _, ann, bob = team
    Tracker(ann).tools.create("Ann")
    Tracker(ann).tools.create("Ann 2")
    said(ann, "push")
    said(bob, "pull")
    Tracker(bob).tools.create("Bob")
    tip = git(bob, "for-each-ref", "--format=%(objectname)", "refs/postil/remote").split()[0]
    parent = git(bob, "rev-parse", f"{tip}~1").strip()
    lose(bob, parent)
    shutil.rmtree(bob / ".git/postil")
    assert list_titles(bob) == ["Ann 2", "Bob"]
    report = verify_logs(Tracker(bob).issues.store, fix=False)
    assert report.exit_status == 7
    assert any("refs/postil/remote" in line for line in report.problems)
    assert "came from a remote" in said(bob, "verify", "--fix")
    assert list_titles(bob) == ["Ann", "Ann 2", "Bob"]


def test_many_logs_are_read_by_one_git(team: tuple[Path, Path, Path], monkeypatch: pytest.MonkeyPatch):
    """10,000 logs took as many processes, and 22 s of CPU."""
    _, ann, _ = team
    Tracker(ann).tools.create("Ann")
    ref, oid = git(ann, "for-each-ref", "--format=%(refname) %(objectname)", "refs/postil/log").split()
    name = ref.rpartition("/")[2]
    for letter in "abcdefgh":
        git(ann, "update-ref", f"{ref.removesuffix(name)}{letter * len(name)}", oid)
    opened: list[str] = []

    def note(root: str) -> AbstractContextManager[Objects]:
        opened.append(root)
        return open_objects(root)

    monkeypatch.setattr(verify, "open_objects", note)
    assert verify_logs(Tracker(ann).issues.store, fix=False).logs == 9
    assert len(opened) == 1


def test_a_log_that_is_here_twice_is_counted_once(team: tuple[Path, Path, Path]):
    _, ann, bob = team
    Tracker(ann).tools.create("Ann")
    said(ann, "sync")
    said(ann, "pull")  # its own log is now also one of the remote's
    assert git(ann, "for-each-ref", "refs/postil").count("\n") == 2
    said(bob, "pull")
    counted = {said(clone, "verify").partition("\n")[0] for clone in (ann, bob)}
    assert counted == {"1 log, 1 commit, 1 event, 1 entity"}


def test_stale_locks_are_named_and_removed_when_asked(shared: tuple[Path, Path]):
    where, _ = shared
    ref = git(where, "for-each-ref", "--format=%(refname)", "refs/postil/log").strip()
    lock = where / ".git" / f"{ref}.lock"
    lock.write_text("")
    os.utime(lock, (1, 1))
    told = run(where, "verify")
    assert (told.returncode, "lock" in told.stdout) == (7, True)
    fixed = run(where, "verify", "--fix")
    assert (fixed.returncode, lock.exists()) == (0, False)


def test_clones_that_have_the_same_logs_have_one_state_hash(pair: tuple[Path, Path]):
    one, two = pair
    dice = random.Random(3)
    ids: list[str] = []
    for _ in range(3):
        make_many(one, 60, dice, ids)
        fetch(two, one, "one")
        make_many(two, 60, dice, ids)
        fetch(one, two, "two")
    hashes: set[str] = set()
    for where in pair:
        store = fresh(where)
        store.refresh()
        hashes.add(hash_state(store))
    assert len(hashes) == 1
