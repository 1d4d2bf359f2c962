"""Where git keeps its things, found by reading `.git` alone: no subprocess, so it costs microseconds.

Not a repository object: `repository.py` makes one of this and says what to do when there is none.
"""

from __future__ import annotations

import os
from os import path as p

import msgspec

from postil.workspace.failures import DamagedRepository


class GitDir(msgspec.Struct, frozen=True):
    """The folders of one repository, all real paths."""

    root: str
    """The top of the work tree; of a bare repository, its git directory."""
    git_dir: str
    """HEAD and index of this work tree."""
    common_dir: str
    """Objects, refs and config, shared by all work trees."""
    bare: bool


def locate(start: str) -> GitDir | None:
    """The repository that `start` lies in, or None. Follows symlinks, worktree and submodule links."""
    here = p.realpath(start)
    if not p.isdir(here):
        here = p.dirname(here)
    folder = here
    while True:
        found = _at(folder)
        if found is not None:
            return found
        above = p.dirname(folder)
        if above == folder:
            break
        folder = above
    # Only when nothing encloses it: a bare repository inside a work tree may be a trap (its config would run programs).
    if _is_git_dir(here):
        return GitDir(here, here, here, bare=True)
    return None


def _at(folder: str) -> GitDir | None:
    link = p.join(folder, ".git")
    try:
        with open(link, "rb") as file:
            content = file.read(8192)
    except IsADirectoryError:
        git_dir = p.realpath(link)
        return GitDir(folder, git_dir, _common(git_dir), bare=False) if _is_git_dir(git_dir) else None
    except OSError:
        return None
    if not content.startswith(b"gitdir:"):
        raise DamagedRepository(link)
    target = os.fsdecode(content[len(b"gitdir:") :].strip(b" \r\n"))
    git_dir = p.realpath(p.join(folder, target))
    if not _is_git_dir(git_dir):
        raise DamagedRepository(link)
    return GitDir(folder, git_dir, _common(git_dir), bare=False)


def _common(git_dir: str) -> str:
    try:
        with open(p.join(git_dir, "commondir"), "rb") as file:
            shared = os.fsdecode(file.read(8192).strip(b" \r\n"))
    except OSError:
        return git_dir
    return p.realpath(p.join(git_dir, shared))


def _is_git_dir(folder: str) -> bool:
    if not p.lexists(p.join(folder, "HEAD")):
        return False
    if p.exists(p.join(folder, "commondir")):
        return True
    return p.isdir(p.join(folder, "objects")) and p.exists(p.join(folder, "refs"))
