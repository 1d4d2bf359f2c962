"""Copies of damaged comment files, as they were to the byte: in our folder of the git directory, which no commit sees.

Without git (or where its directory cannot be written to) they stand beside the file. Nothing here deletes one.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from itertools import islice

from postil.comments.clock import now
from postil.comments.source_tree import SourceTree
from postil.comments.storage.store import SUFFIX
from postil.core import call
from postil.workspace.clones.sharing import make_own_folder
from postil.workspace.files import BEGUN, atomic_write, make_folder
from postil.workspace.paths import RelativePath

MOST_LISTED = 1000
_DAMAGED = ".damaged-"
LONGEST_NAME = 255
"""Bytes that the name of a file has at most."""


def set_aside(tree: SourceTree, path: str, content: bytes) -> str:
    """Keep what a damaged comment file holds. Returns where, as a person may type it."""
    name = _make_name(path)
    if not (folder := _find_folder(tree)):
        atomic_write(tree.root, RelativePath(name), content)
        return name
    inside = f"damaged/{tree.key}/{name}"
    make_own_folder(folder)
    make_folder(folder, os.path.dirname(inside), 0o700)
    atomic_write(folder, RelativePath(inside), content)
    return _show(tree, os.path.join(folder, inside))


def list_set_aside(tree: SourceTree) -> Iterator[tuple[str, str]]:
    """Yields where the copies are that were kept in our folder, and of which source, by file and time.

    None behind a link, and not all of very many, which an archive may bring. Of a very long name the end is not told.
    """
    folder = _find_folder(tree)
    top = os.path.join(folder, "damaged", tree.key) if folder else ""
    if any(map(os.path.islink, (top, os.path.dirname(top)))):
        return
    found = ((here, name) for here, names in _walk_in_order(top) for name in sorted(names))
    walk = ((here, name) for here, name in found if not name.startswith(BEGUN))
    for here, name in islice(walk, MOST_LISTED):
        place = os.path.join(here, name)
        yield _show(tree, place), os.path.relpath(place, top).rpartition(f"{SUFFIX}{_DAMAGED}")[0]


def _walk_in_order(top: str) -> Iterator[tuple[str, list[str]]]:
    for here, folders, names in os.walk(top):
        folders.sort()
        yield here, names


def _make_name(path: str) -> str:
    """Returns what a copy is called: as its file, but for the end of a name that would be too long."""
    folder, _, name = path.rpartition("/")
    end = f"{SUFFIX}{_DAMAGED}{re.sub('[:.]', '-', now())}"
    while len(os.fsencode(name + end)) > LONGEST_NAME:
        name = name[:-1]
    return f"{folder}/{name}{end}" if folder else name + end


def _find_folder(tree: SourceTree) -> str:
    own = os.path.join(tree.common_dir, "postil")
    return own if tree.git and tree.folder == own else ""


def _show(tree: SourceTree, path: str) -> str:
    """Returns a path from the root of the workspace; of one elsewhere, what its caller may know of it."""
    inside = os.path.relpath(path, tree.root)
    if not inside.startswith("..") or call.current().reveals_paths:
        return inside if not inside.startswith("..") else path
    return f"{os.path.relpath(path, tree.folder)} in the git directory"
