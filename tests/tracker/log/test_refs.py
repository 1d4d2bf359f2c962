"""Which refs are logs, and the locks that were left on them."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from postil.tracker.log.refs import Tip, find_stale_locks, is_own, list_logs, name_own_ref, parse_log_ref
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


def test_only_an_old_lock_is_stale(repository: Path):
    folder = repository / ".git/refs/postil/log"
    folder.mkdir(parents=True)
    old, young = folder / "old.lock", folder / "young.lock"
    for lock in (old, young):
        lock.touch()
    os.utime(old, (time.time() - 60, time.time() - 60))
    assert find_stale_locks(str(repository / ".git")) == [str(old)]
