"""Which refs are logs, and the locks that were left on them."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from postil.core import limits
from postil.tracker.failures import TooManyLogs
from postil.tracker.log.refs import (
    PATTERNS,
    Tip,
    find_stale_locks,
    is_own,
    list_logs,
    name_own_ref,
    parse_log_ref,
    read_ref_files,
)
from tests.tracker.programs import git

REPLICA = "abcdefghijklm"


@pytest.mark.parametrize(
    ("ref", "remote"),
    [
        (f"refs/postil/log/{REPLICA}", None),
        (f"refs/heads/postil/log/{REPLICA}", None),
        (f"refs/postil/remote/origin/{REPLICA}", "origin"),
        (f"refs/postil/remote/a/b/{REPLICA}", "a/b"),
        (f"refs/remotes/up/stream/postil/log/{REPLICA}", "up/stream"),
        (f"refs/postil/kept/{REPLICA}/0123456789abcdef", None),
    ],
)
def test_a_log_is_found_wherever_a_fetch_or_a_clone_puts_it(ref: str, remote: str | None):
    assert parse_log_ref(ref) == (REPLICA, remote)


@pytest.mark.parametrize(
    "ref", ["refs/heads/main", "refs/postil/log/", "refs/postil/log/UPPER", "refs/postil/log/../x", "refs/postil/other"]
)
def test_what_is_no_log_is_none(ref: str):
    assert parse_log_ref(ref) is None


def test_one_writes_in_one_place_and_owns_both():
    for branches in (False, True):
        ref = name_own_ref(REPLICA, branches)
        assert is_own(Tip(ref, "0" * 40, REPLICA), REPLICA)
        assert not is_own(Tip(ref, "0" * 40, REPLICA), "z" * 13)
    assert not is_own(Tip(f"refs/postil/remote/origin/{REPLICA}", "0" * 40, REPLICA, "origin"), REPLICA)


def test_logs_are_listed_and_other_refs_are_not(repository: Path):
    git(repository, "commit", "--quiet", "--allow-empty", "-m", "x")
    head = git(repository, "rev-parse", "HEAD").strip()
    git(repository, "update-ref", f"refs/postil/log/{REPLICA}", head)
    git(repository, "update-ref", "refs/postil/log/nobody", head)
    assert list_logs(str(repository)) == [Tip(f"refs/postil/log/{REPLICA}", head, REPLICA)]


def ask_git(repository: Path) -> dict[str, str]:
    """Returns what git says of the refs where logs are."""
    listed = git(repository, "for-each-ref", "--format=%(refname) %(objectname)", *PATTERNS).splitlines()
    return {ref: oid for ref, oid in (line.split() for line in listed) if parse_log_ref(ref)}


def read_files(repository: Path) -> dict[str, str] | None:
    found = read_ref_files(str(repository / ".git"))
    return None if found is None else {tip.ref: tip.oid for tip in found}


@pytest.fixture
def commits(repository: Path) -> list[str]:
    for message in "xy":
        git(repository, "commit", "--quiet", "--allow-empty", "-m", message)
    return git(repository, "rev-list", "HEAD").split()


def test_the_files_say_of_logs_what_git_says(repository: Path, commits: list[str]):
    old, new = commits
    for ref in (
        f"refs/postil/log/{REPLICA}",
        f"refs/heads/postil/log/{REPLICA}",
        f"refs/postil/remote/origin/{REPLICA}",
        f"refs/postil/remote/a/b/{REPLICA}",
        f"refs/remotes/origin/postil/log/{REPLICA}",
        f"refs/postil/kept/{REPLICA}/0123456789abcdef",
        "refs/postil/log/nobody",
    ):
        git(repository, "update-ref", ref, old)
    assert read_files(repository) == ask_git(repository)
    git(repository, "pack-refs", "--all")
    assert read_files(repository) == ask_git(repository)
    git(repository, "update-ref", f"refs/postil/log/{REPLICA}", new)  # beside the packed one
    git(repository, "update-ref", "-d", f"refs/postil/remote/origin/{REPLICA}")
    (repository / ".git/refs/postil/log" / f"{REPLICA}.lock").touch()
    assert read_files(repository) == ask_git(repository)
    assert len(ask_git(repository)) == 5
    assert [tip.ref for tip in list_logs(str(repository))] == sorted(ask_git(repository))


@pytest.mark.parametrize(
    ("ref", "content"),
    [
        (f"refs/postil/log/{REPLICA}", "ref: refs/heads/main\n"),
        (f"refs/postil/log/{REPLICA}", "no object\n"),
        (f"refs/postil/log/{REPLICA}", ""),
        (f"refs/postil/log/{REPLICA}", f"{'0' * 40}\n"),
        (f"refs/postil/remote/a..b/{REPLICA}", f"{'1' * 40}\n"),
        (f"refs/postil/remote/a b/{REPLICA}", f"{'1' * 40}\n"),
    ],
)
def test_what_is_odd_among_the_files_is_asked_of_git(repository: Path, commits: list[str], ref: str, content: str):
    path = repository / ".git" / ref
    path.parent.mkdir(parents=True)
    path.write_text(content)
    assert read_files(repository) is None
    assert {tip.ref: tip.oid for tip in list_logs(str(repository))} == ask_git(repository)


def test_a_ref_that_is_no_file_is_asked_of_git(repository: Path, commits: list[str], tmp_path: Path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text(f"{commits[0]}\n")
    folder = repository / ".git/refs/postil/log"
    folder.mkdir(parents=True)
    os.mkfifo(folder / REPLICA)
    assert read_files(repository) is None


def test_so_many_loose_refs_are_read_and_no_more(repository: Path, commits: list[str]):
    for replica in (REPLICA, "b" * 13):
        git(repository, "update-ref", f"refs/postil/log/{replica}", commits[0])
    assert len(read_ref_files(str(repository / ".git"), 2) or []) == 2
    assert read_ref_files(str(repository / ".git"), 1) is None


def test_refs_that_lie_in_a_table_are_asked_of_git(repository: Path, commits: list[str]):
    (repository / ".git/reftable").mkdir()
    assert read_files(repository) is None


def test_only_an_old_lock_is_stale(repository: Path):
    folder = repository / ".git/refs/postil/log"
    folder.mkdir(parents=True)
    old, young = folder / "old.lock", folder / "young.lock"
    for lock in (old, young):
        lock.touch()
    os.utime(old, (time.time() - 60, time.time() - 60))
    assert find_stale_locks(str(repository / ".git")) == [str(old)]


def test_so_many_packed_logs_that_git_would_take_gigabytes_are_refused(repository: Path, commits: list[str]):
    """A clone may bring hundreds of megabytes of them: git took 1.8 GB and seconds to list these."""
    names = ("".join(chr(ord("a") + int(digit)) for digit in f"{number:020}") for number in range(40_000))
    lines = "".join(f"{commits[0]} refs/postil/log/{name}\n" for name in names)
    (repository / ".git/packed-refs").write_text("# pack-refs with: peeled fully-peeled sorted \n" + lines)
    with pytest.raises(TooManyLogs, match="more than 10000 logs"):
        list_logs(str(repository))


def test_a_giant_file_of_packed_refs_is_not_read_to_its_end(repository: Path):
    with (repository / ".git/packed-refs").open("wb") as file:
        file.truncate(limits.PACKED_REFS + 1)
    with pytest.raises(TooManyLogs):
        list_logs(str(repository))


def test_very_many_other_refs_are_no_logs(repository: Path, commits: list[str]):
    names = "".join(f"{commits[0]} refs/heads/b{number:06}\n" for number in range(30_000))
    (repository / ".git/packed-refs").write_text("# pack-refs with: peeled fully-peeled sorted \n" + names)
    assert list_logs(str(repository)) == []
