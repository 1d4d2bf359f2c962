"""Where there is no terminal, the board says what to type instead."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.tracker.board.terminals import Screen
from tests.tracker.programs import run, said


def test_without_a_terminal_it_says_what_to_type(repository: Path) -> None:
    said(repository, "create", "issue", "One")
    for program in ("git_mile", "main"):
        refused = run(repository, "board", program=program)
        assert refused.returncode == 2
        assert "needs a terminal" in refused.stderr
        assert "git mile columns" in refused.stderr


def test_a_wrong_filter_is_told_before_the_screen_is_taken(repository: Path) -> None:
    with Screen(repository, "board", "--filter", "nope == 1") as screen:
        screen.see("unknown field", "ended 2")


def test_whoever_ends_it_gets_the_terminal_back(repository: Path) -> None:
    said(repository, "create", "issue", "One")
    with Screen(repository, "board", "--by", "label") as screen:
        screen.see("▶ One")
        screen.press("C-c")
        screen.see("ended 0 icanon")


def test_it_imports_no_terminal_where_there_is_none() -> None:
    code = "import sys, postil.tracker.board.show_board; print('tty' in sys.modules, 'curses' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.split() == ["False", "False"]
