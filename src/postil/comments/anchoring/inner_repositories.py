"""Lost code of files in submodules: looked for in that submodule, whose history knows what its files became.

The workspace's own git knows nothing of them but the commit that they are at. A submodule in which git cannot be asked,
or whose git is elsewhere, is nobody's: what was lost in it stays lost, and the rest is told.
"""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice

from msgspec.structs import replace

from postil.comments.anchoring.line_holders import MOST_READ, LineHolders, list_changed
from postil.comments.anchoring.moved_files import find_other_files
from postil.comments.git.submodules import has_own_git, has_submodules, list_folders
from postil.comments.model import Located, OtherFile
from postil.comments.source_tree import SourceTree
from postil.comments.storage.file_versions import FileVersions
from postil.core import call
from postil.core.failure import Failure
from postil.workspace.failures import GitFailed, GitTimedOut, GitTooLarge
from postil.workspace.git import check_repository

MOST_ASKED = 20
"""Submodules in which git is asked: each costs several processes, whenever a file has changed."""
PATIENCE = 5.0
"""Seconds after which no further one is."""
_READ_INSIDE = MOST_READ // MOST_ASKED
_REFUSED = (GitFailed, GitTimedOut, GitTooLarge)


def find_in_all(
    tree: SourceTree, orphans: Sequence[Located], versions: FileVersions, known: LineHolders
) -> dict[str, list[OtherFile]]:
    """Returns the same as `find_other_files`, each file looked for in its own repository."""
    inner = _group_inner(tree, {each.filePath for each in orphans})
    away = {path: folder for folder, paths in inner.items() for path in paths}
    own = [each for each in orphans if each.filePath not in away]
    found = find_other_files(tree, own, versions, known) if own else {}
    until = time.monotonic() + PATIENCE
    for number, folder in enumerate(inner):
        call.current().check()
        inside = known.inner.get(folder)
        if inside is None:
            opened = None if number >= MOST_ASKED or time.monotonic() > until else _open(tree, folder)
            if opened is None:
                continue
            inside = known.inner[folder] = LineHolders(opened, known.largest, _READ_INSIDE)
        some = [
            replace(each, filePath=each.filePath.removeprefix(f"{folder}/"))
            for each in orphans
            if away.get(each.filePath) == folder
        ]
        try:
            there = find_in_all(inside.tree, some, FileVersions(inside.tree, versions), inside)
        except _REFUSED:
            continue
        for path, others in there.items():
            found[f"{folder}/{path}"] = [replace(each, path=f"{folder}/{each.path}") for each in others]
    return found


def stamp_inner(tree: SourceTree, paths: Collection[str]) -> Iterator[str]:
    """Yields what changes with the submodules that some files are in, and with the files that changed there."""
    for folder, inner in list_inner_trees(tree, paths):
        try:
            changed = list_changed(inner, "HEAD")
        except _REFUSED:
            continue
        yield folder
        yield from stat_history(inner)
        yield from (f"{path} {inner.stat(path)}" for path in changed)


def list_inner_trees(tree: SourceTree, paths: Collection[str]) -> Iterator[tuple[str, SourceTree]]:
    """Yields the submodules that some files are in, with their folders: no more than are asked."""
    for folder in islice(_group_inner(tree, paths), MOST_ASKED):
        inner = _open(tree, folder)
        if inner is not None:
            yield folder, inner


def stat_history(tree: SourceTree) -> list[str]:
    """Returns what changes with every commit, and with what is staged."""
    return [tree.stat(os.path.join(tree.git_dir, name)) for name in ("index", "HEAD", "logs/HEAD")]


def _group_inner(tree: SourceTree, paths: Iterable[str]) -> dict[str, list[str]]:
    """Returns those of some files that are in submodules, by the folder of each, in order."""
    if not tree.git or not has_submodules(tree.root):
        return {}
    found: dict[str, list[str]] = {}
    folders = set(list_folders(tree.root))
    for path in sorted(paths):
        folder = os.path.dirname(path)
        while folder and folder not in folders:
            folder = os.path.dirname(folder)
        if folder:
            found.setdefault(folder, []).append(path)
    return found


def _open(tree: SourceTree, folder: str) -> SourceTree | None:
    """Returns a submodule; None where it is not one, where its git is elsewhere, or where that cannot be asked."""
    root = os.path.join(tree.root, *folder.split("/"))
    try:
        if not has_own_git(tree.root, folder):
            return None
        check_repository(root)
        return SourceTree(root, tree.cache_home, cautious=tree.cautious)
    except Failure:
        return None
