"""A hostile repository runs nothing."""

import ast
import os
import re
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from postil.core.failure import InvalidArguments
from postil.workspace import hardening
from postil.workspace.failures import GitMissing, UntrustedPath
from postil.workspace.git import DURABLE, NETWORK, GitMode, run_git, try_git
from postil.workspace.hardening import prepare
from tests.workspace.hostile import Hostile, make_hostile, plant_hooks
from tests.workspace.repositories import git, new_repository


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return new_repository(tmp_path / "repository", a__txt="one\n", b__txt="two\n")


@pytest.fixture
def hostile(tmp_path: Path) -> Hostile:
    return make_hostile(tmp_path)


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
    ("grep", "--untracked", "one"),
    ("update-ref", "refs/heads/made", "HEAD"),
    ("hash-object", "-w", "--path", "a.txt", "a.txt"),
    ("cat-file", "--textconv", "HEAD:a.txt"),
    ("cat-file", "--filters", "HEAD:a.txt"),
    ("cat-file", "-p", "1234567890123456789012345678901234567890"),
    ("for-each-ref",),
    ("rev-parse", "HEAD"),
    ("rev-list", "--objects", "--all"),
    *((verb, remote) for verb in ("fetch", "ls-remote") for remote in ("evil", "shell", "ssh", "git", "ext")),
]


def test_plain_git_runs_the_marker_there(hostile: Hostile) -> None:
    subprocess.run(["git", "diff"], cwd=hostile.root, capture_output=True)
    assert hostile.marker.exists()  # or the tests below would prove nothing


@pytest.mark.usefixtures("any_option")
@pytest.mark.parametrize("mode", [GitMode(), DURABLE, NETWORK], ids=["local", "durable", "network"])
def test_a_hostile_repository_runs_nothing(hostile: Hostile, mode: GitMode) -> None:
    for command in COMMANDS:
        try_git(str(hostile.root), *command, mode=mode, timeout=60)
        assert not hostile.marker.exists(), (command, hostile.marker.read_text())
    assert not (hostile.root.parent / "cookies").exists()


