"""Snapshots: what is written is what is read, whatever the names are."""

from __future__ import annotations

import subprocess
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from postil.workspace.clones.snapshot import Snapshot, list_blobs, read_blobs, read_snapshot, write_snapshot
from postil.workspace.failures import GitFailed, GitTooLarge
from tests.workspace.repositories import commit_folders, new_repository

names = some.text(
    some.characters(blacklist_categories=["Cs"], blacklist_characters="\0/"), min_size=1, max_size=12
).map(lambda text: f"f{text}.comments")


@settings(max_examples=15)
@given(files=some.dictionaries(names, some.binary(max_size=60), min_size=1, max_size=4))
def test_a_snapshot_holds_exactly_its_files(tmp_path: Path, files: dict[str, bytes]) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    root = str(tmp_path)
    first = write_snapshot(root, Snapshot(source="s" * 40), files.items(), {}, "refs/postil/host/1", "alice")
    read = read_snapshot(root, first)
    assert dict(zip(read.files, read_blobs(root, list(read.files.values())), strict=True)) == files
    assert (read.source, read.refs) == ("s" * 40, {})
    gone = next(iter(files))
    second = write_snapshot(root, read, [(gone, None)], {}, "refs/postil/host/1", "alice")
    assert {*read_snapshot(root, second).files} == {*files} - {gone}


def test_a_snapshot_that_is_not_there_is_a_failure(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    with pytest.raises(GitFailed):
        read_snapshot(str(tmp_path), "0" * 40)


def test_the_files_of_a_large_commit_are_never_held_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A million files, which five folders can name, took 200 MB."""
    root = new_repository(tmp_path / "r", a__py__comments="said\n")
    bomb = commit_folders(root, 10, 10, 10, 10, 10)
    tracemalloc.start()
    try:
        assert [*list_blobs(str(root), bomb)] == ["a.py.comments"]
        assert tracemalloc.get_traced_memory()[1] < 2 << 20
    finally:
        tracemalloc.stop()
    monkeypatch.setattr("postil.core.limits.GIT_OUTPUT", 1 << 20)
    with pytest.raises(GitTooLarge):
        list_blobs(str(root), bomb)
