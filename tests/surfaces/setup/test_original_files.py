"""What stood where we wrote is remembered until our entry goes."""

from __future__ import annotations

import os
from pathlib import Path

from postil.surfaces.setup.original_files import OriginalFiles, Remembered, list_missing


def test_folders_that_are_missing_are_named_outermost_first(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    assert list_missing(str(tmp_path / "link" / "a" / "b")) == (f"{tmp_path}/real/a", f"{tmp_path}/real/a/b")
    assert list_missing(str(tmp_path)) == ()


def test_a_folder_that_another_entry_is_in_goes_with_that_one(tmp_path: Path) -> None:
    notes, made = OriginalFiles(str(tmp_path / "notes")), str(tmp_path / "made")
    os.mkdir(made)
    Path(made, "hooks.json").touch()
    notes.keep("hooks", Remembered(f"{made}/hooks.json", None, "x", ()))
    notes.keep("older", Remembered(f"{made}/older.json", None, "x"))
    notes.remove_folders("server", (made,))
    kept = notes.recall("hooks")
    assert kept is not None
    assert kept.folders == (made,)
    older = notes.recall("older")
    assert older is not None
    assert older.folders is None
    os.unlink(f"{made}/hooks.json")
    notes.remove_folders("hooks", (made,))
    assert not os.path.exists(made)


def test_a_folder_that_became_a_link_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir()
    (tmp_path / "made").symlink_to("theirs")
    OriginalFiles(str(tmp_path / "notes")).remove_folders("x", (str(tmp_path / "made"),))
    assert (tmp_path / "theirs").is_dir()