@pytest.mark.parametrize("remote", ["evil", "shell", "ssh", "git", "ext"])
def test_a_push_into_a_hostile_repository_runs_nothing(
    hostile: Hostile, remote: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    trust_nothing(monkeypatch, tmp_path)
    with suppress(UntrustedPath):  # the two that are folders
        try_git(str(hostile.root), "push", remote, "HEAD", mode=NETWORK, timeout=60)
    assert not hostile.marker.exists(), hostile.marker.read_text()


@pytest.mark.usefixtures("any_option")
def test_git_sees_of_the_config_only_what_is_allowed(hostile: Hostile) -> None:
    shown = run_git(str(hostile.root), "config", "--list", "--show-scope", "--name-only").decode().splitlines()
    seen = {line.partition("\t")[2] for line in shown if line.startswith(("local", "worktree"))}
    ours = {line.partition("\t")[2] for line in _list_config_of_a_plain_one(hostile.root.parent)}
    assert seen - ours == {
        "extensions.partialclone",
        "remote.evil.promisor",
        *(f"remote.{name}.url" for name in ("evil", "shell", "ssh", "git", "ext")),
    }


def _list_config_of_a_plain_one(folder: Path) -> list[str]:
    plain = new_repository(folder / "plain")
    return run_git(str(plain), "config", "--list", "--show-scope", "--name-only").decode().splitlines()


def test_an_unknown_verb_is_a_mistake_of_ours(repository: Path) -> None:
    with pytest.raises(ValueError, match="git stash is not in the table"):
        run_git(str(repository), "stash")


def test_every_verb_that_is_used_is_in_the_table() -> None:
    source = Path(hardening.__file__).parents[1]
    ways = {"run_git", "try_git", "git_lines", "git_dialogue"}
    used = {
        (file.relative_to(source).as_posix(), node.args[1].value)
        for file in source.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ways
        and len(node.args) > 1 and isinstance(node.args[1], ast.Constant)
    }  # fmt: skip
    assert len(used) > 30
    known = hardening._VERBS  # pyright: ignore[reportPrivateUsage] # the table is what this is about
    assert {pair for pair in used if pair[1] not in known} == set()


@pytest.mark.parametrize(
    "words",
    [("fetch", "--upload-pack=evil", "+refs/x"), ("fetch", "--quiet", "-uevil", "x"), ("ls-remote", "--exec=evil"),
     ("push", "--receive-pack", "evil", "x"), ("push", "-oevil"), ("diff", "--output=a.txt"), ("log", "--output", "x"),
     ("log", "--ext-diff"), ("show", "--textconv", "HEAD"), ("cat-file", "--filters", "HEAD:a.txt"),
     ("grep", "-Oevil", "-e", "one"), ("grep", "--open-files-in-pager=evil", "one"), ("diff", "--no-index", "/", "."),
     ("blame", "--contents=/etc/passwd", "a.txt"), ("ls-files", "-X/etc/passwd"), ("config", "--edit"),
     ("init", "--template=evil"), ("diff", "-M", "--ou", "x"), ("update-ref", "--no-such")],
)  # fmt: skip
def test_a_name_that_git_would_take_for_an_option_is_refused(repository: Path, words: tuple[str, ...]) -> None:
    """Of a remote's address, a ref or a commit's name that somebody chose git would run or write what it says."""
    for mode in (GitMode(), NETWORK):
        with pytest.raises(InvalidArguments, match="for an option"):
            prepare(str(repository), words, None, mode)


def test_behind_a_mark_every_name_is_one(repository: Path) -> None:
    run_git(str(repository), "ls-files", "--", "--output=x", "-O")
    assert try_git(str(repository), "rev-parse", "--verify", "--end-of-options", "--output=x").status == 128
    assert try_git(str(repository), "grep", "-e", "--no-such-text").status == 1


def test_every_option_that_is_let_through_is_given_somewhere() -> None:
    source = Path(hardening.__file__).parents[1]
    texts = [file.read_text() for file in source.rglob("*.py") if file != Path(hardening.__file__)]
    given = {name.rstrip("0123456789") for text in texts for name in re.findall(r'"(-[a-zA-Z-]*[0-9]*)', text)}
    known = hardening._OPTIONS  # pyright: ignore[reportPrivateUsage] # the table is what this is about
    assert known - given == set()


def test_what_a_pull_brings_into_an_included_file_is_not_read(hostile: Hostile) -> None:
    run_git(str(hostile.root), "status")
    (hostile.root / "shared-config").write_text(f'[core]\n\tfsmonitor = "{hostile.program} pulled later"\n')
    run_git(str(hostile.root), "status")
    assert not hostile.marker.exists()


def test_the_config_is_read_again_when_it_changes(hostile: Hostile) -> None:
    config = hostile.root / ".git/config"
    kept = config.read_text()
    config.write_text("[core]\nrepositoryformatversion = 0\n")
    assert not run_git(str(hostile.root), "remote")
    config.write_text(kept)
    assert b"evil" in run_git(str(hostile.root), "remote").split()
    assert not hostile.marker.exists()


@pytest.mark.usefixtures("any_option")
def test_a_bare_repository_inside_a_work_tree_is_not_entered(hostile: Hostile) -> None:
    embedded = hostile.root / "folder"
    git(hostile.root.parent, "init", "-q", "--bare", str(embedded))
    with (embedded / "config").open("a") as config:
        config.write(f"[core]\nbare = false\nworktree = .\nfsmonitor = {hostile.program} fsmonitor\n")
    assert run_git(str(embedded), "rev-parse", "--show-toplevel").decode().strip() == str(hostile.root)
    try_git(str(embedded), "status")
    assert not hostile.marker.exists()


# The user's own configuration


def trust_nothing(monkeypatch: pytest.MonkeyPatch, folder: Path, more: str = "") -> None:
    own = folder / "own-gitconfig"
    own.write_text(f"[user]\nname=A\nemail=a@example.org\n{more}")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(own))


