"""Which lines differ from a revision: git's diff, read. Committed or not, new files included."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from msgspec import Struct

from postil.comments.git.blame import require_revision
from postil.comments.model import Located
from postil.comments.source_tree import SourceTree
from postil.workspace.git import run_git, try_git

_HUNK = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_NOTHING = "/dev/null"
EVERY = range(1, 1 << 31)
"""The lines of a file that is new as a whole."""


class Changed(Struct, frozen=True):
    """What changed in one file: the ranges of its lines that are new, and the lines that went, by what follows."""

    ranges: tuple[range, ...]
    removed: dict[int, tuple[str, ...]] = {}

    def touches(self, first: int, last: int) -> bool:
        """Whether one of some lines is new, or lines went beside them."""
        if any(each.start <= last and first < each.stop for each in self.ranges):
            return True
        return any(first <= line <= last for line in self.removed)


def find_base(tree: SourceTree, revision: str) -> str:
    """Returns the commit from which the present work went its own way. Raises NotFound."""
    commit = require_revision(tree, revision)
    merged = try_git(tree.root, "merge-base", commit.id, "HEAD").out.decode().strip()
    return merged or commit.id


def list_changed_lines(tree: SourceTree, commit: str, files: Sequence[str] = ()) -> dict[str, Changed]:
    """Returns for each file that differs from a commit what is new in it; for one that went, what it was."""
    arguments = ("-U0", "--no-color", "--no-renames", "--no-prefix", "--no-ext-diff", commit, "--", *(files or (".",)))
    found = _parse(run_git(tree.root, "diff", *arguments))
    new = run_git(tree.root, "ls-files", "-z", "--others", "--exclude-standard", "--", *(files or (".",)))
    for name in new.split(b"\0"):
        if name:
            found[name.decode("utf-8", "surrogateescape")] = Changed((EVERY,))
    return found


def touches_changed(changed: Mapping[str, Changed], each: Located) -> bool:
    """Whether a comment is on lines that changed; one whose code is gone or uncertain, whether a file of it did."""
    place = each.place
    there = changed.get(place.path) or changed.get(each.filePath)
    if place.state in ("orphaned", "review"):
        likely = place.candidates[0].path if place.state == "review" and place.candidates else ""
        return there is not None or likely in changed
    return there is not None and there.touches(place.line, max(place.line, place.endLine))


def _parse(diff: bytes) -> dict[str, Changed]:
    found: dict[str, Changed] = {}
    path, old = "", ""
    ranges: list[range] = []
    removed: dict[int, tuple[str, ...]] = {}
    before, old_left, new_left = 0, 0, 0
    for row in diff.split(b"\n"):
        if old_left > 0 and row[:1] == b"-":
            old_left -= 1
            removed[before] = (*removed.get(before, ()), row[1:].decode("utf-8", "replace"))
        elif new_left > 0 and row[:1] == b"+":
            new_left -= 1
        elif row.startswith(b"--- "):
            old = _unquote(row[4:])
        elif row.startswith(b"+++ "):
            if path:
                found[path] = Changed(tuple(ranges), removed)
            path, ranges, removed = _unquote(row[4:]), [], {}
            path = old if path == _NOTHING else path  # a file that went has changed too
        elif hunk := _HUNK.match(row):
            old_left, new_left = (int(hunk[at] or 1) for at in (2, 4))
            first = int(hunk[3])
            before = first if new_left else first + 1
            if new_left:
                ranges.append(range(first, first + new_left))
    if path:
        found[path] = Changed(tuple(ranges), removed)
    return found


def _unquote(name: bytes) -> str:
    """Returns a path as git writes it in a diff: in quotes, with escapes, where it has odd characters."""
    name = name.rstrip(b"\t")
    if name.startswith(b'"') and name.endswith(b'"'):
        name = name[1:-1].decode("latin-1").encode().decode("unicode_escape").encode("latin-1")
    return name.decode("utf-8", "surrogateescape")
