"""Which lines differ from a revision: git's diff, read. Committed or not, new files included."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence

from msgspec import Struct

from postil.comments.git.blame import require_revision
from postil.comments.git.submodules import has_submodules, list_submodules
from postil.comments.model import Located
from postil.comments.source_tree import SourceTree
from postil.comments.storage.store import is_text
from postil.workspace.git import run_git, try_git

_HUNK = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_ESCAPED = re.compile(rb"\\([0-3][0-7]{2}|.)")
_ESCAPES = {b"a": b"\a", b"b": b"\b", b"t": b"\t", b"n": b"\n", b"v": b"\v", b"f": b"\f", b"r": b"\r"}
_NOTHING = "/dev/null"
EVERY = range(1, 1 << 31)
"""The lines of a file that is new as a whole."""


class Changed(Struct, frozen=True):
    """What changed in one file: the ranges of its lines that are new, and the lines that went, by what follows."""

    ranges: tuple[range, ...]
    removed: dict[int, tuple[str, ...]] = {}

    def touches(self, first: int, last: int) -> bool:
        """Whether one of some lines is new, or lines went beside them."""
        at = bisect_right(self.ranges, last, key=lambda each: each.start)  # they are in order, and none overlaps
        if at and first < self.ranges[at - 1].stop:
            return True
        if last - first < len(self.removed):
            return any(line in self.removed for line in range(first, last + 1))
        return any(first <= line <= last for line in self.removed)


def find_base(tree: SourceTree, revision: str) -> str:
    """Returns the commit from which the present work went its own way. Raises NotFound."""
    commit = require_revision(tree, revision)
    merged = try_git(tree.root, "merge-base", commit.id, "HEAD").out.decode().strip()
    return merged or commit.id


def find_changed(tree: SourceTree, commit: str, path: str) -> Changed | None:
    """Returns what is new in one file since a commit, under the name that it had there; None if nothing is."""
    before = _find_old_name(tree.root, commit, path)
    found = _list_changed(tree.root, commit, (path, before) if before else (path,)).get(path)
    return found or (list_changed_lines(tree, commit).get(path) if has_submodules(tree.root) else None)


def _find_old_name(root: str, commit: str, path: str) -> str:
    """Returns what git says that a file was called at a commit; nothing where it has its name, or is new."""
    if try_git(root, "cat-file", "-e", f"{commit}:{path}").status == 0:
        return ""
    shape = ("--name-status", "-z", "-M", "--diff-filter=R", "--ignore-submodules=all", "--no-ext-diff")
    fields = run_git(root, "diff", *shape, commit, "--").decode("utf-8", "surrogateescape").split("\0")
    renamed = dict(zip(fields[2::3], fields[1::3], strict=False))
    return renamed.get(path, "")


def list_changed_lines(tree: SourceTree, commit: str) -> dict[str, Changed]:
    """Returns for each file that differs from a commit what is new in it; for one that went, what it was.

    Those in submodules are compared with the commit of the submodule that the commit names.
    """
    found = _list_changed(tree.root, commit, ())
    if has_submodules(tree.root):
        for past in list_submodules(tree.root, commit):
            there = _list_changed(past.root, past.commit, ())
            found |= {past.outside(path): each for path, each in there.items()}
    return {path: each for path, each in found.items() if is_text(path)}


def _list_changed(root: str, commit: str, files: Sequence[str]) -> dict[str, Changed]:
    arguments = (
        "-U0",
        "--raw",
        "--inter-hunk-context=0",
        "--no-color",
        "--ignore-submodules=all",
        "-M",
        "--no-prefix",
        "--no-ext-diff",
        commit,
        "--",
        *(files or (".",)),
    )
    found = parse_diff(run_git(root, "diff", *arguments))
    new = run_git(root, "ls-files", "-z", "--others", "--exclude-standard", "--", *(files or (".",)))
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


def parse_diff(diff: bytes) -> dict[str, Changed]:
    """Returns what a diff without context says of each file, and of those that it only lists.

    A file that was renamed is told under both names: what was lost in it was lost under the old one.
    """
    found: dict[str, Changed] = {}
    path, old, came_from = "", "", ""
    ranges: list[range] = []
    removed: dict[int, list[str]] = {}
    before, old_left, new_left = 0, 0, 0
    listed: list[str] = []

    def end_file() -> None:
        if path:
            found[path] = Changed(tuple(ranges), {line: tuple(rows) for line, rows in removed.items()})
            found.setdefault(came_from, found[path])

    for row in diff.split(b"\n"):
        if old_left > 0 and row[:1] == b"-":
            old_left -= 1
            removed.setdefault(before, []).append(row[1:].decode("utf-8", "replace"))
        elif new_left > 0 and row[:1] == b"+":
            new_left -= 1
        elif row.startswith(b":"):
            head, *names = row.split(b"\t")
            words = head.split()
            if len(words) == 5 and words[2] != words[3] and words[4] != b"R100":  # else its mode or name alone differs
                listed += map(_unquote, names)
        elif row.startswith(b"--- "):
            old = _unquote(row[4:])
        elif row.startswith(b"+++ "):
            end_file()
            path, ranges, removed = _unquote(row[4:]), [], {}
            path = old if path == _NOTHING else path  # a file that went has changed too
            came_from = path if old == _NOTHING else old
        elif hunk := _HUNK.match(row):
            old_left, new_left = (int(hunk[at] or 1) for at in (2, 4))
            first = int(hunk[3])
            before = first if new_left else first + 1
            if new_left:
                ranges.append(range(first, first + new_left))
    end_file()
    for name in listed:  # what attributes say has no lines (`-diff`), or is binary: all of it
        found.setdefault(name, Changed((EVERY,)))
    return found


def _unquote(name: bytes) -> str:
    """Returns a path as git writes it in a diff: in quotes, with escapes, where it has odd characters."""
    name = name.rstrip(b"\t")
    if name.startswith(b'"') and name.endswith(b'"'):
        name = _ESCAPED.sub(lambda found: _ESCAPES.get(found[1]) or _read_octal(found[1]), name[1:-1])
    return name.decode("utf-8", "surrogateescape")


def _read_octal(digits: bytes) -> bytes:
    return bytes([int(digits, 8)]) if digits.isdigit() else digits
