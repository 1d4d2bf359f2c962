"""Events in real git: appended, sealed, read back, rebuilt."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from postil.tracker import events as ev
from postil.tracker.log.format import SEAL, open_objects
from postil.tracker.log.replica import Replica, read_replica, write_replica
from postil.tracker.store import Store
from postil.workspace.repository import find_repository
from tests.tracker.conftest import git


def create(store: Store, title: str = "First", **more: object) -> str:
    id_ = ev.new_entity_id()
    with store.transaction() as tx:
        tx.write(ev.Created, id_, kind="issue", title=title, **more)
    return id_


def titles(store: Store) -> list[str]:
    store.refresh()
    return [row[0] for row in store.index.db.execute("SELECT title FROM ent ORDER BY title")]


def fresh(repository: Path) -> Store:
    return Store(find_repository(str(repository)))


def own_ref(repository: Path) -> str:
    (ref,) = git(repository, "for-each-ref", "--format=%(refname)", "refs/postil/log/").split()
    return ref


def test_an_issue_written_by_one_process_is_read_by_the_next(store: Store, repository: Path):
    id_ = create(store, "Hello", labels=("a",))
    again = fresh(repository)
    assert titles(again) == ["Hello"]
    entity = again.entity(id_)
    assert entity is not None
    assert (entity.title, entity.labels, entity.author) == ("Hello", ("a",), "Tester <tester@example.org>")


def test_the_work_tree_and_the_branches_are_untouched(store: Store, repository: Path):
    create(store)
    assert git(repository, "status", "--porcelain") == ""
    assert git(repository, "for-each-ref", "refs/heads", "refs/tags") == ""


def test_one_command_is_one_commit_whose_objects_pass_fsck(store: Store, repository: Path):
    create(store)
    create(store, "Second")
    assert git(repository, "rev-list", "--count", own_ref(repository)).strip() == "2"
    assert "error" not in git(repository, "fsck", "--full", "--strict")


def test_a_deleted_cache_is_rebuilt_to_the_same_rows(store: Store, repository: Path):
    for i in range(5):
        create(store, f"T{i}")
    before = store.index.db.execute("SELECT * FROM ent ORDER BY id").fetchall()
    store.index.close()
    shutil.rmtree(repository / ".git/postil")
    again = fresh(repository)
    again.refresh()
    rows = again.index.db.execute("SELECT * FROM ent ORDER BY id").fetchall()
    assert [row[1:] for row in rows] == [row[1:] for row in before]


def test_a_damaged_cache_is_rebuilt(store: Store, repository: Path):
    create(store, "Kept")
    store.index.close()
    for file in (repository / ".git/postil").glob("cache-*.db*"):
        file.write_bytes(b"SQLite format 3\0" + b"\xff" * 5000)
    assert titles(fresh(repository)) == ["Kept"]


def test_logs_are_sealed_and_read_from_segments(store: Store, repository: Path):
    id_ = create(store)
    for chunk in range(6):
        with store.transaction() as tx:
            for i in range(50):
                tx.write(ev.Commented, id_, c=f"c{chunk}-{i}", body="hi")
    tip = git(repository, "rev-parse", own_ref(repository)).strip()
    with open_objects(str(repository)) as reader:
        commit = reader.commit(tip)
        segments = reader.segments(commit.tree)
    assert commit.end == 301
    assert [(s.position, s.count) for s in segments] == [(0, 301)] or segments[0].end >= SEAL
    store.index.forget()
    again = fresh(repository)
    again.refresh()
    entity = again.entity(id_)
    assert entity is not None
    assert len(entity.comments) == 300


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


def test_a_plain_fetch_is_already_the_merge(store: Store, repository: Path, tmp_path: Path):
    id_ = create(store, "Mine")
    other = tmp_path / "other"
    git(tmp_path, "clone", "--quiet", str(repository), str(other))
    git(other, "fetch", "--quiet", "origin", "+refs/postil/log/*:refs/postil/remote/origin/*")
    theirs = fresh(other)
    assert titles(theirs) == ["Mine"]
    with theirs.transaction() as tx:
        tx.write(ev.Set, id_, f="title", value="Theirs")
    git(repository, "fetch", "--quiet", str(other), "+refs/postil/log/*:refs/postil/remote/other/*")
    assert titles(store) == ["Theirs"]
    entity = store.entity(id_)
    assert entity is not None
    assert entity.conflicts == ()


def test_a_copied_clone_gets_an_identity_of_its_own(store: Store, repository: Path, tmp_path: Path):
    create(store, "Mine")
    copy = tmp_path / "copy"
    shutil.copytree(repository, copy)
    theirs = fresh(copy)
    create(theirs, "From the copy")
    one, two = read_replica(store.repository), read_replica(theirs.repository)
    assert one is not None
    assert two is not None
    assert one.id != two.id
    git(repository, "fetch", "--quiet", str(copy), "+refs/postil/log/*:refs/postil/remote/copy/*")
    assert titles(store) == ["From the copy", "Mine"]


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


def test_a_stale_lock_of_a_killed_git_does_not_block_the_next_writer(store: Store, repository: Path):
    create(store, "One")
    lock = repository / ".git" / (own_ref(repository) + ".lock")
    lock.write_text("")
    os.utime(lock, (1, 1))
    create(store, "Two")
    assert titles(store) == ["One", "Two"]
