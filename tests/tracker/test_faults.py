"""When the machine fails in the middle: killed processes, disks that are full or broken, locks that nobody holds.

Nothing that was acknowledged is lost, what was not acknowledged leaves nothing broken, and the next command works."""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from postil.tracker.log.verify import verify_logs
from tests.tracker.groups import Tracker
from tests.tracker.programs import answered, git, run, said
from tests.tracker.teams import MILE, list_titles, present

COMPOSED = (
    "import sys\n"
    "from postil.tracker.issues import Issues\n"
    "from postil.tracker.operations.assistant import AssistantTools\n"
    "from postil.tracker.operations.contract import ContractTools\n"
    "from postil.workspace.repository import find_repository\n"
    "issues = Issues(lambda: find_repository('.'))\n"
    "tools, contract = AssistantTools(issues), ContractTools(issues)\n"
)


def test_thirty_two_local_processes_lose_nothing_and_each_reads_what_it_wrote(repository: Path):
    count = 32
    code = COMPOSED + (
        "for i in range(2):\n"
        "    made = tools.create(f'{sys.argv[1]}-{i}').id\n"
        "    assert made in {item.id for item in contract.list_entities('issue', limit=1000).items}\n"
    )
    workers = [
        subprocess.Popen([sys.executable, "-c", code, str(number)], cwd=repository, stderr=subprocess.PIPE)
        for number in range(count)
    ]
    for worker in workers:
        _, err = worker.communicate(timeout=100)
        assert worker.returncode == 0, err.decode()
    found = Tracker(repository).list("issue", limit=1000)
    assert len({item.title for item in found.items}) == count * 2
    assert verify_logs(Tracker(repository).issues.store, fix=False).problems == []


WRITER = COMPOSED + "i = 0\nwhile True:\n    i += 1\n    print(tools.create(f'n{i}').id, flush=True)\n"


def test_what_was_acknowledged_survives_kill_nine_anywhere(repository: Path):
    acknowledged: list[str] = []
    for stop_after in (1, 2, 3, 5):
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER],
            cwd=repository,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        assert writer.stdout is not None
        acknowledged += [writer.stdout.readline().strip() for _ in range(stop_after)]
        os.killpg(writer.pid, signal.SIGKILL)
        acknowledged += [line for line in writer.stdout.read().split("\n") if len(line) == 36]
        writer.wait()
        writer.stdout.close()
    after = Tracker(repository)
    after.tools.create("the next command works")
    present = {item.id for item in after.list("issue", limit=1000).items}
    assert set(acknowledged) <= present
    assert verify_logs(after.issues.store, fix=True).problems == []


def test_a_read_only_repository_can_be_listed_and_shown(repository: Path, tmp_path: Path):
    id_ = Tracker(repository).tools.create("Read me").id
    frozen = tmp_path / "frozen"
    shutil.copytree(repository, frozen)
    shutil.rmtree(frozen / ".git/postil")
    for folder, _, _ in os.walk(frozen / ".git"):
        os.chmod(folder, 0o555)
    try:
        # root may write everywhere: take the way of a file system that refuses by putting a file in the folder's place
        if os.geteuid() == 0:
            os.chmod(frozen / ".git", 0o755)
            (frozen / ".git/postil").write_text("")
        assert [item["title"] for item in answered(frozen, "list", "issue")["items"]] == ["Read me"]
        assert answered(frozen, "show", id_)["title"] == "Read me"
        refused = run(frozen, "create", "issue", "No")
        assert refused.returncode != 0
        assert "Traceback" not in refused.stderr
    finally:
        for folder, _, _ in os.walk(frozen / ".git"):
            os.chmod(folder, 0o755)


def test_a_hostile_config_runs_nothing(repository: Path, tmp_path: Path):
    marker = tmp_path / "ran"
    program = tmp_path / "evil"
    program.write_text(f"#!/bin/sh\ntouch {marker}\n")
    program.chmod(0o755)
    hook = repository / ".git/hooks/reference-transaction"
    hook.write_text(program.read_text())
    hook.chmod(0o755)
    for key in ("core.fsmonitor", "diff.external", "core.pager", "core.sshCommand", "gpg.program"):
        git(repository, "config", key, str(program))
    git(repository, "config", "commit.gpgSign", "true")
    Tracker(repository).tools.create("x")
    assert list_titles(repository) == ["x"]
    assert not marker.exists()


def test_a_full_disk_is_told_and_nothing_is_broken(repository: Path):
    mine = Tracker(repository)
    mine.tools.create("Before")
    code = (
        "import resource, sys\n"
        "from postil.surfaces.shell.main import git_mile as run\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\n"
        "import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "sys.exit(run())"
    )
    refused = subprocess.run(
        [sys.executable, "-c", code, "create", "issue", "No room"],
        cwd=repository,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert refused.returncode != 0
    assert "Traceback" not in refused.stderr
    mine.tools.create("After")
    assert list_titles(repository) == ["After", "Before"]


KILLS = int(os.environ.get("POSTIL_KILLS", "12"))


ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")


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
    before = {Tracker(repository).tools.create("Before").id}
    done = subprocess.run(
        [needs("strace"), "-f", "-qq", "-e", f"trace={call}", "-e", f"inject={call}:{fault}", "-o",
         str(tmp_path / "trace"), *MILE, "create", "issue", "In the storm"],
        cwd=repository, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert "Traceback" not in done.stderr
    acknowledged = set(ID.findall(done.stdout)) if done.returncode == 0 else set[str]()
    after = {Tracker(repository).tools.create("After").id}
    assert before | acknowledged | after <= present(repository)
    assert verify_logs(Tracker(repository).issues.store, fix=True).problems == []


def test_a_list_needs_no_room_on_the_disk(repository: Path, needs: Callable[[str], str], tmp_path: Path):
    id_ = Tracker(repository).tools.create("Read me").id
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
    Tracker(where).tools.create("The next command works")
    assert acknowledged <= present(where)
    assert verify_logs(Tracker(where).issues.store, fix=True).problems == []
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
