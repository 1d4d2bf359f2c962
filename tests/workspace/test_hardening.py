"""A hostile repository runs nothing."""

import os
import subprocess
from pathlib import Path

import pytest

from postil.workspace.git import DURABLE, NETWORK, GitMode, run_git, try_git
from tests.workspace.repositories import git, new_repository


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return new_repository(tmp_path / "repository", a__txt="one\n", b__txt="two\n")


def test_git_variables_of_the_caller_do_not_lead_elsewhere(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = new_repository(tmp_path / "other", c__txt="three\n")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other / ".git/index"))
    assert run_git(str(repository), "ls-files").split() == [b"a.txt", b"b.txt"]


def test_a_durable_write_syncs_objects_and_refs(repository: Path) -> None:
    told = run_git(str(repository), "config", "core.fsync", mode=DURABLE)
    assert told.strip() == b"all"
    assert try_git(str(repository), "config", "core.fsync").status == 1


def test_a_bare_repository_is_entered_because_we_name_it(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "--bare", "shared.git")
    assert run_git(str(tmp_path / "shared.git"), "rev-parse", "--is-bare-repository").strip() == b"true"


COMMANDS: list[tuple[str, ...]] = [
    ("status", "--porcelain"),
    ("diff",),
    ("diff", "HEAD"),
    ("diff", "--cached"),
    ("diff-index", "-p", "HEAD"),
    ("diff-files", "-p"),
    ("diff-tree", "-p", "HEAD"),
    ("show", "HEAD"),
    ("log", "-p", "--show-signature"),
    ("log", "-p"),
    ("ls-files", "--modified", "--others"),
    ("blame", "a.txt"),
    ("grep", "one"),
    ("update-ref", "refs/heads/made", "HEAD"),
    ("update-index", "--refresh"),
    ("hash-object", "-w", "--path", "a.txt", "a.txt"),
    ("add", "a.txt"),
    ("commit", "-qm", "message", "--allow-empty"),
    ("commit-tree", "HEAD^{tree}", "-m", "message"),
    ("tag", "-a", "-m", "message", "made"),
    ("stash", "create"),
    ("cat-file", "--textconv", "HEAD:a.txt"),
    ("cat-file", "--filters", "HEAD:a.txt"),
    ("cat-file", "-p", "1234567890123456789012345678901234567890"),
    ("for-each-ref",),
    ("rev-parse", "HEAD"),
    ("rev-list", "--objects", "--all"),
    ("merge-file", "-p", "a.txt", "a.txt", "a.txt"),
    ("checkout", "-q", "HEAD", "--", "a.txt"),
    ("interpret-trailers", "a.txt"),
    ("archive", "--format=evil", "HEAD"),
    ("submodule", "status"),
    ("gc", "--auto"),
    ("fetch", "evil"),
    ("push", "evil", "HEAD"),
    ("ls-remote", "evil"),
    *((verb, remote) for verb in ("fetch", "push", "ls-remote") for remote in ("shell", "ssh", "ext")),
]


