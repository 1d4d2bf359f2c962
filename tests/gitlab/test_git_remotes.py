"""Where a work tree stands, asked of real git."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from postil.gitlab.git_remotes import read_work_tree
from postil.gitlab.standing import WorkTree
from postil.workspace.repository import find_repository

BRANCH = "fix/a+b(1).$x"
ONE, TWO, THREE = "git@one:a/b", "git@two:c/d", "git@three:e/f"


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """A repository with three remotes, of which none is the first by all rules."""
    folder = tmp_path / "repo"
    folder.mkdir()
    git(folder, "init", "-q", "-b", BRANCH)
    for name, address in (("fork", TWO), ("origin", ONE), ("another", THREE)):
        git(folder, "remote", "add", name, address)
    return folder


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=folder, check=True)


def stand(folder: Path) -> WorkTree:
    return read_work_tree(find_repository(str(folder)))


def test_without_more_origin_is_the_first_and_the_others_follow_by_name(repo: Path) -> None:
    assert stand(repo) == WorkTree((ONE, THREE, TWO), BRANCH, None)


def test_the_remote_that_the_branch_is_pushed_to_is_the_first(repo: Path) -> None:
    git(repo, "config", f"branch.{BRANCH}.remote", "another")
    git(repo, "config", f"branch.{BRANCH}x.remote", "fork")
    assert stand(repo).remotes == (THREE, ONE, TWO)
    git(repo, "config", "remote.pushDefault", "origin")
    assert stand(repo).remotes == (ONE, THREE, TWO)
    git(repo, "config", f"branch.{BRANCH}.pushRemote", "fork")
    assert stand(repo).remotes == (TWO, THREE, ONE)


def test_the_users_own_settings_count(repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = tmp_path / "own"
    own.write_text('[remote]\n\tpushDefault = fork\n[url "https://gitlab.example.com/"]\n\tinsteadOf = git@two:\n')
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(own))
    assert stand(repo).remotes[0] == "https://gitlab.example.com/c/d"


def test_the_name_at_the_remote_is_told_where_it_differs(repo: Path) -> None:
    git(repo, "config", f"branch.{BRANCH}.remote", "origin")
    git(repo, "config", f"branch.{BRANCH}.merge", f"refs/heads/{BRANCH}")
    assert stand(repo).upstream is None
    git(repo, "config", f"branch.{BRANCH}.merge", "refs/heads/other")
    assert stand(repo).upstream == "other"
    git(repo, "config", f"branch.{BRANCH}.pushRemote", "fork")  # then it is what the branch was begun from
    assert stand(repo).upstream is None


def test_odd_settings_name_nothing(repo: Path) -> None:
    git(repo, "config", f"branch.{BRANCH}.remote", ".")
    git(repo, "config", f"branch.{BRANCH}.merge", "refs/heads/main")
    git(repo, "config", "remote.pushDefault", "--upload-pack=evil:x")
    assert stand(repo) == WorkTree((ONE, THREE, TWO), BRANCH, None)
    git(repo, "config", f"branch.{BRANCH}.pushRemote", "https://gitlab.example.com/g/h.git")
    assert stand(repo).remotes[0] == "https://gitlab.example.com/g/h.git"


def test_without_a_branch_or_a_remote_there_is_less_to_say(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "work")
    assert stand(tmp_path) == WorkTree((), "work")
    git(tmp_path, "-c", "user.name=x", "-c", "user.email=x@x", "commit", "-q", "--allow-empty", "-m", "x")
    git(tmp_path, "checkout", "-q", "--detach")
    git(tmp_path, "remote", "add", "--mirror=push", "backup", ONE)
    git(tmp_path, "remote", "set-url", "--push", "backup", TWO)
    assert stand(tmp_path) == WorkTree((ONE, TWO), None)
