"""Files that took each other's names: their comments belong to the content, however much the files are alike.

A file was swapped when the version that its comments were made on is whole in another file now, and it holds what was
another's: what that one's comments were made on, or what the last commit has there. A copy is no such thing.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping

from msgspec import Struct

from postil.comments.anchoring.moved_files import list_changed
from postil.comments.model import OtherFile
from postil.comments.source_tree import SourceTree
from postil.core import limits
from postil.workspace.git import try_git
from postil.workspace.paths import RelativePath

MOST_ASKED = 100
"""Changed files that are looked at for one that was put in another's place."""
LATER = 1_000_000_000
"""Nanoseconds after its writing at which a file was put in its place: a move, and no editor that saves."""


class Content(Struct, frozen=True):
    """What a file holds now, and the other versions that its comments were made on, by blob id."""

    now: str
    versions: frozenset[str]


def find_swapped(
    tree: SourceTree,
    read: Mapping[str, Content],
    find_holders: Callable[[Collection[str]], Mapping[str, str]],
    astray: Collection[tuple[str, str]],
) -> dict[str, OtherFile]:
    """Returns for files that were swapped the one that has their content now.

    `find_holders` tells in which other commented files some versions are, `astray` from which files comments were in
    which others before.
    """
    holders = dict(find_holders({blob for each in read.values() for blob in each.versions}))
    holders |= {each.now: path for path, each in read.items()}
    before: dict[str, str] = dict(astray)
    found: dict[str, OtherFile | None] = {}
    changed: list[str] | None = None
    for path, each in read.items():
        there = {holders[blob] for blob in each.versions if blob in holders} - {path}
        whose = {name for name, one in read.items() if name != path and each.now in one.versions}
        if len(there) == 1 and (whose or (path, *there) in astray):
            found[path] = _read(tree, *there, replaced=bool(whose))
        elif not there and before.get(path) in whose:  # the other one was edited since
            found[path] = _read(tree, before[path], replaced=True)
        elif not there and tree.git and each.now and _was_put_there(tree, path):
            changed = list_changed(tree, "HEAD")[:MOST_ASKED] if changed is None else changed
            other = next((name for name in changed if name != path and _holds(tree, name, each)), "")
            found[path] = _read(tree, other, replaced=True) if other else None
    return {path: other for path, other in found.items() if other}


def _read(tree: SourceTree, name: str, *, replaced: bool) -> OtherFile | None:
    source = tree.source_or_none(RelativePath(name)) if tree.size(name) <= limits.HERE else None
    return OtherFile(name, source.text, renamed=True, sure=True, swapped=True, replaced=replaced) if source else None


def _was_put_there(tree: SourceTree, path: str) -> bool:
    try:
        seen = os.stat(os.path.join(tree.root, path), follow_symlinks=False)
    except OSError:
        return False
    return seen.st_ctime_ns - seen.st_mtime_ns > LATER


def _holds(tree: SourceTree, name: str, content: Content) -> bool:
    """Whether a file holds what another's comments were made on, and was what that one is now."""
    source = tree.source_or_none(RelativePath(name)) if tree.size(name) <= limits.HERE else None
    if source is None or source.blob not in content.versions:
        return False
    return try_git(tree.root, "rev-parse", "--verify", "--quiet", f"HEAD:{name}").out.strip().decode() == content.now
