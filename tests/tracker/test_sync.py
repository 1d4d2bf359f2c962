"""Clones that exchange issues through ordinary remotes; many writers at once; damage and how it is told."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from postil.tracker.failures import InvalidParams
from postil.tracker.log.absorb import absorb, drop_absorbed
from postil.tracker.log.remotes import RemoteRefused, fetch, push
from postil.tracker.log.verify import hash_state, verify_logs
from tests.tracker.conftest import git
from tests.tracker.groups import Tracker
from tests.tracker.shell import answered, run, said


def tracker(where: Path) -> Tracker:
    return Tracker(where)


@pytest.fixture
def team(tmp_path: Path) -> tuple[Path, Path, Path]:
    """A bare remote and two clones."""
    remote = tmp_path / "remote.git"
    git(tmp_path, "init", "--quiet", "--bare", str(remote))
    clones: list[Path] = []
    for name in ("ann", "bob"):
        git(tmp_path, "clone", "--quiet", str(remote), name)
        clones.append(tmp_path / name)
    return remote, clones[0], clones[1]


def titles(where: Path) -> list[str]:
    return sorted(item.title for item in tracker(where).list("issue", includeClosed=True).items)


def test_sync_brings_both_sides_to_the_same_state(team: tuple[Path, Path, Path]):
    _, ann, bob = team
    one = tracker(ann).tools.create("From Ann").id
    said(ann, "sync")
    said(bob, "sync")
    tracker(bob).tools.create("From Bob")
    tracker(ann).tools.update(one, title="Ann's title")
    tracker(bob).tools.update(one, title="Bob's title")
    said(bob, "sync")
    said(ann, "sync")
    said(bob, "pull")
    assert titles(ann) == titles(bob)
    states = {verify_logs(tracker(where).issues.store, fix=False).state for where in (ann, bob)}
    assert len(states) == 1
    shown = tracker(ann).show("issue", one)
    assert isinstance(shown.conflicts, list)
    assert len(shown.conflicts) == 1
    tracker(ann).tools.update(one, title=shown.title)
    assert not tracker(ann).show("issue", one).conflicts


def test_after_init_a_plain_fetch_is_enough_and_init_may_be_repeated(team: tuple[Path, Path, Path]):
    _, ann, bob = team
    tracker(ann).tools.create("Hello")
    said(ann, "push")
    assert "Initialized" in said(bob, "init")
    assert "already" in said(bob, "init")
    git(bob, "fetch", "--quiet")
    assert titles(bob) == ["Hello"]
    assert "git config --add remote.origin.fetch" in said(bob, "init", "--no-config")


def test_branch_mode_uses_branches_only_and_still_converges(team: tuple[Path, Path, Path]):
    remote, ann, bob = team
    tracker(ann).tools.create("Before")
    said(ann, "init", "--branches")
    tracker(ann).tools.create("After")
    said(ann, "push")
    assert git(remote, "for-each-ref", "refs/postil") == ""
    assert "refs/heads/postil/log/" in git(remote, "for-each-ref")
    git(bob, "fetch", "--quiet")
    assert titles(bob) == ["After", "Before"]


def test_a_host_that_refuses_custom_refs_is_told_of_branch_mode(team: tuple[Path, Path, Path]):
    remote, ann, _ = team
    hook = remote / "hooks/pre-receive"
    hook.write_text("#!/bin/sh\ngrep -q refs/postil && exit 1\nexit 0\n")
    hook.chmod(0o755)
    tracker(ann).tools.create("x")
    with pytest.raises(RemoteRefused) as caught:
        push(tracker(ann).issues.store, "origin")
    assert "--branches" in caught.value.advice
    said(ann, "init", "--branches")
    assert push(tracker(ann).issues.store, "origin") is not None


@pytest.mark.parametrize("remote", ["nowhere", "--upload-pack=touch /tmp/x", "-q", "", "../other"])
def test_a_remote_that_is_none_is_refused(team: tuple[Path, Path, Path], remote: str):
    with pytest.raises(InvalidParams):
        fetch(tracker(team[1]).issues.store, remote)


def test_a_restored_copy_pushes_under_a_new_identity_and_nothing_is_lost(team: tuple[Path, Path, Path], tmp_path: Path):
    _, ann, bob = team
    tracker(ann).tools.create("Common")
    said(ann, "push")
    twin = tmp_path / "twin"
    shutil.copytree(ann, twin)
    inode = (twin / ".git").stat().st_ino
    identity = twin / ".git/postil/tracker.json"
    identity.write_text(identity.read_text().replace(str((ann / ".git").stat().st_ino), str(inode)))
    tracker(ann).tools.create("On the first")
    tracker(twin).tools.create("On the twin")
    said(ann, "push")
    assert "new one" in said(twin, "push")
    said(bob, "pull")
    assert titles(bob) == ["Common", "On the first", "On the twin"]
    said(twin, "pull")
    assert titles(twin) == titles(bob)


def traces(clone: Path) -> set[str]:
    """Every file and folder of a repository but git's objects, which its own gc removes."""
    found = (path.relative_to(clone).as_posix() for path in clone.rglob("*"))
    return {path for path in found if not path.startswith(".git/objects/")}


