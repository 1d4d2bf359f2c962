"""From words to a command: the options in front, and the longest command that the words begin with."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from msgspec import Raw

from postil.core.catalogue import OperationEntry
from postil.core.failure import InvalidArguments
from postil.surfaces.shell.argv import find, split_globals


def entry(words: str) -> OperationEntry:
    return OperationEntry(words, "part", "group", "name", "reads", "", Raw(b"{}"), shell=words)


ENTRIES = [entry(words) for words in ("issue list", "issue", "mile list", "mile list all", "bridge send", "")]


@pytest.mark.parametrize(
    ("words", "prefixes", "command", "rest"),
    [
        (["issue", "list", "x"], (), "issue list", ["x"]),
        (["issue", "lst"], (), "issue", ["lst"]),
        (["list", "all", "x"], ("mile", "", "issue"), "mile list all", ["x"]),
        (["issue", "list"], ("mile", "", "issue"), "issue list", []),
        (["send"], ("bridge",), "bridge send", []),
    ],
)
def test_the_longest_command_is_found(
    words: list[str], prefixes: tuple[str, ...], command: str, rest: list[str]
) -> None:
    found = find(ENTRIES, words, prefixes)
    assert found is not None
    assert (found[0].shell, found[1]) == (command, rest)


@pytest.mark.parametrize("words", [[], ["lst"], ["--json"], [""]])
def test_words_that_are_no_command_find_none(words: list[str]) -> None:
    assert find(ENTRIES, words) is None


def test_the_options_in_front_are_taken_and_the_rest_is_left() -> None:
    options, words = split_globals(["--read-only", "--no-input", "--config=x.toml", "issue", "--read-only"])
    assert (options.flags, options.no_input, options.config) == ({"read_only": True}, True, "x.toml")
    assert words == ["issue", "--read-only"]
    assert split_globals(["--config", "y.toml", "status"])[0].config == "y.toml"
    assert split_globals(["--version"])[1] == ["--version"]


@pytest.mark.parametrize("words", [["-C"], ["--config"], ["-C", "/nowhere/at/all", "status"], ["--replica", "x"]])
def test_an_option_without_its_value_is_refused(words: list[str]) -> None:
    with pytest.raises(InvalidArguments):
        split_globals(words)


def test_minus_c_changes_the_folder_and_not_our_own_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "inside").mkdir()
    monkeypatch.setattr(sys, "argv", ["tools/postil"])
    split_globals(["-C", "inside", "status"])
    assert os.getcwd() == str((tmp_path / "inside").resolve())
    assert sys.argv[0] == str(tmp_path / "tools" / "postil")
