"""Versions of sources are kept until there are too many, and read from git where there is no copy."""

from __future__ import annotations

import os
import tracemalloc
import zlib
from pathlib import Path

import pytest

from postil.comments.storage.file_versions import FileVersions
from postil.workspace.paths import RelativePath
from tests.comments.workspaces import Comments, workspace, write


@pytest.fixture
def comments(tmp_path: Path) -> Comments:
    return workspace(tmp_path, **{"a.py": "one = 1\n"})


def copies(comments: Comments) -> list[Path]:
    return [path for path in (Path(comments.tree.folder) / "comments/texts").rglob("*") if path.is_file()]


def test_a_version_that_git_never_saw_is_kept_once(comments: Comments) -> None:
    write(Path(comments.tree.root), "a.py", "two = 2\n")
    source = comments.tree.source(RelativePath("a.py"))
    versions = FileVersions(comments.tree)
    versions.keep(source)
    versions.keep(source)
    write(Path(comments.tree.root), "a.py", "three = 3\n")
    assert len(copies(comments)) == 1
    assert FileVersions(comments.tree).read([source.blob, "f" * 40, "no id"]) == {source.blob: "two = 2\n"}


def test_a_version_without_a_copy_or_with_a_damaged_one_comes_from_git(comments: Comments) -> None:
    source = comments.tree.source(RelativePath("a.py"))
    versions = FileVersions(comments.tree)
    assert versions.read([source.blob]) == {source.blob: "one = 1\n"}
    versions.keep(source)
    (copy,) = copies(comments)
    copy.write_bytes(b"not compressed")
    assert versions.read([source.blob]) == {source.blob: "one = 1\n"}


def test_the_oldest_copies_go_when_there_are_too_many(comments: Comments, monkeypatch: pytest.MonkeyPatch) -> None:
    versions = FileVersions(comments.tree)
    blobs: list[str] = []
    for number in range(4):
        write(Path(comments.tree.root), "a.py", f"number = {number}\n")
        source = comments.tree.source(RelativePath("a.py"))
        versions.keep(source)
        blobs.append(source.blob)
    for age, blob in enumerate(blobs):
        (copy,) = [path for path in copies(comments) if path.parent.name + path.name == blob]
        os.utime(copy, (1000 + age, 1000 + age))
    monkeypatch.setattr("postil.comments.storage.file_versions.MOST_COPIES", 2)
    versions.prune()
    assert {path.parent.name + path.name for path in copies(comments)} == set(blobs[2:])


def test_a_full_disk_stops_no_comment(comments: Comments, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("postil.comments.storage.file_versions.atomic_write", full)
    FileVersions(comments.tree).keep(comments.tree.source(RelativePath("a.py")))
    assert copies(comments) == []


def test_a_copy_that_unpacks_to_a_giant_is_not_held(comments: Comments) -> None:
    """A repository that somebody packed with its .git folder may hold such copies."""
    source = comments.tree.source(RelativePath("a.py"))
    versions = FileVersions(comments.tree)
    versions.keep(source)
    (copy,) = copies(comments)
    copy.chmod(0o600)
    copy.write_bytes(zlib.compress(bytes(200 << 20), 9))
    left_out: set[str] = set()
    tracemalloc.start()
    try:
        assert versions.read([source.blob], left_out=left_out) == {}
        assert tracemalloc.get_traced_memory()[1] < 64 << 20
    finally:
        tracemalloc.stop()
    assert left_out == {source.blob}


def test_versions_are_left_out_where_they_are_too_many_together(comments: Comments) -> None:
    versions, blobs = FileVersions(comments.tree), list[str]()
    for number in range(4):
        write(Path(comments.tree.root), "a.py", f"value = {number}\n" * 1000)
        blobs.append((source := comments.tree.source(RelativePath("a.py"))).blob)
        versions.keep(source)
    left_out: set[str] = set()
    assert len(versions.read(blobs, most=25_000, left_out=left_out)) == 2
    assert left_out == set(blobs[2:])
