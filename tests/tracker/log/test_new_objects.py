"""What one command writes into git outlives a collection beside it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from postil.core.failure import StorageFailed
from postil.tracker.log.append import move_ref
from postil.tracker.log.new_objects import Author, NewObjects
from postil.workspace.git import run_git
from postil.workspace.repository import find_repository
from tests.tracker.programs import git


def test_an_object_is_the_file_that_git_would_have_written(repository: Path):
    content = b"some lines\n"
    oid = NewObjects(find_repository(str(repository))).write("blob", content)
    assert oid == run_git(str(repository), "hash-object", "--stdin", input=content).decode().strip()
    assert run_git(str(repository), "cat-file", "blob", oid) == content
    (folder,) = (repository / ".git" / "objects").glob(oid[:2])
    (file,) = folder.iterdir()  # nothing else is left there
    assert (file.name, file.stat().st_mode & 0o777) == (oid[2:], 0o444)


def test_writing_an_object_again_leaves_it_as_it_is(repository: Path):
    here = find_repository(str(repository))
    oid = NewObjects(here).write("blob", b"some lines\n")
    file = repository / ".git" / "objects" / oid[:2] / oid[2:]
    before = file.stat().st_ino
    assert NewObjects(here).write("blob", b"some lines\n") == oid
    assert file.stat().st_ino == before
    assert [each.name for each in file.parent.iterdir()] == [file.name]


@pytest.mark.parametrize("options", [("--object-format=sha256",), ("--shared=group",)])
def test_where_the_settings_say_how_objects_are_written_git_writes_them(tmp_path: Path, options: tuple[str, ...]):
    git(tmp_path, "init", "-q", *options, "other")
    new = NewObjects(find_repository(str(tmp_path / "other")))
    oid = new.write("blob", b"some lines\n")
    assert not new.are_files
    assert git(tmp_path / "other", "cat-file", "blob", oid) == "some lines\n"


@pytest.mark.parametrize("included", [False, True])
def test_what_the_user_shares_with_a_group_the_group_can_read(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, included: bool
):
    """Set for all repositories, and after this one was made: its own config says nothing of it."""
    here = find_repository(str(repository))
    assert NewObjects(here).write("blob", b"before\n")
    shares = "[core]\n\tsharedRepository = group\n"
    if included:
        (tmp_path / "more").write_text(shares)
        shares = f"[include]\n\tpath = {tmp_path / 'more'}\n"
    with (tmp_path / "gitconfig").open("a") as config:
        config.write(shares)
    before = os.umask(0o077)
    try:
        new = NewObjects(here)
        oid = new.write("blob", b"some lines\n")
    finally:
        os.umask(before)
    file = repository / ".git" / "objects" / oid[:2] / oid[2:]
    assert not new.are_files
    assert (file.stat().st_mode & 0o040, file.parent.stat().st_mode & 0o070) == (0o040, 0o070)


def test_who_shares_nothing_starts_no_git_to_say_so(repository: Path, monkeypatch: pytest.MonkeyPatch):
    here = find_repository(str(repository))

    def start(*_: object, **__: object) -> None:
        raise AssertionError

    monkeypatch.setattr("postil.workspace.hardening.run", start)
    new = NewObjects(here)
    new.write("blob", b"some lines\n")
    assert new.are_files


def test_what_a_collection_deleted_before_it_ended_is_written_again(repository: Path):
    """It had looked at the refs before ours moved, found no use for the tree, and was over when we looked for it."""
    here = find_repository(str(repository))
    new = NewObjects(here)
    author = Author("Ann", "ann@example.org")
    tree = new.write_tree([("100644", "lines", new.write("blob", b"some lines\n"))])
    commit = new.write_commit(tree, None, author, b"postil 0 1 1\n")
    (repository / ".git" / "objects" / tree[:2] / tree[2:]).unlink()
    move_ref(here, "refs/postil/log/aaaaaaaaaaaaa", commit, None, author, new)
    assert git(repository, "rev-list", "--objects", commit).count("\n") == 3


def test_what_git_moved_and_cannot_be_synced_is_in_doubt(repository: Path, monkeypatch: pytest.MonkeyPatch):
    """It is made: who repeats it with its key must not make it a second time."""
    here = find_repository(str(repository))
    new, author, ref = NewObjects(here), Author("Ann", "ann@example.org"), "refs/postil/log/aaaaaaaaaaaaa"
    commit = new.write_commit(new.write_tree([]), None, author, b"postil 0 1 1\n")

    def fail(_: NewObjects, __: str) -> None:
        raise StorageFailed("log could not be synced")

    monkeypatch.setattr(NewObjects, "sync_folders", fail)
    with pytest.raises(StorageFailed) as failed:
        move_ref(here, ref, commit, None, author, new)
    assert failed.value.doubtful
    assert git(repository, "rev-parse", ref).strip() == commit
