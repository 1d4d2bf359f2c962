"""When the machine fails in the middle: killed processes, disks that are full or broken, locks that nobody holds.

Nothing that was acknowledged is lost, what was not acknowledged leaves nothing broken, and the next command works.
"""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from postil.tracker.log.verify import verify_logs
from tests.tracker.conftest import git
from tests.tracker.groups import Tracker
from tests.tracker.shell import run, said

MILE = [sys.executable, "-c", "import sys; from postil.surfaces.shell.main import git_mile as run; sys.exit(run())"]
KILLS = int(os.environ.get("POSTIL_KILLS", "12"))
ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")


def tracker(where: Path) -> Tracker:
    return Tracker(where)


def present(where: Path) -> set[str]:
    return {item.id for item in tracker(where).list("issue", limit=1000).items}


@pytest.fixture
def shared(tmp_path: Path, repository: Path) -> tuple[Path, Path]:
    """A clone with an issue, and its remote."""
    remote = tmp_path / "remote.git"
    git(tmp_path, "init", "--quiet", "--bare", str(remote))
    git(repository, "remote", "add", "origin", str(remote))
    tracker(repository).tools.create("Before")
    return repository, remote


def test_create_syncs_every_object_and_the_ref_before_it_answers(
    repository: Path, needs: Callable[[str], str], tmp_path: Path
):
    mine = tracker(repository)
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
    for line in log.read_text().splitlines():
        if found := re.search(r"f(?:data)?sync\(\d+<([^>]+)>\)", line):
            synced.add(os.path.basename(found[1]))
            named = [name for name in named if name != found[1].rpartition("/")[2]]
        elif found := re.search(r'(?:link|rename)\("([^"]+)", "([^"]+)"', line):
            if "/objects/" in found[1] or "/refs/postil/" in found[2]:
                assert os.path.basename(found[1]) in synced, f"named before it was synced: {line}"
                named.append(os.path.basename(os.path.dirname(found[2])))
        elif "Created issue" in line:
            break
    else:
        pytest.fail("the answer was never written")
    assert "log" not in named, "the folder of the ref was not synced after the ref was put there"
    assert git(repository, "ls-tree", "-r", git(repository, "for-each-ref", "--format=%(refname)").strip()) != ""


@pytest.mark.parametrize(
    ("call", "fault"),
    [
        *((call, f"signal=KILL:when={when}") for call in ("fsync", "link", "rename", "pwrite64") for when in (1, 2)),
        ("fsync", "error=EIO"),
        ("write", "error=ENOSPC:when=2+"),
        ("openat", "error=ENOSPC:when=400+"),
        ("pwrite64", "error=ENOSPC:when=2+"),
    ],
)
def test_a_failing_or_fatal_call_anywhere_in_create_loses_nothing(
    repository: Path, needs: Callable[[str], str], tmp_path: Path, call: str, fault: str
):
    before = {tracker(repository).tools.create("Before").id}
    done = subprocess.run(
        [needs("strace"), "-f", "-qq", "-e", f"trace={call}", "-e", f"inject={call}:{fault}", "-o",
         str(tmp_path / "trace"), *MILE, "create", "issue", "In the storm"],
        cwd=repository, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert "Traceback" not in done.stderr
    acknowledged = set(ID.findall(done.stdout)) if done.returncode == 0 else set[str]()
    after = {tracker(repository).tools.create("After").id}
    assert before | acknowledged | after <= present(repository)
    assert verify_logs(tracker(repository).issues.store, fix=True).problems == []


def test_a_list_needs_no_room_on_the_disk(repository: Path, needs: Callable[[str], str], tmp_path: Path):
    id_ = tracker(repository).tools.create("Read me").id
    for file in (repository / ".git/postil").glob("cache*"):
        file.unlink()
    done = subprocess.run(
        [needs("strace"), "-f", "-qq", "-e", "trace=pwrite64", "-e", "inject=pwrite64:error=ENOSPC", "-o",
         str(tmp_path / "trace"), *MILE, "list", "issue", "--format", "raw", "--columns", "id"],
        cwd=repository, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert (done.returncode, done.stdout.strip()) == (0, id_), done.stderr


def test_kills_at_any_moment_of_create_sync_and_gc_lose_nothing(shared: tuple[Path, Path], tmp_path: Path):
    where, remote = shared
    dice = random.Random(int(os.environ.get("POSTIL_SEED", "7")))
    commands = (["create", "issue", "made"], ["sync"], ["gc", "--absorb-days", "0"])
    takes = {words[0]: _seconds(where, words) for words in commands}  # here and now: a moment is a share of it
    acknowledged = present(where)
    cut = 0
    for _ in range(KILLS):
        words = dice.choice(commands)
        running = subprocess.Popen(
            [*MILE, *words], cwd=where, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            start_new_session=True,
        )  # fmt: skip
        try:
            out, _ = running.communicate(timeout=dice.uniform(0.1, 1.2) * takes[words[0]])
        except subprocess.TimeoutExpired:
            os.killpg(running.pid, signal.SIGKILL)
            out, _ = running.communicate(timeout=30)
            cut += 1
        acknowledged |= set(ID.findall(out)) if words[0] == "create" else set()
    tracker(where).tools.create("The next command works")
    assert acknowledged <= present(where)
    assert verify_logs(tracker(where).issues.store, fix=True).problems == []
    for lock in remote.rglob("*.lock"):
        lock.unlink()  # the far end died with us here; a server's own locks are its keeper's business
    said(where, "sync")
    other = tmp_path / "other"
    git(tmp_path, "clone", "--quiet", str(remote), str(other))
    said(other, "pull")
    assert present(other) == present(where)
    assert cut > KILLS // 8


def _seconds(where: Path, words: list[str]) -> float:
    began = time.monotonic()
    said(where, *words)
    return time.monotonic() - began


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


def test_a_sync_is_not_blocked_by_a_lock_of_a_killed_one(shared: tuple[Path, Path]):
    where, _ = shared
    said(where, "sync")
    said(where, "init")
    said(where, "sync")
    ref = git(where, "for-each-ref", "--format=%(refname)", "refs/postil/remote").strip()
    lock = where / ".git" / f"{ref}.lock"
    lock.write_text("")
    os.utime(lock, (1, 1))
    tracker(where).tools.create("Second")
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
    tracker(where).tools.create("Under a hostile config")
    said(where, "sync")
    said(where, "verify")
    said(where, "gc", "--absorb-days", "0")
    assert len(present(where)) == 2
    assert not marker.exists()
