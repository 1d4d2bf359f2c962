"""The screen, asked of the program that draws it."""

import os
from pathlib import Path

import pytest

from postil.inbox.lazygit.terminal import Drawer, read_screen


def install(folder: Path, program: str, text: str) -> None:
    (folder / program).write_text(f"#!/bin/sh\n{text}\n")
    (folder / program).chmod(0o755)


@pytest.mark.parametrize(
    ("drawer", "program", "pane", "words"),
    [
        ("tmux", "tmux", "%1", "capture-pane -e -p -J -t %1"),
        ("kitty", "kitty", "4", "@ get-text --ansi --extent=screen --match id:4"),
        ("kitty", "kitten", "4", "@ get-text --ansi --extent=screen --match id:4"),
        ("wezterm", "wezterm", "3", "cli get-text --escapes --pane-id 3"),
        ("zellij", "zellij", "terminal_2", "action dump-screen --ansi --pane-id terminal_2"),
    ],
)
def test_each_is_asked_for_its_pane_with_colours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, drawer: Drawer, program: str, pane: str, words: str
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    install(tmp_path, program, 'echo "$@"')
    assert read_screen(drawer, pane) == f"{words}\n"
    install(tmp_path, program, "echo no such pane; exit 1")
    assert read_screen(drawer, pane) == ""


def test_a_screen_that_cannot_be_asked_for_is_not_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert read_screen("tmux", "%1") == read_screen("", "") == read_screen("kitty", "") == ""
