"""What a file became beyond doubt: one of the same content to the byte, or one whose name differs in case alone."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import blake2b

from postil.comments.model import OtherFile
from postil.comments.source_tree import SourceTree
from postil.core import limits
from postil.workspace.paths import RelativePath


class FilesBySize:
    """Some files, found by what they hold."""

    def __init__(self, tree: SourceTree, paths: Iterable[str]) -> None:
        self._tree = tree
        self._by_size: dict[int, list[str]] = {}
        self._by_text: dict[int, dict[bytes, list[str]]] = {}
        """Of sizes that were asked for, the files by a digest of what they hold: each is read once."""
        for path in paths:
            self._by_size.setdefault(tree.size(path), []).append(path)

    def equal(self, texts: Iterable[str]) -> list[str]:
        """Returns those that hold one of some texts, and nothing else."""
        found: list[str] = []
        for text in texts:
            size = len(text.encode("utf-8", "replace"))
            if 0 < size <= limits.HERE and size in self._by_size:
                found += self._read(size).get(_digest(text), ())
        return found

    def _read(self, size: int) -> dict[bytes, list[str]]:
        known = self._by_text.get(size)
        if known is None:
            known = self._by_text[size] = {}
            for path in self._by_size[size]:
                source = self._tree.source_or_none(RelativePath(path))
                if source is not None:
                    known.setdefault(_digest(source.text), []).append(path)
        return known


def _digest(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def list_respelled(tree: SourceTree, path: str) -> list[str]:
    """Returns the files beside one that is gone whose names differ from its own in case alone."""
    folder, name = os.path.split(path)
    try:
        names = os.listdir(os.path.join(tree.root, folder))
    except OSError:
        return []
    return [os.path.join(folder, each) for each in names if each != name and each.casefold() == name.casefold()]


def find_without_git(
    tree: SourceTree, lost: Mapping[str, Sequence[str]], list_files: Callable[[SourceTree], Iterable[str]]
) -> dict[str, list[OtherFile]]:
    """Returns the files that others became, in a folder without git; `lost` has their texts as comments knew them.

    What was there before is not known: only a file that is gone was surely renamed, of others a person is asked.
    """
    files = FilesBySize(tree, list_files(tree)) if lost else None
    found: dict[str, list[OtherFile]] = {}
    for path, texts in lost.items():
        is_gone = not tree.stat(path)
        there = (is_gone and list_respelled(tree, path)) or (files.equal(texts) if files else [])
        source = tree.source_or_none(RelativePath(there[0])) if len(there) == 1 and there[0] != path else None
        if source:
            held = frozenset("".join(row.split()) for row in source.text.split("\n") if not is_gone)
            found[path] = [OtherFile(source.path, source.text, held, renamed=True, sure=is_gone)]
    return found
