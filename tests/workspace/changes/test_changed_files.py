"""Which files differ."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from postil.workspace.changes import changed_files
from postil.workspace.changes.changed_files import ChangedFile, find_changed, list_changed, parse_changed
from postil.workspace.changes.compared import read_compared
from postil.workspace.failures import OddRepository
from postil.workspace.git import run_git
from postil.workspace.repository import find_repository
from tests.workspace.repositories import git, new_repository


def changes(repo: Path, scope: str = "") -> dict[str, ChangedFile]:
    where = find_repository(str(repo))
    return {one.file: one for one in list_changed(where, read_compared(where, scope))}


def test_every_way_to_change_is_named(tmp_path: Path) -> None:
    repo = new_repository(tmp_path, kept__txt="1\n2\n", gone__txt="x\n", old__txt="a\nb\nc\nd\n", picture__png="\0\1")
    (repo / "kept.txt").write_text("1\n2\n3\n")
    (repo / "gone.txt").unlink()
    git(repo, "mv", "old.txt", "new name.txt")
    (repo / "picture.png").write_bytes(b"\0\2\3")
    (repo / "fresh.txt").write_text("one\ntwo")
    found = changes(repo)
    assert {name: (one.change, one.added, one.removed) for name, one in found.items()} == {
        "kept.txt": ("modified", 1, 0),
        "gone.txt": ("deleted", 0, 1),
        "new name.txt": ("renamed", 0, 0),
        "picture.png": ("modified", 0, 0),
        "fresh.txt": ("untracked", 2, 0),
    }
    assert found["new name.txt"].old_file == "old.txt"
    assert found["picture.png"].is_binary


def test_what_is_staged_and_what_is_not_are_told_apart(tmp_path: Path) -> None:
    repo = new_repository(tmp_path, a__txt="a\n", b__txt="b\n")
    (repo / "a.txt").write_text("A\n")
    git(repo, "add", "a.txt")
    (repo / "b.txt").write_text("B\n")
    assert set(changes(repo, "staged")) == {"a.txt"}
    assert set(changes(repo, "unstaged")) == {"b.txt"}
    assert set(changes(repo)) == {"a.txt", "b.txt"}


def test_names_with_line_breaks_quotes_and_tabs_are_kept(tmp_path: Path) -> None:
    repo = new_repository(tmp_path)
    odd = 'a\n"b"\tc.txt'
    (repo / odd).write_text("x\n")
    git(repo, "add", "-A")
    assert set(changes(repo)) == {odd}


def test_of_very_many_new_files_all_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changed_files, "MOST_UNTRACKED", 2)
    repo = new_repository(tmp_path)
    for number in range(4):
        (repo / f"{number}.txt").write_text("x\n")
    assert [one.added for one in changes(repo).values()] == [1, 1, 0, 0]


def test_nothing_is_read_as_nothing() -> None:
    assert parse_changed(b"") == []


@pytest.mark.parametrize("scope", ["", "staged", "unstaged", "HEAD"])
def test_some_files_are_found_as_the_whole_list_has_them(tmp_path: Path, scope: str) -> None:
    files = {"kept__txt": "1\n2\n", "gone__txt": "x\n", "old__txt": "a\nb\nc\nd\n", "b__txt": "x\n"}
    repo = new_repository(tmp_path, **files)
    (repo / "kept.txt").write_text("1\n2\n3\n")
    (repo / "gone.txt").unlink()
    git(repo, "mv", "old.txt", "new name.txt")
    (repo / "folder").mkdir()
    (repo / "folder" / "fresh.txt").write_text("one\ntwo")
    (repo / os.fsdecode(b"caf\xe9.txt")).write_text("one")
    git(repo, "add", "kept.txt")
    where = find_repository(str(repo))
    compared = read_compared(where, scope)
    whole = list_changed(where, compared)
    names = [one.file for one in whole]
    for some in ([], names[:1], names[1:3], names, *([name] for name in names), ["kept.txt"]):
        assert find_changed(where, compared, some) == [one for one in whole if one.file in some]
    for bad in ("", "folder", "old.txt", "../outside", "/etc/passwd", "a\0b", "*", ":(glob)*", "nothing"):
        assert find_changed(where, compared, [bad]) == [one for one in whole if one.file == bad]


@pytest.mark.parametrize("name", ["../outside.txt", "/etc/hostname", ".git/config", "a/../../outside.txt"])
def test_an_index_that_names_other_files_is_named(tmp_path: Path, name: str) -> None:
    """git adds no such name; it compares what an archive's index names, and shows it."""
    repo = new_repository(tmp_path / "work", a__txt="a\n")
    (tmp_path / "outside.txt").write_text("of the person\n")
    (repo / "a").mkdir()
    blob = bytes.fromhex(git(repo, "rev-parse", "HEAD:a.txt"))
    path = name.encode()
    entry = bytes(24) + (0o100644).to_bytes(4, "big") + bytes(12) + blob + len(path).to_bytes(2, "big") + path
    index = b"DIRC\0\0\0\2\0\0\0\1" + entry + bytes(8 - len(entry) % 8)
    (repo / ".git/index").write_bytes(index + hashlib.sha1(index).digest())
    assert name in git(repo, "ls-files")
    with pytest.raises(OddRepository, match="index names files that are not in the work tree"):
        changes(repo)


def test_finding_one_changed_file_does_not_list_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repo = new_repository(tmp_path, a__txt="a\n", b__txt="b\n")
    (repo / "a.txt").write_text("A\n")
    (repo / "b.txt").write_text("B\n")
    where = find_repository(str(repo))
    asked: list[tuple[str, ...]] = []

    def note(root: str, *words: str, largest: int) -> bytes:
        asked.append(words)
        return run_git(root, *words, largest=largest)

    monkeypatch.setattr(changed_files, "run_git", note)
    assert [one.file for one in find_changed(where, read_compared(where, ""), ["a.txt"])] == ["a.txt"]
    assert [words[-1] for words in asked] == ["a.txt"]