@pytest.mark.parametrize("where", [(), ("--branches",)])
def test_removing_the_tracker_leaves_no_trace(team: tuple[Path, Path, Path], where: tuple[str, ...]):
    _, ann, bob = team
    config, before, refs = (ann / ".git/config").read_text(), traces(ann), git(ann, "for-each-ref")
    said(ann, "init", *where)
    tracker(ann).tools.create("x")
    tracker(bob).tools.create("y")
    said(bob, "push")
    said(ann, "save", "mine", "label:x")
    said(ann, "sync")
    assert run(ann, "deinit").returncode == 2
    assert "3 refs" in said(ann, "deinit", "--yes")
    assert git(ann, "for-each-ref") == refs
    assert (ann / ".git/config").read_text() == config
    assert not [path for path in traces(ann) - before if "postil" in path or (ann / path).is_file()]
    assert "0 refs" in said(ann, "deinit", "--yes")


def test_sixteen_pushers_at_once_are_never_rejected(tmp_path: Path):
    remote = tmp_path / "remote.git"
    git(tmp_path, "init", "--quiet", "--bare", str(remote))

    def work(number: int) -> None:
        where = tmp_path / f"w{number}"
        git(tmp_path, "clone", "--quiet", str(remote), str(where))
        mine = tracker(where)
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
    fetch(tracker(reader).issues.store, "origin")
    assert len(titles(reader)) == 32
    assert len(git(remote, "for-each-ref").splitlines()) == 16


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
    found = tracker(repository).list("issue", limit=1000)
    assert len({item.title for item in found.items}) == count * 2
    assert verify_logs(tracker(repository).issues.store, fix=False).problems == []


def test_one_of_many_processes_claims(repository: Path):
    id_ = tracker(repository).tools.create("Work").id
    code = "import sys; from postil.surfaces.shell.main import git_mile as run; sys.exit(run())"
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", code, "claim", id_, "--who", f"w{n}"],
            cwd=repository,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for n in range(6)
    ]
    assert sorted(racer.wait(timeout=100) for racer in racers) == [0, 6, 6, 6, 6, 6]


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
    after = tracker(repository)
    after.tools.create("the next command works")
    present = {item.id for item in after.list("issue", limit=1000).items}
    assert set(acknowledged) <= present
    assert verify_logs(after.issues.store, fix=True).problems == []


def test_a_read_only_repository_can_be_listed_and_shown(repository: Path, tmp_path: Path):
    id_ = tracker(repository).tools.create("Read me").id
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


def test_verify_names_a_missing_object_and_other_logs_are_still_read(team: tuple[Path, Path, Path]):
    _, ann, bob = team
    tracker(ann).tools.create("Ann")
    tracker(ann).tools.create("Ann 2")
    said(ann, "push")
    said(bob, "pull")
    tracker(bob).tools.create("Bob")
    tip = git(bob, "for-each-ref", "--format=%(objectname)", "refs/postil/remote").split()[0]
    parent = git(bob, "rev-parse", f"{tip}~1").strip()
    git(bob, "repack", "-adq")
    for pack in (bob / ".git/objects/pack").glob("*.pack"):
        shutil.move(pack, bob / "out.pack")
    for index in (bob / ".git/objects/pack").glob("*.idx"):
        index.unlink()
    with (bob / "out.pack").open("rb") as packed:
        subprocess.run(["git", "unpack-objects", "-q"], stdin=packed, cwd=bob, check=True, timeout=30)
    (bob / ".git/objects" / parent[:2] / parent[2:]).unlink()
    shutil.rmtree(bob / ".git/postil")
    assert titles(bob) == ["Bob"]
    report = verify_logs(tracker(bob).issues.store, fix=False)
    assert report.exit_status == 7
    assert any("refs/postil/remote" in line for line in report.problems)
    git(bob, "fetch", "--quiet", "--refetch", "origin", "+refs/postil/log/*:refs/postil/remote/origin/*")
    said(bob, "verify", "--fix")
    assert titles(bob) == ["Ann", "Ann 2", "Bob"]


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
    tracker(repository).tools.create("x")
    assert titles(repository) == ["x"]
    assert not marker.exists()


