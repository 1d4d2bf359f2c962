"""Files that took each other's names: their comments belong to the content, however much the files are alike.

A file was swapped when the version that its comments were made on is whole in another file now, and it holds what was
another's: what that one's comments were made on. A copy is no such thing. Where one of them was edited since, or has no
comments, exchanged_files.py looks closer.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from msgspec import Struct

from postil.comments.model import OtherFile
from postil.comments.source_tree import Source, SourceTree
from postil.core import limits
from postil.workspace.paths import RelativePath


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
    makers: dict[str, set[str]] = {}
    for path, each in read.items():
        for blob in each.versions:
            makers.setdefault(blob, set()).add(path)
    found: dict[str, OtherFile | None] = {}
    for path, each in read.items():
        there = {holders[blob] for blob in each.versions if blob in holders} - {path}
        whose = makers.get(each.now, set()) - {path}
        if len(there) == 1 and (whose or (path, *there) in astray):
            found[path] = _read(tree, *there, replaced=bool(whose))
        elif not there and before.get(path) in whose:  # the other one was edited since
            found[path] = _read(tree, before[path], replaced=True)
    return {path: other for path, other in found.items() if other}


def make_swapped(source: Source, *, replaced: bool) -> OtherFile:
    """Returns the file that has, to the byte, what another one was."""
    return OtherFile(source.path, source.text, renamed=True, sure=True, swapped=True, replaced=replaced)


def _read(tree: SourceTree, name: str, *, replaced: bool) -> OtherFile | None:
    source = tree.source_or_none(RelativePath(name)) if tree.size(name) <= limits.HERE else None
    return make_swapped(source, replaced=replaced) if source else None
