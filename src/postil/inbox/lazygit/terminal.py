"""The screen that the person looks at, asked of the program that draws it: tmux, kitty, WezTerm, Zellij."""

from __future__ import annotations

from typing import Literal, TypeAlias

from postil.workspace.program import find_program

Drawer: TypeAlias = Literal["", "tmux", "kitty", "wezterm", "zellij"]
COMMANDS: dict[Drawer, tuple[str, ...]] = {
    "tmux": ("tmux", "capture-pane", "-e", "-p", "-J", "-t"),
    "kitty": ("kitten", "@", "get-text", "--ansi", "--extent=screen", "--match"),
    "wezterm": ("wezterm", "cli", "get-text", "--escapes", "--pane-id"),
    "zellij": ("zellij", "action", "dump-screen", "--ansi", "--pane-id"),
}
"""How to ask for the screen with its colours; the name of the pane follows. One that refuses is a screen not known."""
PATIENCE = 6.0
"""Seconds: an old kitty starts Python to answer, which took 2.4 s on a busy machine."""


def read_screen(drawer: Drawer, pane: str) -> str:
    """Returns the screen of a pane with its colours; empty when it cannot be asked for."""
    import subprocess  # only in a terminal that can be asked

    command = COMMANDS.get(drawer)
    if command is None or not pane:
        return ""
    name = f"id:{pane}" if drawer == "kitty" else pane
    # Before 0.28 kitty had no kitten beside it, and answered itself.
    program = find_program(command[0]) or (find_program("kitty") if drawer == "kitty" else "")
    try:
        done = subprocess.run([program, *command[1:], name], capture_output=True, timeout=PATIENCE, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else ""
