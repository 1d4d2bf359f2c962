"""Logs of writers who left."""

from __future__ import annotations

from pathlib import Path

from postil.tracker.events import LOG_ENTITY
from postil.tracker.log.absorb import absorb, drop_absorbed
from postil.tracker.log.remotes import fetch, push
from tests.tracker.groups import Tracker
from tests.tracker.hostile import event, write_log
from tests.tracker.programs import git, said
from tests.tracker.stores import hash_state, own_ref
from tests.tracker.teams import list_titles


def test_logs_of_writers_who_left_find_a_home_and_the_state_stays(tmp_path: Path):
    remote = tmp_path / "remote.git"
    git(tmp_path, "init", "--quiet", "--bare", str(remote))
    for number in range(12):
        where = tmp_path / f"job{number}"
        git(tmp_path, "clone", "--quiet", str(remote), str(where))
        Tracker(where).tools.create(f"job {number}")
        push(Tracker(where).issues.store, "origin")
    keeper = tmp_path / "keeper"
    git(tmp_path, "clone", "--quiet", str(remote), str(keeper))
    mine = Tracker(keeper)
    fetch(mine.issues.store, "origin")
    before = hash_state(mine.issues.store)
    said(keeper, "gc", "--absorb-days", "0", "--remote", "origin")
    assert len(git(remote, "for-each-ref").splitlines()) == 1
    mine.issues.refresh()
    assert hash_state(mine.issues.store) == before
    late = tmp_path / "late"
    git(tmp_path, "clone", "--quiet", str(remote), str(late))
    fetch(Tracker(late).issues.store, "origin")
    assert len(list_titles(late)) == 12
    assert absorb(mine.issues.store, 0) == []
    assert drop_absorbed(mine.issues.store) == []


def test_a_forged_mark_lets_no_log_go(team: tuple[Path, Path, Path]):
    remote, ann, bob = team
    said(bob, "create", "issue", "Bob's")
    said(bob, "sync")
    said(ann, "create", "issue", "Ann's")
    log = own_ref(bob).rpartition("/")[2]
    write_log(remote, event(LOG_ENTITY, 1, "absorbed", 3, log=log, upto=10**12))
    said(ann, "sync")
    assert drop_absorbed(Tracker(ann).issues.store) == []
    git(remote, "update-ref", "-d", f"refs/postil/log/{log}")
    said(ann, "sync")
    assert list_titles(ann) == ["Ann's", "Bob's"]
    late = ann.parent / "late"
    git(ann.parent, "clone", "--quiet", str(remote), str(late))
    said(late, "pull")
    assert list_titles(late) == ["Ann's", "Bob's"]


def test_a_log_that_was_marked_by_somebody_else_is_absorbed_all_the_same(team: tuple[Path, Path, Path]):
    remote, ann, bob = team
    said(bob, "create", "issue", "Bob's")
    said(bob, "sync")
    log = own_ref(bob).rpartition("/")[2]
    write_log(remote, event(LOG_ENTITY, 1, "absorbed", 3, log=log, upto=10**12))
    said(ann, "pull")
    store = Tracker(ann).issues.store
    store.refresh()
    assert log in absorb(store, 0)
    assert any(ref.endswith(log) for ref in drop_absorbed(store))
    assert list_titles(ann) == ["Bob's"]
