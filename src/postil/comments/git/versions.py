"""The versions of a file that commits made, and the ways between them. Reads git's history and nothing else.

A history with merges is no line: each version names the one that it was made of, and who follows code goes from one to
the other. Of a merge that differs from all that it joined there is a version for each of those; of one that took the
file as one of them had it, a version that was made of itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from msgspec import Struct

from postil.comments.model import Commit
from postil.comments.source_tree import SourceTree
from postil.workspace.git import try_git

MOST_COMMITS = 500
MOST_NAMES = 20
"""A file that had more names is followed through these alone."""
_SHAPE = ("--raw", "--no-abbrev", "-M", "-z", "--diff-merges=separate", "--format=%x01%H%x02%an%x02%aI%x02%s%x02%P%x03")


class Version(Struct, frozen=True):
    """A file as a commit left it."""

    commit: Commit
    path: str
    blob: str
    """Empty when the commit deleted the file."""
    old_path: str
    old_blob: str
    """Empty when the commit made the file."""
    merged: bool = False
    """Whether the commit is a merge, and this its difference from one of those that it joined."""


def list_versions(tree: SourceTree, path: str, most: int = MOST_COMMITS) -> list[Version]:
    """Returns the versions of a file, newest first, through renames."""
    if not tree.git:
        return []
    found = _read(tree, most, "--follow", "--", path)
    names = dict.fromkeys([path, *(name for each in found for name in (each.path, each.old_path))])
    if len(names) > 1:  # git follows one name at a time, and misses what a branch did under another
        return _read(tree, most, "--", *list(names)[:MOST_NAMES])
    return found


def list_later(history: Sequence[Version], blob: str, tip: str | None = None) -> list[Version]:
    """Returns the versions on a way from one to the tip, oldest first: to the newest without a tip.

    Empty where there is no such way.
    """
    if not history:
        return []
    end = history[0].blob if tip is None else tip
    made: dict[str, Version | None] = {end: None}
    for version in history:
        if blob in made:
            break
        if version.blob in made and version.old_blob:
            made.setdefault(version.old_blob, version)
    later: list[Version] = []
    while (version := made.get(blob)) is not None:
        later.append(version)
        blob = version.blob
    return later


def _read(tree: SourceTree, most: int, *what: str) -> list[Version]:
    done = try_git(tree.root, "log", *_SHAPE, f"--max-count={most}", *what)
    return list(_parse(done.out.decode("utf-8", "replace"))) if done.status == 0 else []


def _parse(text: str) -> Iterator[Version]:
    pieces = (piece.partition("\x03") for piece in text.split("\x01")[1:])
    for head, some in groupby(pieces, lambda piece: piece[0]):
        identity = head.split("\x02")
        if len(identity) != 5:
            continue
        *named, parents = identity
        differences = [[*_parse_differences(rest)] for _, _, rest in some]
        joined = len(parents.split())
        commit, merged = Commit(*named), joined > 1
        taken = merged and len(differences) < joined
        for each in differences[:1] if taken else differences:
            for old_path, path, old, new in each:
                before = (path, new) if taken else (old_path, old)
                yield Version(commit, path, new, *before, merged=merged)


def _parse_differences(text: str) -> Iterator[tuple[str, str, str, str]]:
    """Yields old and new names and blobs."""
    fields = [field for field in text.replace("\n", "\0").split("\0") if field]
    at = 0
    while at + 1 < len(fields) and fields[at].startswith(":"):
        words = fields[at].split()
        old, new = (blob if blob.strip("0") else "" for blob in words[2:4])
        two = words[4][0] in "RC"
        yield fields[at + 1], fields[at + 2 if two else at + 1], old, new
        at += 3 if two else 2
