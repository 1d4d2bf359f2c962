"""The versions of a file that commits made, and the ways between them. Reads git's history and nothing else.

A history with merges is no line: each version names the one that it was made of, and who follows code goes from one to
the other. Of a merge that differs from all that it joined there is a version for each of those; of one that took the
file as one of them had it, a version that was made of itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import dropwhile, groupby

from msgspec import Struct

from postil.comments.model import Commit
from postil.comments.source_tree import SourceTree
from postil.workspace.git import try_git

MOST_COMMITS = 500
MOST_NAMES = 20
"""A file that had more names is followed through these alone."""
_TOLD = ("%H", "%an", "%aI", "%s", "%P", "%ct")
_SHAPE = ("--raw", "--no-abbrev", "-M", "-z", "--diff-merges=separate", f"--format={'%x00'.join(_TOLD)}")


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
    time: int = 0
    """Seconds since 1970 at which the commit was made here, whenever its author wrote it."""


def list_versions(tree: SourceTree, path: str, most: int = MOST_COMMITS) -> list[Version]:
    """Returns the versions of a file, newest first, through renames."""
    if not tree.git:
        return []
    found = _read(tree, most, "--follow", "--", path)
    names = dict.fromkeys([path, *(name for each in found for name in (each.path, each.old_path))])
    if len(names) == 1:
        return found
    # git follows one name at a time, and misses what a branch did under another
    copied = {(each.commit.id, each.path): each for each in found if each.old_blob}
    every = _read(tree, most, "--", *list(names)[:MOST_NAMES])
    own = dropwhile(lambda each: each.path != path, every)  # what was copied goes on by itself
    return [each if each.old_blob else copied.get((each.commit.id, each.path), each) for each in own]


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
    for head, some in groupby(_read_pieces(text.split("\0")), lambda piece: piece[0]):
        *named, parents, written = head
        differences = [each for _, each in some]
        commit, merged = Commit(*named), " " in parents
        taken = merged and len(differences) < len(parents.split())
        for each in differences[:1] if taken else differences:
            for old_path, path, old, new in each:
                before = (path, new) if taken else (old_path, old)
                yield Version(commit, path, new, *before, merged=merged, time=int(written))


def _read_pieces(fields: Sequence[str]) -> Iterator[tuple[Sequence[str], list[tuple[str, str, str, str]]]]:
    """Yields what is told of each commit, and old and new names and blobs: NUL alone is in none of them."""
    at = 0
    while at + len(_TOLD) < len(fields):
        head = fields[at : at + len(_TOLD)]
        at += len(_TOLD)
        found: list[tuple[str, str, str, str]] = []
        while at < len(fields) and fields[at].lstrip("\n").startswith(":"):
            words = fields[at].split()
            old, new = (blob if blob.strip("0") else "" for blob in words[2:4])
            names = fields[at + 1 : at + (3 if words[4][0] in "RC" else 2)]
            found.append((names[0], names[-1], old, new))
            at += 1 + len(names)
        yield head, found
