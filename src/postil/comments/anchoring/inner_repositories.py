"""Lost code of files in submodules: looked for in that submodule, whose history knows what its files became.

The workspace's own git knows nothing of them but the commit that they are at.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Sequence

from msgspec.structs import replace

from postil.comments.anchoring.line_holders import LineHolders
from postil.comments.anchoring.moved_files import find_other_files
from postil.comments.git.submodules import has_submodules, list_folders
from postil.comments.model import Located, OtherFile
from postil.comments.source_tree import SourceTree
from postil.comments.storage.file_versions import FileVersions


def find_in_all(
    tree: SourceTree, orphans: Sequence[Located], versions: FileVersions, known: LineHolders
) -> dict[str, list[OtherFile]]:
    """Returns the same as `find_other_files`, each file looked for in its own repository."""
    inner = _group_inner(tree, {each.filePath for each in orphans})
    away = {path: folder for folder, paths in inner.items() for path in paths}
    own = [each for each in orphans if each.filePath not in away]
    found = find_other_files(tree, own, versions, known) if own else {}
    for folder in inner:
        inside = known.inner.get(folder) or known.inner.setdefault(
            folder, LineHolders(_open(tree, folder), known.largest)
        )
        some = [
            replace(each, filePath=each.filePath.removeprefix(f"{folder}/"))
            for each in orphans
            if away.get(each.filePath) == folder
        ]
        for path, others in find_in_all(inside.tree, some, FileVersions(inside.tree, versions), inside).items():
            found[f"{folder}/{path}"] = [replace(each, path=f"{folder}/{each.path}") for each in others]
    return found


def list_inner_trees(tree: SourceTree, paths: Collection[str]) -> list[tuple[str, SourceTree]]:
    """Returns the submodules that some files are in, with their folders."""
    return [(folder, _open(tree, folder)) for folder in _group_inner(tree, paths)]


def _group_inner(tree: SourceTree, paths: Iterable[str]) -> dict[str, list[str]]:
    """Returns those of some files that are in submodules, by the folder of each."""
    if not tree.git or not has_submodules(tree.root):
        return {}
    found: dict[str, list[str]] = {}
    folders = list(list_folders(tree.root))
    for path in paths:
        folder = next((each for each in folders if path.startswith(f"{each}/")), "")
        if folder:
            found.setdefault(folder, []).append(path)
    return found


def _open(tree: SourceTree, folder: str) -> SourceTree:
    return SourceTree(os.path.join(tree.root, *folder.split("/")), tree.cache_home, cautious=tree.cautious)