def test_the_user_own_drivers_and_helpers_stay(
    hostile: Hostile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = '[filter "evil"]\nclean = sed s/changed/mine/\n[credential]\nhelper = mine\n'
    trust_nothing(monkeypatch, tmp_path, own)
    (hostile.root / ".gitattributes").write_text("* filter=evil\n")
    assert b"+mine" in run_git(str(hostile.root), "diff", "--", "a.txt")
    helpers = run_git(str(hostile.root), "config", "--get-all", "credential.helper", mode=NETWORK)
    assert helpers.split() == [b"mine"]
    assert not hostile.marker.exists()


def test_fetching_from_a_folder_works_and_pushing_asks_for_a_line(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trust_nothing(monkeypatch, tmp_path)
    git(tmp_path, "init", "-q", "--bare", "shared folder.git")
    shared = tmp_path / "shared folder.git"
    ran = tmp_path / "ran"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {ran}\n")
    plant_hooks(shared, program)
    for address in (str(shared), f"file://{shared}".replace(" ", "%20"), "../shared folder.git"):
        git(repository, "config", "remote.origin.url", address)
        with pytest.raises(UntrustedPath, match="would run the hooks of") as refused:
            run_git(str(repository), "push", "--quiet", "origin", "HEAD:refs/heads/main", mode=NETWORK)
        assert not ran.exists()
    line = refused.value.advice.partition(": ")[2]
    assert line == f"git config --global --add postil.trusted '{shared}'"
    subprocess.run(line, shell=True, check=True)
    git(repository, "config", "remote.origin.url", str(shared))
    run_git(str(repository), "push", "--quiet", "origin", "HEAD:refs/heads/main", mode=NETWORK)
    assert ran.exists()
    git(repository, "config", "remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*")
    run_git(str(repository), "fetch", "--quiet", "origin", mode=NETWORK)
    assert run_git(str(repository), "rev-parse", "origin/main") == run_git(str(repository), "rev-parse", "HEAD")


def test_a_fetch_from_a_folder_reads_nothing_of_its_config(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The clone may hold another repository and name it as a remote: git-upload-pack reads that one's config."""
    trust_nothing(monkeypatch, tmp_path)
    secret = tmp_path / "secret"
    secret.write_text("this is no config\n")
    inner = new_repository(repository / "inner", a__txt="one\n")
    bare = tmp_path / "bare.git"
    git(tmp_path, "clone", "-q", "--bare", str(inner), str(bare))
    for config in (inner / ".git/config", bare / "config"):
        config.write_text(config.read_text() + f"[include]\n\tpath = {secret}\n")
    for address in ("./inner", "inner", f"file://{inner}", str(inner / ".git"), str(bare), str(bare)[:-4]):
        git(repository, "config", "remote.d.url", address)
        done = try_git(str(repository), "fetch", "d", "HEAD:refs/got", mode=NETWORK)
        assert (done.status, str(secret).encode() in done.err) == (0, False), (address, done.err)
        assert run_git(str(repository), "rev-parse", "refs/got") != b""
        run_git(str(repository), "update-ref", "-d", "refs/got")
        assert b"refs/heads/" in run_git(str(repository), "ls-remote", address, mode=NETWORK)


def test_a_fetch_past_a_rule_of_the_user_needs_the_path_in_their_settings(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trust_nothing(monkeypatch, tmp_path)
    other = new_repository(tmp_path / "other", a__txt="one\n")
    git(repository, "config", "--global", f"url.{other}.insteadOf", "short:it")
    git(repository, "config", "remote.d.url", "short:it")
    with pytest.raises(UntrustedPath, match="would use the configuration of"):
        run_git(str(repository), "fetch", "d", mode=NETWORK)
    git(repository, "config", "--global", "--add", "postil.trusted", str(other))
    run_git(str(repository), "fetch", "d", mode=NETWORK)


# Program and environment


def test_a_git_inside_the_repository_is_not_run(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = tmp_path / "ran"
    for place in ("git", "bin/git"):
        (repository / place).parent.mkdir(exist_ok=True)
        (repository / place).write_text(f"#!/bin/sh\ntouch {ran}\n")
        (repository / place).chmod(0o755)
    monkeypatch.chdir(repository)
    monkeypatch.setenv("PATH", f".::{repository / 'bin'}:{os.environ['PATH']}")
    started = prepare(str(repository), ("rev-parse", "HEAD"), None, GitMode())
    assert run_git(str(repository), "rev-parse", "HEAD")
    assert not ran.exists()
    assert all(os.path.isabs(folder) for folder in started.environment["PATH"].split(":"))
    monkeypatch.setenv("PATH", ".")
    with pytest.raises(GitMissing):
        run_git(str(repository), "rev-parse", "HEAD")


def test_nor_is_one_of_a_repository_around_or_of_one_that_was_worked_in(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a repository asks for may be done in its submodule, or in a temporary folder."""
    inner, aside = new_repository(repository / "inner", a__txt="one\n"), new_repository(tmp_path / "aside")
    (repository / "bin").mkdir()
    (repository / "bin/git").symlink_to("/bin/false")
    monkeypatch.setenv("PATH", f"{repository / 'bin'}:{os.environ['PATH']}")
    for folder in (inner, aside):
        started = prepare(str(folder), ("rev-parse", "HEAD"), None, GitMode())
        assert str(repository) not in started.words[0] + started.environment["PATH"]


def test_no_secret_reaches_git(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GITLAB_TOKEN", "POSTIL_SECRET", "AWS_SECRET_ACCESS_KEY", "GIT_EXEC_PATH", "LD_PRELOAD"):
        monkeypatch.setenv(name, "canary")
    for mode in (GitMode(), DURABLE, NETWORK):
        assert "canary" not in prepare(str(repository), ("status",), None, mode).environment.values()


def test_git_variables_of_the_caller_do_not_lead_elsewhere(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = new_repository(tmp_path / "other", c__txt="three\n")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other / ".git/index"))
    assert run_git(str(repository), "ls-files").split() == [b"a.txt", b"b.txt"]


def test_outside_of_a_repository_git_finds_none_either(tmp_path: Path) -> None:
    assert try_git(str(tmp_path), "rev-parse", "--git-dir").status == 128


def test_a_durable_write_syncs_objects_and_refs(repository: Path) -> None:
    told = run_git(str(repository), "config", "core.fsync", mode=DURABLE)
    assert told.strip() == b"all"
    assert try_git(str(repository), "config", "core.fsync").status == 1


@pytest.mark.usefixtures("any_option")
def test_a_bare_repository_is_entered_because_we_name_it(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "--bare", "shared.git")
    assert run_git(str(tmp_path / "shared.git"), "rev-parse", "--is-bare-repository").strip() == b"true"