def test_logs_of_writers_who_left_find_a_home_and_the_state_stays(tmp_path: Path):
    remote = tmp_path / "remote.git"
    git(tmp_path, "init", "--quiet", "--bare", str(remote))
    for number in range(12):
        where = tmp_path / f"job{number}"
        git(tmp_path, "clone", "--quiet", str(remote), str(where))
        tracker(where).tools.create(f"job {number}")
        push(tracker(where).issues.store, "origin")
    keeper = tmp_path / "keeper"
    git(tmp_path, "clone", "--quiet", str(remote), str(keeper))
    mine = tracker(keeper)
    fetch(mine.issues.store, "origin")
    before = hash_state(mine.issues.store.index)
    said(keeper, "gc", "--absorb-days", "0", "--remote", "origin")
    assert len(git(remote, "for-each-ref").splitlines()) == 1
    mine.issues.refresh()
    assert hash_state(mine.issues.store.index) == before
    late = tmp_path / "late"
    git(tmp_path, "clone", "--quiet", str(remote), str(late))
    fetch(tracker(late).issues.store, "origin")
    assert len(titles(late)) == 12
    assert absorb(mine.issues.store, 0) == []
    assert drop_absorbed(mine.issues.store) == []


def test_a_full_disk_is_told_and_nothing_is_broken(repository: Path):
    mine = tracker(repository)
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
    assert titles(repository) == ["After", "Before"]


def test_who_claimed_at_the_same_time_and_lost_is_told(team: tuple[Path, Path, Path]):
    _, ann, bob = team
    issue = tracker(ann).tools.create("Wanted").id
    said(ann, "push")
    assert "1 entity changed" in said(bob, "pull")
    for clone, who in ((ann, "ann"), (bob, "bob")):
        tracker(clone).tools.claim(issue, who=who)
    for clone in (ann, bob, ann):
        said(clone, "sync")
    shown = answered(ann, "show", issue)
    winner = shown["claim"]["who"]
    (lost,) = shown["lost_claims"]
    assert {winner, lost["who"]} == {"ann", "bob"}
    assert answered(bob, "show", issue)["claim"] == shown["claim"]
    assert f"{lost['who']} claimed it at the same time, and lost" in said(ann, "show", issue)
    again = run(ann, "claim", issue, "--who", lost["who"])
    assert (again.returncode, f"is claimed by {winner}" in again.stderr, "hint: " in again.stderr) == (6, True, True)


def test_exchanging_says_what_came_and_went(team: tuple[Path, Path, Path]):
    _, ann, bob = team
    assert "git fetch" in said(ann, "init")
    assert said(ann, "push") == "Nothing was written here yet\n"
    for title in ("One", "Two"):
        tracker(ann).tools.create(title)
    assert "Pushed refs/postil/log/" in said(ann, "sync")
    assert said(ann, "sync") == "Pulled from origin: nothing new\nPushed to origin: nothing new\n"
    said(bob, "pull")
    tracker(ann).tools.create("Three")
    said(ann, "push")
    assert said(bob, "pull") == "Pulled from origin: 1 entity changed\n"


def test_the_users_own_ssh_reaches_the_remote_and_the_repositorys_is_not_started(
    team: tuple[Path, Path, Path], tmp_path: Path
):
    remote, ann, _ = team
    log = tmp_path / "ssh.log"
    ssh = tmp_path / "my-ssh"
    ssh.write_text(f'#!/bin/sh\necho "$*" >> "{log}"\n[ "$1" = -G ] && exit 1\nshift\nexec sh -c "$*"\n')
    ssh.chmod(0o755)
    git(ann, "remote", "set-url", "origin", f"ssh://example.org{remote}")
    tracker(ann).tools.create("Over ssh")
    git(ann, "config", "core.sshCommand", str(ssh))
    refused = run(ann, "sync")
    assert (refused.returncode, log.exists()) == (4, False)
    assert "git fetch with origin failed: " in refused.stderr
    git(ann, "config", "--unset", "core.sshCommand")
    git(ann, "config", "--global", "core.sshCommand", str(ssh))
    said(ann, "sync")
    assert "git-receive-pack" in log.read_text()
    assert len(git(remote, "for-each-ref", "refs/postil").splitlines()) == 1
