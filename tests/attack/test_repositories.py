"""The product in a hostile repository: whatever people run there, none of its programs starts."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zlib
from hashlib import sha1
from pathlib import Path

import pytest

from tests.workspace.hostile import Hostile, make_hostile, plant_hooks
from tests.workspace.repositories import git, new_repository

BIN = Path(sys.executable).parent
COMMANDS = [
    ["postil", "status"],
    ["postil", "doctor"],
    ["postil", "workspace", "info"],
    ["postil", "workspace", "check"],
    ["postil", "comments", "list"],
    ["postil", "comments", "add", "a.txt:1", "a remark"],
    ["postil", "comments", "check"],
    ["postil", "issue", "create", "a title"],
    ["postil", "issue", "list"],
    ["postil", "issue", "init"],
    ["postil", "issue", "sync", "shell"],
    ["postil", "issue", "sync", "inside"],
    ["postil", "issue", "sync", "git"],
    ["postil", "issue", "sync", "ssh"],
    ["postil", "inbox", "list"],
    ["git-mile", "list"],
]


@pytest.fixture
def hostile(tmp_path: Path) -> Hostile:
    """Also with modules and programs in the work tree, and a bare repository in it that is a remote."""
    made = make_hostile(tmp_path)
    root = made.root
    for name in ("msgspec.py", "postil.py", "sitecustomize.py", "json.py", "re.py"):
        (root / name).write_text(f"open({str(made.marker)!r}, 'a').write({name!r})\n")
    for name in ("git", "bin/git", "ssh", "sh", "python3"):
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(made.program.read_text())
        (root / name).chmod(0o755)
    git(tmp_path, "init", "-q", "--bare", str(root / "inside.git"))
    plant_hooks(root / "inside.git", made.program)
    with (root / "inside.git/config").open("a") as config:
        config.write(f"[core]\n\tfsmonitor = {made.program} inside\n\tgitProxy = {made.program} inside\n")
    with (root / ".git/config").open("a") as config:
        config.write('[remote "inside"]\n\turl = inside.git\n\tfetch = +refs/heads/*:refs/remotes/inside/*\n')
    for number in range(100):  # so many sidecars start a worker for the index
        (root / f"f{number}.txt").write_text("line\n")
        (root / f"f{number}.txt.comments").write_text(SIDECAR % number)
    return made


SIDECAR = (
    '{"file":"f%d.txt","version":"2.0.0","ghostMarkers":[],"comments":[{"id":"c1","text":"hello","line":1,'
    '"author":"a","created":"2026-01-01T00:00:00Z","updated":"2026-01-01T00:00:00Z","ghostMarkerId":null}]}\n'
)


def run(hostile: Hostile, command: list[str], home: Path) -> subprocess.CompletedProcess[bytes]:
    own = home / "gitconfig"
    own.write_text("[user]\nname = A\nemail = a@example.org\n")
    environ = {**os.environ, "PATH": f".:{hostile.root / 'bin'}:{os.environ['PATH']}", "PYTHONPATH": ""}
    environ |= {"HOME": str(home), "GIT_CONFIG_GLOBAL": str(own), "XDG_STATE_HOME": str(home / "state")}
    environ |= {"XDG_CACHE_HOME": str(home / "cache"), "XDG_CONFIG_HOME": str(home / "config")}
    return subprocess.run(
        [BIN / command[0], *command[1:]],
        cwd=hostile.root,
        env=environ,
        capture_output=True,
        timeout=120,
        stdin=subprocess.DEVNULL,
    )


def test_nothing_of_a_hostile_repository_runs(hostile: Hostile, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    hostile.marker.unlink(missing_ok=True)
    answered = 0
    for command in COMMANDS:
        done = run(hostile, command, home)
        assert not hostile.marker.exists(), (command, hostile.marker.read_text())
        assert done.returncode >= 0, (command, done.stderr)
        answered += done.returncode == 0
    assert answered >= 8, "the commands themselves work"


def test_a_damaged_log_is_looked_for_at_no_remote_that_names_a_program(hostile: Hostile, tmp_path: Path) -> None:
    """git would take this address of a remote for an option, and run what it says."""
    home = tmp_path / "home"
    home.mkdir()
    git(hostile.root, "config", "remote.option.url", f"--upload-pack={hostile.program} option")
    assert run(hostile, ["postil", "issue", "create", "a title"], home).returncode == 0
    head = git(hostile.root, "for-each-ref", "--format=%(objectname)", "refs/postil/log")
    (hostile.root / ".git/objects" / head[:2] / head[2:]).unlink()
    hostile.marker.unlink(missing_ok=True)
    healed = run(hostile, ["postil", "issue", "verify", "--fix"], home)
    assert not hostile.marker.exists(), hostile.marker.read_text()
    assert b"1 event appended" in healed.stdout, healed.stderr


@pytest.mark.parametrize("kind", ["file", "link", "commondir", "file to a worktree", "file to a submodule"])
def test_a_git_that_leads_to_another_repository_is_not_followed(tmp_path: Path, kind: str) -> None:
    """An archive may name any repository of the person: its issues were shown, and others written beside them."""
    home, root, private = tmp_path / "home", tmp_path / "work", tmp_path / "private"
    home.mkdir()
    new_repository(root, a__txt="one\n")
    new_repository(private, a__txt="one\n")
    fake = Hostile(private, private, tmp_path / "ran")
    assert run(fake, ["postil", "issue", "create", "a private one"], home).returncode == 0
    assert run(fake, ["postil", "comments", "add", "a.txt:1", "a private remark"], home).returncode == 0
    leads_to = private / ".git"
    if kind.endswith("worktree"):
        git(private, "worktree", "add", "-q", str(tmp_path / "side"))
        leads_to = private / ".git/worktrees/side"
    elif kind.endswith("submodule"):
        new_repository(tmp_path / "library", a__txt="one\n")
        added = ("submodule", "-q", "add", str(tmp_path / "library"), "library")
        git(private, "-c", "protocol.file.allow=always", *added)
        leads_to = private / ".git/modules/library"
    before = {path: path.read_bytes() for path in private.rglob("*") if path.is_file()}
    if kind == "commondir":
        (root / ".git/commondir").write_text(f"{leads_to}\n")
    else:
        shutil.rmtree(root / ".git")
        _ = (
            (root / ".git").symlink_to(leads_to)
            if kind == "link"
            else (root / ".git").write_text(f"gitdir: {leads_to}")
        )
    fake = Hostile(root, root, tmp_path / "ran")
    for command in COMMANDS[:1] + COMMANDS[4:6] + COMMANDS[7:9] + COMMANDS[-1:]:
        done = run(fake, command, home)
        assert b"private one" not in done.stdout
        assert b"private remark" not in done.stdout
    assert {path: path.read_bytes() for path in private.rglob("*") if path.is_file()} == before


def test_a_log_that_is_a_bomb_is_named_and_the_rest_is_listed(tmp_path: Path) -> None:
    home, root = tmp_path / "home", tmp_path / "repository"
    home.mkdir()
    root.mkdir()
    git(root, "init", "-q")
    fake = Hostile(root, root, tmp_path / "ran")
    assert run(fake, ["postil", "issue", "create", "a true one"], home).returncode == 0
    content = b"commit 999999999999\0tree " + b"0" * 40
    name = sha1(content).hexdigest()
    (root / ".git/objects" / name[:2]).mkdir(exist_ok=True)
    (root / ".git/objects" / name[:2] / name[2:]).write_bytes(zlib.compress(content))
    (root / ".git/refs/postil/remote/evil").mkdir(parents=True)
    (root / ".git/refs/postil/remote/evil/aaaaaaaaaaaaa").write_text(name + "\n")
    listed = run(fake, ["postil", "issue", "list"], home)
    assert b"a true one" in listed.stdout, listed.stderr
