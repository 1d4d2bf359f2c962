"""Many objects of git are read with one question."""

from __future__ import annotations

from pathlib import Path

import pytest

from postil.comments.git import objects
from postil.comments.git.objects import iterate_objects, read_objects
from tests.comments.workspaces import workspace
from tests.workspace.repositories import git


def test_what_is_there_is_read_and_what_is_missing_is_left_out(tmp_path: Path) -> None:
    workspace(tmp_path, **{"a.py": "one\n", "folder/b c.py": "two\n\n"})
    blob = git(tmp_path, "rev-parse", "HEAD:a.py")
    asked = ["HEAD:folder/b c.py", blob, "HEAD:missing.py", "HEAD:folder", "0" * 40, blob, "", "HEAD:line\nbreak"]
    assert read_objects(str(tmp_path), asked) == {"HEAD:folder/b c.py": b"two\n\n", blob: b"one\n"}


def test_a_file_over_the_limit_is_left_out_and_the_next_is_read(tmp_path: Path) -> None:
    workspace(tmp_path, **{"a.py": "x" * 1000, "b.py": "y"})
    assert read_objects(str(tmp_path), ["HEAD:a.py", "HEAD:b.py"], largest=999) == {"HEAD:b.py": b"y"}


def test_no_question_starts_no_git(tmp_path: Path) -> None:
    assert read_objects(str(tmp_path / "no-such-folder"), []) == {}


def test_what_is_large_together_is_read_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace(tmp_path, **{f"f{number}.py": f"{number}" * 900 for number in range(6)})
    monkeypatch.setattr(objects, "FIRST", 2000)
    names = [f"HEAD:f{number}.py" for number in range(6)]
    found = iterate_objects(str(tmp_path), names)
    assert [name for name, _ in found] == names
    assert len(read_objects(str(tmp_path), names)) == 6


def test_a_missing_name_with_a_carriage_return_hides_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace(tmp_path, **{"a.py": "x" * 900, "b.py": "y" * 9})
    monkeypatch.setattr(objects, "FIRST", 800)
    asked = ["HEAD:c\rd.py", "HEAD:a.py", "HEAD:b.py"]
    assert {name: len(data) for name, data in iterate_objects(str(tmp_path), asked)} == {asked[1]: 900, asked[2]: 9}


def test_what_a_partial_clone_left_at_its_remote_hinders_nothing(tmp_path: Path) -> None:
    whole = tmp_path / "whole"
    workspace(whole, **{f"f{number}.py": f"{number}\n" for number in range(4)})
    names = [git(whole, "rev-parse", f"HEAD:f{number}.py") for number in range(4)]
    git(whole, "config", "uploadpack.allowFilter", "true")
    git(tmp_path, "clone", "-q", "--no-checkout", "--filter=blob:none", f"file://{whole}", "partial")
    partial = tmp_path / "partial"
    assert read_objects(str(partial), names) == {}
    git(partial, "cat-file", "-e", names[1])  # now it is fetched
    git(partial, "cat-file", "-e", names[3])
    assert read_objects(str(partial), [*names, "HEAD:missing"]) == {names[1]: b"1\n", names[3]: b"3\n"}
