"""Which lines differ from a revision: git's diff, read. Committed or not, new files included."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from postil.comments.git.blame import require_revision
from postil.comments.model import Located
from postil.comments.source_tree import SourceTree
from postil.workspace.git import run_git, try_git

_HUNK = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_NOTHING = "/dev/null"
_EMPTY_TREE = (
    "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
)
"""A tree without files, in repositories of SHA-1 and of SHA-256: every git knows it."""
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
    """Returns for each file that differs from a commit what is new in it; for one that went, what it was.

    Those in submodules are compared with the commit of the submodule that the commit names.
    """
    found = _list_changed(tree.root, commit, files)
    if not files and os.path.lexists(os.path.join(tree.root, ".gitmodules")):
        for folder, inside, old in _list_submodules(tree.root, commit):
            found |= {f"{folder}/{path}": each for path, each in _list_changed(inside, old, ()).items()}
    return found


def _list_submodules(root: str, commit: str) -> Iterator[tuple[str, str, str]]:
    """Yields each submodule that is here, its folder and the commit it was at; a tree without files if it was not."""
    then = dict(_parse_links(run_git(root, "ls-tree", "-r", "-z", "--full-tree", commit), at=2))
    for folder, _ in _parse_links(run_git(root, "ls-files", "-s", "-z"), at=1):
        inside = os.path.join(os.path.realpath(root), *folder.split("/"))
        if os.path.realpath(inside) != inside or not os.path.lexists(os.path.join(inside, ".git")):
            continue  # a link out of here, or never fetched
        old = then.get(folder, "")
        known = old and try_git(inside, "cat-file", "-e", f"{old}^{{commit}}").status == 0
        yield folder, inside, old if known else _EMPTY_TREE[len(commit) > 40]


def _parse_links(listed: bytes, at: int) -> Iterator[tuple[str, str]]:
    for row in listed.split(b"\0"):
        head, _, path = row.partition(b"\t")
        if head.startswith(b"160000 "):
            yield path.decode("utf-8", "surrogateescape"), head.split()[at].decode()


def _list_changed(root: str, commit: str, files: Sequence[str]) -> dict[str, Changed]:
    arguments = (
        "-U0",
        "--no-color",
        "--ignore-submodules=all",
        "-M",
        "--no-prefix",
        "--no-ext-diff",
        commit,
        "--",
        *(files or (".",)),
    )
    found = _parse(run_git(root, "diff", *arguments))
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


def _parse(diff: bytes) -> dict[str, Changed]:
    """A file that was renamed is told under both names: what was lost in it was lost under the old one."""
    found: dict[str, Changed] = {}
    path, old, came_from = "", "", ""
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
                found.setdefault(came_from, found[path])
            path, ranges, removed = _unquote(row[4:]), [], {}
            path = old if path == _NOTHING else path  # a file that went has changed too
            came_from = path if old == _NOTHING else old
        elif hunk := _HUNK.match(row):
            old_left, new_left = (int(hunk[at] or 1) for at in (2, 4))
            first = int(hunk[3])
            before = first if new_left else first + 1
            if new_left:
                ranges.append(range(first, first + new_left))
    if path:
        found[path] = Changed(tuple(ranges), removed)
        found.setdefault(came_from, found[path])
    return found


def _unquote(name: bytes) -> str:
    """Returns a path as git writes it in a diff: in quotes, with escapes, where it has odd characters."""
    name = name.rstrip(b"\t")
    if name.startswith(b'"') and name.endswith(b'"'):
        name = name[1:-1].decode("latin-1").encode().decode("unicode_escape").encode("latin-1")
    return name.decode("utf-8", "surrogateescape")