@pytest.fixture
def hostile(tmp_path: Path) -> tuple[Path, Path]:
    """A repository whose config and hooks run a program at every chance; and the file that program would leave."""
    marker = tmp_path / "ran"
    program = tmp_path / "evil"
    program.write_text(f'#!/bin/sh\necho "$0 $*" >> {marker}\ncat\n')
    program.chmod(0o755)
    root = new_repository(tmp_path / "hostile", a__txt="one\n", b__txt="two\n")
    (root / ".gitattributes").write_text("* filter=evil diff=evil merge=evil\n*.txt filter=e=v diff=e=v\n")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "attributes")
    for hook in (
        "reference-transaction",
        "pre-commit",
        "post-commit",
        "post-checkout",
        "commit-msg",
        "post-index-change",
    ):
        path = root / ".git/hooks" / hook
        path.write_text(program.read_text())
        path.chmod(0o755)
    included = root / ".git/more"
    included.write_text(
        f"""
[filter "evil"]
  clean = {program} clean
  smudge = {program} smudge
[filter "e=v"]
  process = {program} process
  clean = {program} clean
  smudge = {program} smudge
  required = true
[diff "evil"]
  textconv = {program} textconv
  command = {program} command
[diff "e=v"]
  textconv = {program} textconv
"""
    )
    with (root / ".git/config").open("a") as config:
        config.write(
            f"""
[include]
  path = more
[core]
  fsmonitor = {program} fsmonitor
  pager = {program} pager
  editor = {program} editor
  sshCommand = {program} ssh
  askPass = {program} askpass
  alternateRefsCommand = {program} alternates
  gitProxy = {program} proxy
[diff]
  external = {program} external
[merge "evil"]
  driver = {program} driver
[gpg]
  program = {program} gpg
[commit]
  gpgSign = true
[tag]
  gpgSign = true
[log]
  showSignature = true
[credential]
  helper = {program} helper
[credential "https://example.org"]
  helper = {program} helper
[trailer "evil"]
  key = one
  cmd = {program} trailer
  ifmissing = add
[tar "evil"]
  command = {program} tar
[extensions]
  partialClone = evil
[remote "evil"]
  url = {tmp_path}/nothing
  uploadpack = {program} uploadpack
  receivepack = {program} receivepack
  vcs = evil
  promisor = true
[remote "shell"]
  url = {tmp_path}/hostile
  uploadpack = {program} uploadpack
  receivepack = {program} receivepack
[remote "ssh"]
  url = git@host.invalid:path
[remote "ext"]
  url = ext::{program} ext
[protocol]
  allow = always
[protocol "ext"]
  allow = always
"""
        )
    (root / "a.txt").write_text("one, changed\n")
    os.utime(root / "b.txt", (1, 1))
    return root, marker


def test_plain_git_runs_the_marker_there(hostile: tuple[Path, Path]) -> None:
    root, marker = hostile
    subprocess.run(["git", "status"], cwd=root, capture_output=True)
    assert marker.exists()  # or the tests below would prove nothing


@pytest.mark.parametrize("mode", [GitMode(), DURABLE, NETWORK], ids=["local", "durable", "network"])
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_hostile_repository_runs_nothing(hostile: tuple[Path, Path], command: tuple[str, ...], mode: GitMode) -> None:
    root, marker = hostile
    try_git(str(root), *command, mode=mode, timeout=30)
    assert not marker.exists(), marker.read_text()


def test_the_user_own_drivers_stay(hostile: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root, marker = hostile
    own = tmp_path / "own-gitconfig"
    own.write_text(
        '[user]\nname=A\nemail=a@example.org\n[filter "evil"]\nclean = sed s/changed/mine/\n'
        "[credential]\nhelper = mine\n"
    )
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(own))
    (root / ".gitattributes").write_text("* filter=evil\n")
    diff = run_git(str(root), "diff", "--", "a.txt")
    assert b"+one, mine" in diff
    helpers = run_git(str(root), "config", "--get-all", "credential.helper", mode=NETWORK)
    assert helpers.split(b"\n")[-2:] == [b"mine", b""]
    assert b"" in helpers.split(b"\n")[:-2]
    assert not marker.exists()


def test_the_config_is_read_again_when_it_changes(hostile: tuple[Path, Path]) -> None:
    root, marker = hostile
    config = root / ".git/config"
    kept = config.read_text()
    config.write_text("[core]\nrepositoryformatversion = 0\n")
    run_git(str(root), "status")
    config.write_text(kept)
    run_git(str(root), "status")
    assert not marker.exists()


def test_a_bare_repository_inside_a_work_tree_is_not_entered(hostile: tuple[Path, Path]) -> None:
    root, marker = hostile
    embedded = root / "folder"
    git(root, "init", "-q", "--bare", "folder")
    with (embedded / "config").open("a") as config:
        config.write(f"[core]\nbare = false\nworktree = .\nfsmonitor = {root.parent}/evil fsmonitor\n")
    try_git(str(embedded), "status")
    assert not marker.exists()
