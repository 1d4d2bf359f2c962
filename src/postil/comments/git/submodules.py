"""The submodules of a workspace: where each is, and the commit of it that a commit names. Reads git."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from postil.workspace.git import list_rows, run_git, try_git
from postil.workspace.repository import locate

_EMPTY_TREE = (
    "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
)
"""A tree without files, in repositories of SHA-1 and of SHA-256: every git knows it."""


class CommittedTree(NamedTuple):
    """A repository at a commit, or a tree without files: the workspace's own, or that of a submodule in a folder."""

    folder: str
    root: str
    commit: str

    def name(self, path: str) -> str:
        """Returns what git calls a file of the workspace in it."""
        return f"{self.commit}:{self.inside(path)}"

    def inside(self, path: str) -> str:
        """Returns the path in the repository of a file of the workspace."""
        return path.removeprefix(f"{self.folder}/") if self.folder else path

    def outside(self, inside: str) -> str:
        """Returns the path in the workspace of a file of the repository."""
        return f"{self.folder}/{inside}" if self.folder else inside


def has_submodules(root: str) -> bool:
    """Whether there may be some."""
    return os.path.lexists(os.path.join(root, ".gitmodules"))


def list_pasts(root: str, commit: str) -> list[CommittedTree]:
    """Returns the workspace at a commit, and each submodule that is here at the commit named there."""
    return [CommittedTree("", root, commit), *(list_submodules(root, commit) if has_submodules(root) else ())]


def list_submodules(root: str, commit: str) -> Iterator[CommittedTree]:
    """Yields each submodule that is here at the commit that a commit names; without files if it was not there."""
    folders = dict.fromkeys(list_folders(root))
    listed = run_git(root, "ls-tree", "-r", "-z", "--full-tree", commit)
    then = {folder: old for folder, old in _parse_links(listed, at=2) if folder in folders}
    for folder in folders:
        if not has_own_git(root, folder):
            continue
        inside = os.path.join(os.path.realpath(root), *folder.split("/"))
        old = then.get(folder, "")
        known = old and try_git(inside, "cat-file", "-e", f"{old}^{{commit}}").status == 0
        yield CommittedTree(folder, inside, old if known else _EMPTY_TREE[len(commit) > 40])


def list_folders(root: str) -> Iterator[str]:
    """Yields the folders of the submodules that are here."""
    for folder, _ in _parse_links(run_git(root, "ls-files", "-s", "-z"), at=1):
        inside = os.path.join(os.path.realpath(root), *folder.split("/"))
        if os.path.realpath(inside) == inside and os.path.lexists(os.path.join(inside, ".git")):
            yield folder  # else a link out of here, or never fetched


def has_own_git(root: str, folder: str) -> bool:
    """Returns whether a folder has a git of its own, in the workspace or in the git directory of that.

    A link may lead to any other repository: what that holds is not ours to show. Raises what `locate` does.
    """
    around = locate(root)
    inside = os.path.join(os.path.realpath(root), *folder.split("/"))
    found = locate(inside)
    if around is None or found is None or os.path.realpath(found.root) != inside:
        return False  # its own is broken, and the one around it was found
    git_dir, common = os.path.realpath(found.git_dir), os.path.realpath(found.common_dir)
    homes = [os.path.realpath(each) for each in (root, around.common_dir)]
    return git_dir != os.path.realpath(around.git_dir) and all(
        any(f"{each}/".startswith(f"{home}/") for home in homes) for each in (git_dir, common)
    )


def find_past(pasts: Sequence[CommittedTree], path: str) -> CommittedTree:
    """Returns the repository that a file of the workspace belongs to."""
    return max((each for each in pasts if not each.folder or path.startswith(f"{each.folder}/")), key=_depth)


def _depth(each: CommittedTree) -> int:
    return len(each.folder)


def _parse_links(listed: bytes, at: int) -> Iterator[tuple[str, str]]:
    for row in list_rows(listed):
        head, _, path = row.partition("\t")
        if head.startswith("160000 "):
            yield path, head.split()[at]
