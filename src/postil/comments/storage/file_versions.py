"""Versions of sources that markers were made on: from git, or from our own copies of what git has not seen.

A copy is made when a comment is added, since the file may not be committed yet. Losing the copies loses precision, not
comments: a marker also keeps the lines around it.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterable

from postil.comments.source_tree import Source, SourceTree, decode
from postil.core import limits
from postil.core.failure import Failure
from postil.workspace.files import atomic_write, make_folder, read_file
from postil.workspace.paths import RelativePath

LARGEST_TEXT = limits.GIT_OBJECT
MOST_COPIES = 5000
PRUNED_AT = "00"
"""One copy in 256 looks whether there are too many: its id begins so."""


class FileVersions:
    """Old versions by blob id."""

    def __init__(self, tree: SourceTree) -> None:
        self._tree = tree
        self.kept: set[str] = set()
        """The versions that this process knows to be kept."""

    def keep(self, source: Source) -> None:
        """Copy a source's present version, once."""
        if len(self.kept) >= MOST_COPIES:
            self.kept.clear()
        self.kept.add(source.blob)
        if os.path.exists(os.path.join(self._tree.folder, _place(source.blob))):
            return
        try:
            os.makedirs(self._tree.folder, mode=0o700, exist_ok=True)
            make_folder(self._tree.folder, os.path.dirname(_place(source.blob)), 0o700)
            packed = zlib.compress(source.text.encode("utf-8", "replace"), 1)
            atomic_write(self._tree.folder, _place(source.blob), packed)
            if source.blob.startswith(PRUNED_AT):
                self.prune()
        except (Failure, OSError):
            return  # a full disk must not stop a comment: the marker has the lines, too

    def prune(self) -> None:
        """Delete the oldest copies when there are very many: a marker also keeps the lines around it."""
        folder = os.path.join(self._tree.folder, "comments/texts")
        copies = [entry for part in os.scandir(folder) if part.is_dir() for entry in os.scandir(part.path)]
        for entry in sorted(copies, key=lambda each: each.stat().st_mtime)[: max(0, len(copies) - MOST_COPIES)]:
            os.unlink(entry.path)

    def read(self, blobs: Iterable[str]) -> dict[str, str]:
        """Returns the texts that can be had, by blob id."""
        found: dict[str, str] = {}
        asked: list[str] = []
        for blob in dict.fromkeys(blobs):
            if not _is_id(blob):
                continue
            text = self._read_copy(blob)
            if text is None:
                asked.append(blob)
            else:
                found[blob] = text
        if asked and self._tree.git:
            from postil.comments.git.objects import read_objects  # only where an old version is not among our copies

            there = read_objects(self._tree.root, asked, LARGEST_TEXT)
            found |= {blob: decode(content) for blob, content in there.items()}
        return {blob: text for blob, text in found.items() if text.count("\n") <= limits.LINES}

    def _read_copy(self, blob: str) -> str | None:
        try:
            packed = read_file(self._tree.folder, _place(blob), LARGEST_TEXT)
            return zlib.decompress(packed).decode("utf-8")
        except (Failure, OSError, zlib.error, UnicodeDecodeError):
            return None


def _is_id(blob: str) -> bool:
    return len(blob) in (40, 64) and all(digit in "0123456789abcdef" for digit in blob)


def _place(blob: str) -> RelativePath:
    return RelativePath(f"comments/texts/{blob[:2]}/{blob[2:]}")
