"""Appending is durable and survives what others left behind."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from postil.tracker import events as ev
from postil.tracker.log.format import open_objects
from postil.tracker.store import Store
from tests.tracker.groups import Tracker
from tests.tracker.programs import git
from tests.tracker.stores import create, fresh, own_ref, titles
from tests.tracker.teams import MILE


def test_one_command_is_one_commit_whose_objects_pass_fsck(store: Store, repository: Path):
    create(store)
    create(store, "Second")
    assert git(repository, "rev-list", "--count", own_ref(repository)).strip() == "2"
    assert "error" not in git(repository, "fsck", "--full", "--strict")


def test_a_bulk_of_events_is_one_commit_and_can_be_followed_by_small_ones(store: Store, repository: Path):
    create(store, "before")
    with store.transaction() as tx:
        for i in range(3000):
            tx.write(ev.Created, ev.new_entity_id(), kind="issue", title=f"bulk {i}")
    create(store, "after")
    assert git(repository, "rev-list", "--count", own_ref(repository)).strip() == "3"
    assert len(titles(store)) == 3002
    store.index.forget()
    assert len(titles(fresh(repository))) == 3002
    assert git(repository, "for-each-ref", "refs/postil/aside/") == ""


def test_a_stale_lock_of_a_killed_git_does_not_block_the_next_writer(store: Store, repository: Path):
    create(store, "One")
    lock = repository / ".git" / (own_ref(repository) + ".lock")
    lock.write_text("")
    os.utime(lock, (1, 1))
    create(store, "Two")
    assert titles(store) == ["One", "Two"]


def test_create_syncs_every_object_and_the_ref_before_it_answers(
    repository: Path, needs: Callable[[str], str], tmp_path: Path
):
    mine = Tracker(repository)
    for _ in range(2):  # up to the brink: the next event seals a segment, and so writes a blob and trees
        with mine.issues.store.transaction() as tx:
            mine.issues.create(tx, "issue", "One")
            id_ = tx.events[0].ent
            for i in range(126):
                mine.issues.comment(tx, id_, f"comment {i}")
    log = tmp_path / "trace"
    for title in ("two hundred and fifty-fifth", "sealed"):
        calls = "trace=write,fsync,fdatasync,link,linkat,rename,renameat,renameat2"
        done = subprocess.run(
            [needs("strace"), "-f", "-y", "-e", calls, "-o", str(log), *MILE, "create", "issue", title],
            cwd=repository, capture_output=True, text=True, timeout=60,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
    synced: set[str] = set()
    named: list[str] = []
    begun: dict[str, str] = {}
    for line in log.read_text().splitlines():
        thread = line.partition(" ")[0]
        if found := re.search(r"f(?:data)?sync\(\d+<([^>]+)>", line):
            begun[thread] = os.path.basename(found[1])
        if re.search(r"f(?:data)?sync\b.*\) += 0", line):  # at once, or resumed while other threads went on
            synced.add(begun[thread])
            named = [name for name in named if name != begun[thread]]
        elif found := re.search(r'(?:link|rename)\w*\((?:\d+<([^>]+)>, )?"([^"]+)", (?:\d+<[^>]+>, )?"([^"]+)"', line):
            folder = found[1] or os.path.dirname(found[3])
            if "/objects/" in folder or "/refs/postil/" in folder:
                assert os.path.basename(found[2]) in synced, f"named before it was synced: {line}"
                if "/refs/postil/" in folder:
                    assert not named, "the ref was put there before the folders of the objects were synced"
                named.append(os.path.basename(folder))
        elif "Created issue" in line:
            break
    else:
        pytest.fail("the answer was never written")
    assert "log" not in named, "the folder of the ref was not synced after the ref was put there"
    assert git(repository, "ls-tree", "-r", git(repository, "for-each-ref", "--format=%(refname)").strip()) != ""


def test_the_next_write_of_a_process_asks_git_nothing_under_the_lock(
    store: Store, repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    create(store, "One")
    asked = record_git(tmp_path, monkeypatch)
    create(store, "Two")
    verbs = re.findall(r"--literal-pathspecs ([\w-]+)", asked.read_text())
    assert verbs == ["config"]  # who writes, before it takes the lock that others wait for


def test_sealing_again_asks_git_nothing_and_seals_the_same(
    store: Store, repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Reading 256 commits one by one took ten times a write, and others waited for it."""
    monkeypatch.setattr("postil.tracker.log.append.SEAL", 8)
    for number in range(10):  # for the first segment git is asked what it holds
        create(store, str(number))
    asked = record_git(tmp_path, monkeypatch)
    for number in range(10, 18):
        create(store, str(number))
    verbs = set(re.findall(r"--literal-pathspecs ([\w-]+)", asked.read_text()))
    assert verbs == {"config"}
    git(repository, "fsck", "--strict")
    with open_objects(str(repository)) as objects:
        end = objects.commit(git(repository, "rev-parse", own_ref(repository)).strip())
        segments = objects.segments(end.tree)
    assert [(one.position, one.count) for one in segments] == [(0, 8), (8, 8)]
    assert sorted(titles(fresh(repository)), key=int) == [str(number) for number in range(18)]


def record_git(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Returns where it is written from now on what git is asked."""
    asked = folder / "asked"
    (folder / "bin").mkdir()
    wrapper = folder / "bin" / "git"
    wrapper.write_text(f'#!/bin/sh\nprintf "%s\\n" "$*" >> "{asked}"\nexec "{shutil.which("git")}" "$@"\n')
    wrapper.chmod(0o755)
    monkeypatch.setenv("PATH", f"{wrapper.parent}:{os.environ['PATH']}")
    return asked


def test_a_write_goes_on_after_the_last_one_was_packed_or_lost(store: Store, repository: Path):
    create(store, "One")
    git(repository, "gc", "-q", "--prune=now")
    create(store, "Two")
    assert titles(store) == ["One", "Two"]
    oid = git(repository, "rev-parse", own_ref(repository)).strip()
    (repository / ".git" / "objects" / oid[:2] / oid[2:]).unlink()
    create(store, "Three")  # in a log of its own: nothing is put after a commit that is gone
    assert "Three" in titles(fresh(repository))
