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


def commit_folders(root: Path, *widths: int) -> str:
    """Commit folders of a few hundred bytes that name each other so often that they hold very many files.

    The first width is that of the deepest folder. The next commit takes them away again; returns the one that has them.
    """
    blob = _make(root, "hash-object", "-w", "--stdin", given="boom\n")
    tree = _make(root, "mktree", given="".join(f"100644 blob {blob}\tf{number}\n" for number in range(widths[0])))
    for width in widths[1:]:
        tree = _make(root, "mktree", given="".join(f"040000 tree {tree}\td{number}\n" for number in range(width)))
    before = git(root, "rev-parse", "HEAD^{tree}")
    both = _make(root, "mktree", given=f"{git(root, 'ls-tree', before)}\n040000 tree {tree}\tzz\n")
    bomb = git(root, "commit-tree", both, "-p", "HEAD", "-m", "many")
    git(root, "update-ref", "HEAD", git(root, "commit-tree", before, "-p", bomb, "-m", "none"))
    return bomb


def _make(root: Path, *arguments: str, given: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=root, input=given, capture_output=True, text=True, check=True)
    return done.stdout.strip()
