"""Moving the ref of a log without git: what git would have done, or nothing."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from postil.core.failure import StorageFailed
from postil.tracker.log.ref_file import move_file
from postil.tracker.log.salvage import read_reflog
from postil.workspace.git import try_git
from postil.workspace.repository import Repository, find_repository
from tests.tracker.programs import git

REF = "refs/postil/log/abcdefghijklm"
WHO = b"Ann <ann@example.org> 1700000000 +0000"


def pass_check() -> None:
    """Let the ref move."""


@pytest.fixture
def commits(repository: Path) -> list[str]:
    """Two commits, the older one first; the ref is at that one."""
    for message in "xy":
        git(repository, "commit", "--quiet", "--allow-empty", "-m", message)
    new, old = git(repository, "rev-list", "HEAD").split()
    git(repository, "update-ref", "--create-reflog", REF, old)
    return [old, new]


@pytest.fixture
def here(repository: Path) -> Repository:
    return find_repository(str(repository))


def at(repository: Path) -> str:
    return git(repository, "rev-parse", REF).strip()


def test_git_reads_the_ref_and_its_reflog_as_if_it_had_moved_it(here: Repository, repository: Path, commits: list[str]):
    old, new = commits
    assert move_file(here, REF, new, old, WHO, pass_check)
    assert at(repository) == new
    said = git(repository, "log", "-g", "--format=%gd %gn <%ge> %gs %H", "--date=unix", "-1", REF)
    assert said.split() == [f"{REF.removeprefix('refs/')}@{{1700000000}}", "Ann", "<ann@example.org>", "postil", new]
    assert next(iter(read_reflog(str(repository), REF)))[1] == new
    assert [path.name for path in (repository / ".git/refs/postil/log").iterdir()] == ["abcdefghijklm"]
    assert move_file(here, REF, old, new, WHO, pass_check)


def test_a_ref_that_somebody_else_has_moved_stays(here: Repository, repository: Path, commits: list[str]):
    old, new = commits
    git(repository, "update-ref", REF, new)
    assert not move_file(here, REF, new, old, WHO, pass_check)
    assert at(repository) == new


def test_a_ref_that_another_git_has_locked_stays_and_so_does_the_lock(
    here: Repository, repository: Path, commits: list[str]
):
    old, new = commits
    lock = repository / ".git" / f"{REF}.lock"
    lock.touch()
    assert not move_file(here, REF, new, old, WHO, pass_check)
    assert at(repository) == old
    assert lock.exists()


def test_while_it_moves_no_other_git_moves_it(here: Repository, repository: Path, commits: list[str]):
    old, new = commits
    refused: list[bytes] = []

    def move_as_well() -> None:
        refused.append(try_git(str(repository), "update-ref", REF, new, old).err)

    assert move_file(here, REF, new, old, WHO, move_as_well)
    assert b"cannot lock ref" in refused[0]


def test_a_packed_ref_and_one_without_a_reflog_are_left_to_git(here: Repository, repository: Path, commits: list[str]):
    old, new = commits
    log = repository / ".git/logs" / REF
    kept = log.read_bytes()
    log.unlink()
    assert not move_file(here, REF, new, old, WHO, pass_check)
    log.write_bytes(kept)
    git(repository, "pack-refs", "--all")
    assert not move_file(here, REF, new, old, WHO, pass_check)
    assert at(repository) == old
    assert log.read_bytes() == kept
    assert not [*repository.glob(".git/refs/postil/log/*")]


def test_a_branch_is_left_to_git_which_knows_whether_it_is_checked_out(
    here: Repository, repository: Path, commits: list[str]
):
    old, new = commits
    branch = "refs/heads/postil/log/abcdefghijklm"
    git(repository, "update-ref", "--create-reflog", branch, old)
    assert not move_file(here, branch, new, old, WHO, pass_check)


def test_a_ref_behind_a_link_is_left_to_git(
    here: Repository, repository: Path, commits: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    old, new = commits
    refs = (repository / ".git/refs").rename(tmp_path / "refs")
    (repository / ".git/refs").symlink_to(refs)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "config"))
    (tmp_path / "config").write_text(f"[postil]\n\ttrusted = {refs}\n")
    assert not move_file(here, REF, new, old, WHO, pass_check)
    assert at(repository) == old


def test_what_a_killed_writer_leaves_is_git_s_lock_and_nothing_else(
    here: Repository, repository: Path, commits: list[str]
):
    """git takes any other file in this folder for a ref whose name is not valid."""
    old, new = commits
    seen: list[list[str]] = []

    def look() -> None:
        seen.append(sorted(path.name for path in (repository / ".git/refs/postil/log").iterdir()))

    assert move_file(here, REF, new, old, WHO, look)
    assert seen == [["abcdefghijklm", "abcdefghijklm.lock"]]


def test_a_move_that_may_not_survive_a_power_cut_is_in_doubt_and_not_tried_again(
    here: Repository, repository: Path, commits: list[str], monkeypatch: pytest.MonkeyPatch
):
    old, new = commits
    sync = os.fsync

    def fail_for_folders(file: int) -> None:
        if stat.S_ISDIR(os.fstat(file).st_mode):
            raise OSError(errno.EIO, "Input/output error")
        sync(file)

    monkeypatch.setattr(os, "fsync", fail_for_folders)
    with pytest.raises(StorageFailed) as failed:
        move_file(here, REF, new, old, WHO, pass_check)
    assert at(repository) == new
    assert failed.value.doubtful
    assert "untouched" not in failed.value.advice


def test_half_a_line_of_the_reflog_is_taken_back(
    here: Repository, repository: Path, commits: list[str], monkeypatch: pytest.MonkeyPatch
):
    """A disk that is full takes as much as fits. The next line would stand behind it, and neither could be read."""
    old, new = commits
    log = repository / ".git/logs" / REF
    noted, write = log.read_bytes(), os.write

    def write_half(file: int, content: bytes) -> int:
        return write(file, content[: len(content) // 2] if bytes(content).endswith(b"postil\n") else content)

    monkeypatch.setattr(os, "write", write_half)
    assert not move_file(here, REF, new, old, WHO, pass_check)
    assert log.read_bytes() == noted
    assert at(repository) == old


def test_half_a_line_that_a_power_cut_left_in_the_reflog_swallows_no_other(
    here: Repository, repository: Path, commits: list[str]
):
    old, new = commits
    with (repository / ".git/logs" / REF).open("ab") as log:
        log.write(old[:17].encode())
    assert move_file(here, REF, new, old, WHO, pass_check)
    assert read_reflog(str(repository), REF)[0][:2] == (old, new)
    assert git(repository, "log", "-g", "--format=%H", "-1", REF).strip() == new
    assert b"\n\n" not in (repository / ".git/logs" / REF).read_bytes()


def test_a_ref_whose_objects_are_not_on_the_disk_stays(here: Repository, repository: Path, commits: list[str]):
    old, new = commits

    def fail() -> None:
        raise StorageFailed("objects could not be synced")

    noted = (repository / ".git/logs" / REF).read_bytes()
    with pytest.raises(StorageFailed):
        move_file(here, REF, new, old, WHO, fail)
    assert at(repository) == old
    assert (repository / ".git/logs" / REF).read_bytes() == noted
    assert [path.name for path in (repository / ".git/refs/postil/log").iterdir()] == ["abcdefghijklm"]
