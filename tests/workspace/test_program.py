"""Programs are found by their absolute path: nothing that lies where we stand is started."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from postil.workspace.program import find_own_program, find_program


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a program `less` of its own, in which we stand."""
    folder = tmp_path / "clone"
    folder.mkdir()
    (folder / "less").write_text("#!/bin/sh\n")
    (folder / "less").chmod(0o755)
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.parametrize("path", [".", "", ":/nowhere", ".:/nowhere", "../clone"])
def test_a_relative_folder_of_path_is_not_searched(clone: Path, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    monkeypatch.setenv("PATH", path)
    assert find_program("less") == ""


def test_an_absolute_folder_is(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", os.pathsep.join([".", "/nowhere", str(clone)]))
    assert find_program("less") == str(clone / "less")


def test_what_cannot_be_run_is_not_found(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (clone / "less").chmod(0o644)
    monkeypatch.setenv("PATH", str(clone))
    assert find_program("less") == ""


def test_a_path_is_taken_as_it_is(clone: Path) -> None:
    assert find_program("./less") == str(clone / "less")


def test_our_own_program_is_the_one_that_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "postil"
    program.touch(mode=0o755)
    monkeypatch.setattr(sys, "argv", [str(program)])
    assert find_own_program() == str(program)
    monkeypatch.setattr(sys, "argv", ["pytest"])
    assert Path(find_own_program()).name == "postil"
