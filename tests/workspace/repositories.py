"""Real repositories for tests, made with plain git."""

import subprocess
from pathlib import Path

from postil.workspace.part import Workspace
from postil.workspace.repository import Repository, find_repository


def git(folder: Path, *arguments: str, **more: str) -> str:
    """Run plain git, as a user would, and answer what it printed."""
    import os

    done = subprocess.run(
        ["git", *arguments], cwd=folder, check=True, capture_output=True, text=True, env={**os.environ, **more}
    )
    return done.stdout.strip()


def new_repository(folder: Path, **files: str) -> Path:
    """A repository with one commit that holds the files (`__` in a name stands for a dot)."""
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "-q")
    for name, content in (files or {"a__txt": "one\n"}).items():
        (folder / name.replace("__", ".")).write_text(content)
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "first")
    return folder


GLANCES = [("inbox", "2 messages waiting"), ("comments", "7 comments")]


def workspace(folder: Path, damage: list[str] | None = None) -> Workspace:
    """The part's context around this folder."""

    def find() -> Repository:
        return find_repository(str(folder))

    return Workspace(find, lambda: ("workspace", "inbox"), lambda: GLANCES, lambda: ("state.db", damage or []))
