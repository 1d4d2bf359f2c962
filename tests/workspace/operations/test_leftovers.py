"""What killed processes left is found wherever we write, and only on request removed."""

import fcntl
import os
from pathlib import Path

import pytest

from postil.workspace.failures import NoRepository
from postil.workspace.operations.checks import Leftovers
from postil.workspace.part import Workspace
from postil.workspace.repository import Repository, find_repository
from tests.workspace.repositories import new_repository


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return new_repository(tmp_path / "r", a__txt="x")


@pytest.fixture
def leftovers(root: Path) -> Leftovers:
    return Leftovers(Workspace(lambda: find_repository(str(root)), tuple, list, undamaged))


def undamaged() -> tuple[str, list[str]]:
    return "", []


def leave(path: Path, *, old: bool = True) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("half")
    if old:
        os.utime(path, (1, 1))
    return path


def test_nothing_left_is_said(leftovers: Leftovers) -> None:
    assert leftovers.clean().for_model() == "Nothing was left by killed processes"
    assert leftovers.leftovers_are_gone().status == "ok"


def test_they_are_named_first_and_removed_on_request(root: Path, leftovers: Leftovers) -> None:
    left = [
        leave(root / "src" / "deep" / ".postil-1-a.tmp"),
        leave(root / ".postil-2-b.tmp"),
        leave(root / ".git" / ".postil-3-c.tmp"),
        leave(root / ".git" / "postil" / ".postil-4-d.tmp"),
        leave(root / ".git" / "postil" / "comments" / "texts" / "ab" / ".postil-5-e.tmp"),
        leave(root / ".git" / "postil" / "damaged" / "key" / ".postil-6-f.tmp"),
    ]
    found = leftovers.leftovers_are_gone()
    assert (found.status, found.fix) == ("warning", "Run `postil workspace clean --fix`")
    assert len(leftovers.clean().files) == 6
    assert all(path.exists() for path in left)
    assert leftovers.clean(fix=True).removed
    assert not any(path.exists() for path in left)
    assert leftovers.leftovers_are_gone().status == "ok"


def test_an_ignored_one_is_found_too(root: Path, leftovers: Leftovers) -> None:
    (root / ".gitignore").write_text("*.tmp\n")
    leave(root / ".postil-1-a.tmp")
    assert leftovers.clean().files == (".postil-1-a.tmp",)


def test_those_of_living_writers_and_of_others_stay(root: Path, leftovers: Leftovers) -> None:
    young, other = leave(root / ".postil-1-a.tmp", old=False), leave(root / "other.tmp")
    held = leave(root / ".postil-2-b.tmp")
    with held.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert leftovers.clean(fix=True).files == ()
    assert all(path.exists() for path in (young, other, held))


def test_outside_of_a_repository_there_is_nothing_to_look_at() -> None:
    def nowhere() -> Repository:
        raise NoRepository("/")

    alone = Leftovers(Workspace(nowhere, tuple, list, undamaged))
    assert alone.leftovers_are_gone().status == "ok"
    with pytest.raises(NoRepository):
        alone.clean()
