"""Fetching and pushing logs."""

from __future__ import annotations

import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from postil.tracker.failures import InvalidParams
from postil.tracker.log.remotes import RemoteRefused, fetch, push
from tests.tracker.groups import Tracker
from tests.tracker.programs import git, run, said
from tests.tracker.teams import list_titles, present


def test_branch_mode_uses_branches_only_and_still_converges(team: tuple[Path, Path, Path]):
    remote, ann, bob = team
    Tracker(ann).tools.create("Before")
    said(ann, "init", "--branches")
    Tracker(ann).tools.create("After")
    said(ann, "push")
    assert git(remote, "for-each-ref", "refs/postil") == ""
    assert "refs/heads/postil/log/" in git(remote, "for-each-ref")
    git(bob, "fetch", "--quiet")
    assert list_titles(bob) == ["After", "Before"]


def test_a_host_that_refuses_custom_refs_is_told_of_branch_mode(team: tuple[Path, Path, Path]):
    remote, ann, _ = team
    hook = remote / "hooks/pre-receive"
    hook.write_text("#!/bin/sh\ngrep -q refs/postil && exit 1\nexit 0\n")
    hook.chmod(0o755)
    Tracker(ann).tools.create("x")
    with pytest.raises(RemoteRefused) as caught:
        push(Tracker(ann).issues.store, "origin")
    assert "--branches" in caught.value.advice
    said(ann, "init", "--branches")
    assert push(Tracker(ann).issues.store, "origin") is not None


@pytest.mark.parametrize("remote", ["nowhere", "--upload-pack=touch /tmp/x", "-q", "", "../other"])
def test_a_remote_that_is_none_is_refused(team: tuple[Path, Path, Path], remote: str):
    with pytest.raises(InvalidParams):
        fetch(Tracker(team[1]).issues.store, remote)


def test_a_restored_copy_pushes_under_a_new_identity_and_nothing_is_lost(team: tuple[Path, Path, Path], tmp_path: Path):
    _, ann, bob = team
    Tracker(ann).tools.create("Common")
    said(ann, "push")
    twin = tmp_path / "twin"
    shutil.copytree(ann, twin)
    inode = (twin / ".git").stat().st_ino
    identity = twin / ".git/postil/tracker.json"
    identity.write_text(identity.read_text().replace(str((ann / ".git").stat().st_ino), str(inode)))
    Tracker(ann).tools.create("On the first")
    Tracker(twin).tools.create("On the twin")
    said(ann, "push")
    assert "new one" in said(twin, "push")
    said(bob, "pull")
    assert list_titles(bob) == ["Common", "On the first", "On the twin"]
    said(twin, "pull")
    assert list_titles(twin) == list_titles(bob)


def test_sixteen_pushers_at_once_are_never_rejected(tmp_path: Path):
    remote = tmp_path / "remote.git"
    git(tmp_path, "init", "--quiet", "--bare", str(remote))

    def work(number: int) -> None:
        where = tmp_path / f"w{number}"
        git(tmp_path, "clone", "--quiet", str(remote), str(where))
        mine = Tracker(where)
        for i in range(2):
            mine.tools.create(f"{number}-{i}")
            sent = push(mine.issues.store, "origin")
            assert sent is not None
            assert not sent.renamed

    with ThreadPoolExecutor(16) as pool:
        for done in [pool.submit(work, number) for number in range(16)]:
            done.result()
    reader = tmp_path / "reader"
    git(tmp_path, "clone", "--quiet", str(remote), str(reader))
    fetch(Tracker(reader).issues.store, "origin")
    assert len(list_titles(reader)) == 32
    assert len(git(remote, "for-each-ref").splitlines()) == 16


def test_the_users_own_ssh_reaches_the_remote_and_the_repositorys_is_not_started(
    team: tuple[Path, Path, Path], tmp_path: Path
):
    remote, ann, _ = team
    log = tmp_path / "ssh.log"
    ssh = tmp_path / "my-ssh"
    ssh.write_text(f'#!/bin/sh\necho "$*" >> "{log}"\n[ "$1" = -G ] && exit 1\nshift\nexec sh -c "$*"\n')
    ssh.chmod(0o755)
    git(ann, "remote", "set-url", "origin", f"ssh://example.org{remote}")
    Tracker(ann).tools.create("Over ssh")
    git(ann, "config", "core.sshCommand", str(ssh))
    refused = run(ann, "sync")
    assert (refused.returncode, log.exists()) == (4, False)
    assert "git fetch with origin failed: " in refused.stderr
    git(ann, "config", "--unset", "core.sshCommand")
    git(ann, "config", "--global", "core.sshCommand", str(ssh))
    said(ann, "sync")
    assert "git-receive-pack" in log.read_text()
    assert len(git(remote, "for-each-ref", "refs/postil").splitlines()) == 1


def test_a_sync_is_not_blocked_by_a_lock_of_a_killed_one(shared: tuple[Path, Path]):
    where, _ = shared
    said(where, "sync")
    said(where, "init")
    said(where, "sync")
    ref = git(where, "for-each-ref", "--format=%(refname)", "refs/postil/remote").strip()
    lock = where / ".git" / f"{ref}.lock"
    lock.write_text("")
    os.utime(lock, (1, 1))
    Tracker(where).tools.create("Second")
    said(where, "push")
    said(where, "pull")
    assert git(where, "rev-parse", ref) == git(where, "rev-parse", ref.replace("remote/origin", "log"))


def test_a_hostile_config_runs_nothing_when_logs_are_exchanged(shared: tuple[Path, Path], tmp_path: Path):
    where, _ = shared
    marker, program = tmp_path / "ran", tmp_path / "evil"
    program.write_text(f'#!/bin/sh\ntouch {marker}\nexec "$@"\n')
    program.chmod(0o755)
    for key in (
        "core.fsmonitor", "core.sshCommand", "core.pager", "core.editor", "core.askPass", "core.gitProxy",
        "core.alternateRefsCommand", "credential.helper", "diff.external", "gpg.program", "sequence.editor",
        "remote.origin.uploadpack", "remote.origin.receivepack", "filter.evil.clean", "filter.evil.smudge",
        "merge.evil.driver", "uploadpack.packObjectsHook",
    ):  # fmt: skip
        git(where, "config", key, str(program))
    for command in ("for-each-ref", "update-ref", "hash-object", "cat-file", "fetch", "push", "mile"):
        git(where, "config", f"alias.{command}", f"!{program}")
    git(where, "config", "core.hooksPath", str(tmp_path))
    for hook in ("pre-push", "reference-transaction", "post-checkout", "pre-auto-gc", "post-rewrite"):
        (tmp_path / hook).write_text(program.read_text())
        (tmp_path / hook).chmod(0o755)
    git(where, "config", "commit.gpgSign", "true")
    git(where, "config", "push.gpgSign", "if-asked")
    Tracker(where).tools.create("Under a hostile config")
    said(where, "sync")
    said(where, "verify")
    said(where, "gc", "--absorb-days", "0")
    assert len(present(where)) == 2
    assert not marker.exists()


@pytest.mark.parametrize("address", ["ext::sh -c touch% pwned", "foo::bar"])
def test_nobody_is_led_to_plain_git_by_an_address_that_runs_a_program(repository: Path, address: str):
    """Of a hostile clone: what we refuse, plain git may do."""
    git(repository, "config", "remote.origin.url", address)
    git(repository, "config", "protocol.allow", "always")
    told = run(repository, "sync")
    assert told.returncode == 4
    assert "set-url" in told.stderr
    assert "plain git" not in told.stderr
