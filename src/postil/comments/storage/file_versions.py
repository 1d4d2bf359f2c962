"""Versions of sources that markers were made on: from git, or from our own copies of what git has not seen.

A copy is made when a comment is added, since the file may not be committed yet. Losing the copies loses precision, not
comments: a marker also keeps the lines around it.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterable

from postil.comments.source_tree import Source, SourceTree, decode, is_too_large
from postil.core import limits
from postil.core.failure import Failure
from postil.workspace.clones.sharing import make_own_folder
from postil.workspace.files import atomic_write, make_folder, read_file
from postil.workspace.paths import RelativePath

LARGEST_TEXT = limits.GIT_OBJECT
MOST_TOGETHER = 2 * limits.GIT_OBJECT
"""Bytes of the versions that are held at once."""
MOST_COPIES = 5000
PRUNED_AT = "00"
"""One copy in 256 looks whether there are too many: its id begins so."""


class FileVersions:
    """Old versions by blob id. Those of a submodule are looked for among the copies of the workspace around it, too."""

    def __init__(self, tree: SourceTree, around: FileVersions | None = None) -> None:
        self._tree, self._around = tree, around
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
            make_own_folder(self._tree.folder)
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

    def read(
        self,
        blobs: Iterable[str],
        largest: int = LARGEST_TEXT,
        most: int = MOST_TOGETHER,
        left_out: set[str] | None = None,
    ) -> dict[str, str]:
        """Returns the texts that can be had, by blob id; `left_out` gets those that are too large, or too many."""
        found: dict[str, str] = {}
        asked: list[str] = []
        large: set[str] = set() if left_out is None else left_out
        for blob in dict.fromkeys(blobs):
            if not _is_id(blob):
                continue
            content = self.read_copy(blob, min(largest, most))
            if content is None:
                asked.append(blob)
            elif len(content) > min(largest, most):
                large.add(blob)
            elif not is_too_large(text := decode(content)):
                found[blob] = text
                most -= len(content)
        if asked and self._tree.git:
            from postil.comments.git.objects import read_objects  # only where an old version is not among our copies

            there = read_objects(self._tree.root, asked, min(largest, most), most, large)
            texts = ((blob, decode(content)) for blob, content in there.items())
            found |= {blob: text for blob, text in texts if not is_too_large(text)}
        return found

    def read_copy(self, blob: str, largest: int) -> bytes | None:
        """Returns our copy of a version, of a larger one a byte more than that; None where there is none."""
        try:
            packed = read_file(self._tree.folder, _place(blob), LARGEST_TEXT)
            unpacker = zlib.decompressobj()
            content = unpacker.decompress(packed, largest + 1)  # not more: a copy may claim to hold gigabytes
        except (Failure, OSError, zlib.error):
            return self._around.read_copy(blob, largest) if self._around else None
        return content if unpacker.eof or len(content) > largest else None


def _is_id(blob: str) -> bool:
    return len(blob) in (40, 64) and all(digit in "0123456789abcdef" for digit in blob)


def _place(blob: str) -> RelativePath:
    return RelativePath(f"comments/texts/{blob[:2]}/{blob[2:]}")
