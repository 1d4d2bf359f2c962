"""Logs that part, are rewritten or cannot be read."""

from __future__ import annotations

import shutil
from pathlib import Path

from postil.tracker.log.replica import Replica, read_replica, write_replica
from postil.tracker.store import Store
from tests.tracker.programs import git
from tests.tracker.stores import create, fresh, own_ref, titles


def test_two_histories_of_one_log_are_both_read_and_the_identity_changes(
    store: Store, repository: Path, tmp_path: Path
):
    create(store, "Common")
    copy = tmp_path / "copy"
    shutil.copytree(repository, copy)
    theirs = fresh(copy)
    # As after restoring a snapshot of the machine: the copy believes it is the original.
    mine = read_replica(store.repository)
    assert mine is not None
    write_replica(theirs.repository, Replica(mine.id, copy.joinpath(".git").stat().st_ino))
    create(theirs, "There")
    create(store, "Here")
    git(repository, "fetch", "--quiet", str(copy), "+refs/postil/log/*:refs/postil/remote/copy/*")
    assert titles(store) == ["Common", "Here", "There"]
    create(store, "After")
    now = read_replica(store.repository)
    assert now is not None
    assert now.id != mine.id
    assert titles(store) == ["After", "Common", "Here", "There"]
    store.index.forget()
    assert titles(fresh(repository)) == ["After", "Common", "Here", "There"]
    # What was written here under the shared name now travels with the new one.
    third = tmp_path / "third"
    git(tmp_path, "clone", "--quiet", str(repository), str(third))
    git(third, "fetch", "--quiet", "origin", "+refs/postil/log/*:refs/postil/remote/origin/*")
    assert titles(fresh(third)) == ["After", "Here"]


def test_a_rewritten_log_is_named_and_its_old_events_stay(store: Store, repository: Path, tmp_path: Path):
    other = tmp_path / "other"
    git(tmp_path, "clone", "--quiet", str(repository), str(other))
    create(store, "First")
    create(store, "Second")
    fetch = ("fetch", "--quiet", "origin", "+refs/postil/log/*:refs/postil/remote/origin/*")
    git(other, *fetch)
    theirs = fresh(other)
    assert titles(theirs) == ["First", "Second"]
    git(repository, "update-ref", own_ref(repository), own_ref(repository) + "~1")
    store.index.forget()
    create(store, "Third")
    git(other, *fetch)
    assert titles(theirs) == ["First", "Second", "Third"]
    assert any("rewritten" in line for line in theirs.index.damage())
    theirs.index.forget()
    assert titles(fresh(other)) == ["First", "Second", "Third"]


def test_a_log_that_cannot_be_read_does_not_hide_the_others(store: Store, repository: Path):
    create(store, "Fine")
    tree = git(repository, "write-tree").strip()
    commit = git(repository, "commit-tree", tree, "-m", "not a log").strip()
    git(repository, "update-ref", "refs/postil/log/aaaaaaaaaaaaa", commit)
    assert titles(store) == ["Fine"]
    assert any("aaaaaaaaaaaaa" in line for line in store.index.damage())
