"""A repository of its own for every test, and a clock that stands still unless told."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from pathlib import Path

import pytest

from postil.tracker.store import Store
from postil.workspace.repository import find_repository
from tests.tracker.groups import Clock, Tracker
from tests.tracker.programs import git


@pytest.fixture(autouse=True)
def own_git_config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = tmp_path / "gitconfig"
    # Remotes of these tests are folders beside the repository, and the tester trusts them.
    config.write_text(
        "[user]\n\tname = Tester\n\temail = tester@example.org\n[init]\n\tdefaultBranch = main\n"
        "[postil]\n\ttrusted = *\n[maintenance]\n\tauto = false\n"
    )
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def make_repository(tmp_path: Path) -> Callable[[str], Path]:
    def make(name: str) -> Path:
        path = tmp_path / name
        path.mkdir()
        git(path, "init", "--quiet")
        return path

    return make


@pytest.fixture
def repository(make_repository: Callable[[str], Path]) -> Path:
    return make_repository("work")


@pytest.fixture
def store(repository: Path) -> Store:
    return Store(find_repository(str(repository)))


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


@pytest.fixture
def shared(tmp_path: Path, repository: Path) -> tuple[Path, Path]:
    """A clone with an issue, and its remote."""
    remote = tmp_path / "remote.git"
    git(tmp_path, "init", "--quiet", "--bare", str(remote))
    git(repository, "remote", "add", "origin", str(remote))
    Tracker(repository).tools.create("Before")
    return repository, remote


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def tracker(repository: Path, clock: Clock) -> Tracker:
    return Tracker(repository, now=clock)


@pytest.fixture
def pair(repository: Path, tmp_path: Path) -> tuple[Path, Path]:
    """Two clones that fetch from one another."""
    other = tmp_path / "other"
    git(tmp_path, "clone", "--quiet", str(repository), str(other))
    return repository, other


@pytest.fixture
def story(repository: Path) -> tuple[Path, str]:
    """Three issues of a milestone over six days; one left it, one was closed and opened again."""
    at = [datetime.datetime(2026, 1, 1, 12, tzinfo=datetime.UTC)]
    mine = Tracker(repository, now=lambda: at[0])

    def day(number: int) -> None:
        at[0] = datetime.datetime(2026, 1, number, 12, tzinfo=datetime.UTC)

    mile = mine.tools.create("1.0 <&>", "milestone", due="2026-01-10").id
    one, two, three = (mine.tools.create(name, milestone=mile).id for name in ("one", "two", "three"))
    day(2)
    mine.tools.close(one)
    day(3)
    mine.tools.update(three, milestone="none")
    mine.tools.close(two)
    day(4)
    mine.tools.close(two, reopen=True)
    day(6)
    return repository, mile
