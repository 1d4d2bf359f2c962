"""The repository a person stands in, found by reading `.git` alone: no subprocess, so it costs microseconds.

git itself is asked only where a file cannot tell (the branch, in reftable repositories).
"""

from __future__ import annotations

import os
from os import path as p

import msgspec

from postil.workspace.digest import sha256
from postil.workspace.disk import find_git_roots, read_regular
from postil.workspace.failures import DamagedRepository, NoRepository, OddRepository, printable


class Repository(msgspec.Struct, frozen=True):
    """One work tree and the git directory it belongs to; all paths are real paths."""

    root: str
    """The top of the work tree; of a bare repository, its git directory."""
    git_dir: str
    """HEAD and index of this work tree."""
    common_dir: str
    """Objects, refs and config, shared by all work trees."""
    bare: bool
    shared_name: str = ""
    """What its clones on many hosts are called together, where they stand for one workspace."""

    @property
    def key(self) -> str:
        """The same for every way to reach this work tree (symlinks, subfolders), and for no other work tree."""
        if self.shared_name:
            return sha256(b"workspace\0" + os.fsencode(self.shared_name))[:32]
        named = os.fsencode(self.common_dir) + b"\0" + os.fsencode(self.root)
        return sha256(named)[:32]

    def postil_folder(self) -> str:
        """Return the folder of our locks and caches, shared by all work trees. Raises OddRepository for a link."""
        folder = p.join(self.common_dir, "postil")
        if p.islink(folder):
            raise OddRepository(folder, "is a link, so that our files would be written elsewhere")
        return folder

    def branch(self) -> str | None:
        """Return the branch that is checked out, or None when HEAD is detached."""
        head = (read_regular(p.join(self.git_dir, "HEAD"), 8192) or b"").strip()
        if not head.startswith(b"ref:"):
            return None
        name = os.fsdecode(head[len(b"ref:") :].strip())
        if name == "refs/heads/.invalid":  # what a reftable repository writes for old programs
            from postil.workspace.git import try_git  # git.py needs this module

            name = os.fsdecode(try_git(self.root, "symbolic-ref", "--quiet", "HEAD").out.strip())
        return name.removeprefix("refs/heads/") or None


def find_repository(start: str) -> Repository:
    """Return the repository that encloses `start`. Raises NoRepository."""
    found = locate(start)
    if found is None:
        from postil.workspace.hardening import name_unheeded  # which needs this module

        raise NoRepository(start, name_unheeded())
    return found


def locate(start: str) -> Repository | None:
    """Return the repository that encloses `start`, or None. Follows symlinks, worktree and submodule links."""
    here = p.realpath(start)
    if not p.isdir(here):
        here = p.dirname(here)
    for folder in find_git_roots(here):
        git_dir = _read_git_dir(folder)
        if git_dir:
            return _enter(folder, git_dir)
    # Only when nothing encloses it: a bare repository inside a work tree may be a trap (its config would run programs).
    return Repository(here, here, here, bare=True) if _is_git_dir(here) else None


def locate_exactly(path: str) -> Repository | None:
    """Return the repository that git takes this path for when it is a remote's address, or None."""
    for folder in (p.realpath(path), p.realpath(f"{path}.git")):
        git_dir = _read_git_dir(folder) if p.lexists(p.join(folder, ".git")) else ""
        if git_dir:
            return _enter(folder, git_dir)
        if _is_git_dir(folder):
            return Repository(folder, folder, _read_common_dir(folder), bare=True)
    return None


def _enter(folder: str, git_dir: str) -> Repository:
    """Returns the repository of a folder. Raises UntrustedPath where it is another one, which does not know of this.

    An archive may hold a `.git` that leads to any repository whose place its maker knows: what that holds would be read
    and written here. A worktree and a submodule have a git directory elsewhere that names their folder.
    """
    common_dir = _read_common_dir(git_dir)
    if not git_dir.startswith(f"{folder.rstrip('/')}/") and not _leads_back(folder, git_dir):
        _check_trusted(folder, git_dir, f"The .git of {printable(folder)} leads to a repository that does not know it:")
    if common_dir != git_dir and not git_dir.startswith(f"{common_dir}/worktrees/"):
        _check_trusted(folder, common_dir, f"The .git of {printable(folder)} takes objects and refs from")
    return Repository(folder, git_dir, common_dir, bare=False)


def _leads_back(folder: str, git_dir: str) -> bool:
    said = read_regular(p.join(git_dir, "gitdir"), 8192)
    if said is not None:  # of a worktree
        return p.realpath(p.join(git_dir, p.dirname(os.fsdecode(said.strip(b"\r\n"))))) == folder
    return folder in list_work_trees(git_dir)


def list_work_trees(git_dir: str) -> list[str]:
    """Returns the folders that the config of a git directory names as its work tree."""
    from postil.workspace.git_config import LARGEST, parse_config  # only submodules pay for it

    found: list[str] = []
    for name in ("config", "config.worktree"):
        text = (read_regular(p.join(git_dir, name), LARGEST) or b"").decode("utf-8", "surrogateescape")
        for section, of, key, value in parse_config(text, p.join(git_dir, name)):
            if (section, of, key) == ("core", None, "worktree") and value:
                found.append(p.realpath(p.join(git_dir, value)))
    return found


def _check_trusted(folder: str, path: str, what: str) -> None:
    from postil.workspace.hardening import check_trusted_from  # which needs this module

    check_trusted_from(folder, path, what)


def _read_git_dir(folder: str) -> str:
    """Return where `.git` of this folder leads; empty when it is a folder that is no git directory."""
    link = p.join(folder, ".git")
    if p.isdir(link):
        git_dir = p.realpath(link)
        return git_dir if _is_git_dir(git_dir) else ""
    content = read_regular(link, 8192)
    if content is None:
        return ""
    git_dir = p.realpath(p.join(folder, os.fsdecode(content.removeprefix(b"gitdir:").strip(b" \r\n"))))
    if not content.startswith(b"gitdir:") or not _is_git_dir(git_dir):
        raise DamagedRepository(link)
    return git_dir


def _read_common_dir(git_dir: str) -> str:
    link = p.join(git_dir, "commondir")
    content = read_regular(link, 8192) if p.lexists(link) else None
    return git_dir if content is None else p.realpath(p.join(git_dir, os.fsdecode(content.strip(b" \r\n"))))


def _is_git_dir(folder: str) -> bool:
    if not p.lexists(p.join(folder, "HEAD")):
        return False
    if p.exists(p.join(folder, "commondir")):
        return True
    return p.isdir(p.join(folder, "objects")) and p.exists(p.join(folder, "refs"))
