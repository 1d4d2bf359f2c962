"""A lost object hides its own events and nothing else, and every read says so."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from postil.tracker import events as ev
from postil.tracker.log.salvage import read_reflog
from tests.tracker.damage import log_commits, lose
from tests.tracker.groups import Tracker
from tests.tracker.programs import answered, git, run, said
from tests.tracker.stores import fresh, own_ref, titles


def forget_index(where: Path) -> None:
    for name in ("cache", *(path.name for path in (where / ".git/postil").glob("cache-*"))):
        (where / ".git/postil" / name).unlink(missing_ok=True)


@pytest.mark.parametrize("lost", [0, 2, 4])
def test_a_lost_commit_hides_its_own_events_and_every_read_ends_with_7(repository: Path, lost: int):
    for number in range(5):
        Tracker(repository).tools.create(f"T{number}")
    commits = log_commits(repository)
    lose(repository, commits[lost])
    forget_index(repository)
    told = run(repository, "list", "issue", "--columns", "title", "--format", "raw")
    assert sorted(told.stdout.split()) == sorted({f"T{number}" for number in range(5)} - {f"T{4 - lost}"})
    assert (told.returncode, "verify --fix" in told.stderr) == (7, True)
    again = run(repository, "list", "issue")
    assert (again.returncode, "damaged" in again.stderr) == (7, True)


def test_a_lost_segment_hides_nothing_that_the_commits_hold(repository: Path):
    store = fresh(repository)
    for start in range(0, 600, 100):
        with store.transaction() as tx:
            for number in range(start, start + 100):
                tx.write(ev.Created, ev.new_entity_id(), kind="issue", title=f"T{number}")
    listed = git(repository, "ls-tree", "-r", own_ref(repository)).split()
    lose(repository, listed[2])
    forget_index(repository)
    assert len(titles(fresh(repository))) == 600


def test_a_lost_segment_of_an_import_hides_only_its_own_events(repository: Path):
    store = fresh(repository)
    with store.transaction() as tx:
        for number in range(5000):
            tx.write(ev.Created, ev.new_entity_id(), kind="issue", title=f"T{number}")
    listed = git(repository, "ls-tree", "-r", own_ref(repository)).split()
    lose(repository, listed[2])
    forget_index(repository)
    assert len(titles(fresh(repository))) == 5000 - 2048


def test_a_writer_goes_on_though_the_end_of_its_log_is_lost(repository: Path):
    Tracker(repository).tools.create("Before")
    Tracker(repository).tools.create("Lost")
    lose(repository, log_commits(repository)[0])
    forget_index(repository)
    id_ = answered_in_spite(repository, "create", "issue", "After")
    assert id_
    told = run(repository, "list", "issue", "--columns", "title", "--format", "raw")
    assert sorted(told.stdout.split()) == ["After", "Before"]


def answered_in_spite(where: Path, *words: str) -> str:
    done = run(where, *words)
    assert done.returncode in (0, 7), done.stderr
    return done.stdout


def test_a_shallow_fetch_is_told_and_deepening_it_brings_the_rest(team: tuple[Path, Path, Path]):
    remote, ann, bob = team
    git(ann, "commit", "--quiet", "--allow-empty", "-m", "code")
    git(ann, "push", "--quiet", "origin", "HEAD")
    for number in range(4):
        Tracker(ann).tools.create(f"T{number}")
    said(ann, "push")
    spec = "+refs/postil/log/*:refs/postil/remote/origin/*"
    git(bob, "fetch", "--quiet", "--depth=1", f"file://{remote}", spec)
    told = run(bob, "list", "issue", "--columns", "title", "--format", "raw")
    assert (told.stdout.split(), told.returncode, "shallow" in told.stderr) == (["T3"], 7, True)
    git(bob, "fetch", "--quiet", "--unshallow", f"file://{remote}", spec)
    assert sorted(said(bob, "list", "issue", "--columns", "title", "--format", "raw").split()) == [
        "T0",
        "T1",
        "T2",
        "T3",
    ]


def test_our_own_refs_have_reflogs(repository: Path):
    for number in range(3):
        Tracker(repository).tools.create(f"T{number}")
    moves = read_reflog(str(repository), own_ref(repository))
    assert [new for _, new, _ in moves] == log_commits(repository)
    shutil.rmtree(repository / ".git/logs/refs")
    assert read_reflog(str(repository), own_ref(repository)) == []
    assert answered(repository, "list", "issue")["items"]


def test_a_name_that_looks_like_more_lines_of_a_reflog_is_a_name(repository: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("GIT_AUTHOR_NAME", f"Ann\t\x85\u2028{'1' * 40} {'2' * 40} x\tgone")
    for number in range(3):
        Tracker(repository).tools.create(f"T{number}")
    moves = read_reflog(str(repository), own_ref(repository))
    assert [(new, why) for _, new, why in moves] == [(each, "postil") for each in log_commits(repository)]
    git(repository, "update-ref", own_ref(repository), moves[1][1])
    assert read_reflog(str(repository), own_ref(repository))[0] == (moves[0][1], moves[1][1], "")
