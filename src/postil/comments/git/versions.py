"""The versions of a file that commits made, and the ways between them. Reads git's history and nothing else.

A history with merges is no line: each version names the one that it was made of, and who follows code goes from one to
the other. Of a merge that differs from all that it joined there is a version for each of those; of one that took the
file as one of them had it, a version that was made of itself.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from itertools import dropwhile, groupby
from typing import TypeAlias

from msgspec import Struct

from postil.comments.model import Commit
from postil.comments.source_tree import SourceTree
from postil.workspace.failures import ELSEWHERE, GitTimedOut, GitTooLarge
from postil.workspace.git import TIMEOUT, try_git

MOST_COMMITS = 500
"""Commits of a file that are read at first; where they are not enough, a multiple of them."""
MORE = 8
PATIENCE = 8.0
"""Seconds that are spent on looking further back than that."""
MOST_NAMES = 200
"""A file that had more names is followed through these alone, and its history is not complete."""
_TOLD = ("%H", "%an", "%aI", "%s", "%P", "%ct")
_SHAPE = ("--raw", "--no-abbrev", "-M", "-z", "--diff-merges=separate", f"--format={'%x00'.join(_TOLD)}")

_Piece: TypeAlias = tuple[Sequence[str], list[tuple[str, str, str, str]]]


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


class History(Struct, frozen=True):
    """The versions of a file, newest first, through renames."""

    versions: list[Version]
    complete: bool = True
    """Whether these are all that git has."""
    commits: int = 0
    """How many commits of the file were read."""
    partial: bool = False
    """Whether files were followed through names only where nothing else changed: a partial clone has left at its remote
    what tells the others."""


def read_histories(tree: SourceTree, path: str, until: float) -> Iterator[History]:
    """Yields the history of a file, each time more of it, until all is read or it is later than `until`.

    Who has found what they look for stops asking. The clock is that of `time.monotonic`.
    """
    most, timeout = MOST_COMMITS, TIMEOUT
    while True:
        try:
            history = _read_history(tree, path, most, timeout)
        except (GitTimedOut, GitTooLarge):
            if most == MOST_COMMITS:
                raise
            return  # what was read before has to do
        yield history
        timeout = min(until - time.monotonic(), TIMEOUT)
        if history.complete or history.partial or timeout <= 0:
            return
        most *= MORE


def read_history(
    tree: SourceTree, path: str, until: float, enough: Callable[[History], bool] = lambda _: False
) -> History:
    """Returns as much of a file's history as is enough, or can be read until then."""
    history = History([])
    for history in read_histories(tree, path, until):
        if enough(history):
            break
    return history


def _read_history(tree: SourceTree, path: str, most: int, timeout: float) -> History:
    if not tree.git:
        return History([])
    found = _read(tree, most, timeout, "--follow", "--", path)
    names = dict.fromkeys([path, *(name for each in found.versions for name in (each.path, each.old_path))])
    if len(names) == 1:
        return found
    # git follows one name at a time, and misses what a branch did under another
    copied = {(each.commit.id, each.path): each for each in found.versions if each.old_blob}
    every = _read(tree, most, timeout, "--", *list(names)[:MOST_NAMES])
    own = dropwhile(lambda each: each.path != path, every.versions)  # what was copied goes on by itself
    joined = [each if each.old_blob else copied.get((each.commit.id, each.path), each) for each in own]
    complete = found.complete and every.complete and len(names) <= MOST_NAMES
    return _tell(joined, complete, found.partial or every.partial)


def _tell(versions: list[Version], complete: bool, is_partial: bool) -> History:
    return History(versions, complete and not is_partial, len({each.commit.id for each in versions}), is_partial)


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


def _read(tree: SourceTree, most: int, timeout: float, *what: str) -> History:
    """Returns the versions of the last commits."""
    asked = ("log", *_SHAPE, f"--max-count={most + 1}")
    done = try_git(tree.root, *asked, *what, timeout=timeout)
    is_partial = done.status != 0 and ELSEWHERE.encode() in done.err
    if is_partial:  # what has the same content bears another name all the same
        done = try_git(tree.root, *asked, "--find-renames=100%", *what, timeout=timeout)
    pieces = [*_read_pieces(done.out.decode("utf-8", "replace").split("\0"))] if done.status == 0 else []
    commits = dict.fromkeys(head[0] for head, _ in pieces)
    if len(commits) <= most:
        return _tell([*_parse(pieces)], True, is_partial)
    last = commits.popitem()[0]
    return _tell([*_parse([piece for piece in pieces if piece[0][0] != last])], False, is_partial)


def _parse(pieces: Sequence[_Piece]) -> Iterator[Version]:
    for head, some in groupby(pieces, lambda piece: piece[0]):
        *named, parents, written = head
        differences = [each for _, each in some]
        commit, merged = Commit(*named), " " in parents
        taken = merged and len(differences) < len(parents.split())
        for each in differences[:1] if taken else differences:
            for old_path, path, old, new in each:
                before = (path, new) if taken else (old_path, old)
                yield Version(commit, path, new, *before, merged=merged, time=int(written))


def _read_pieces(fields: Sequence[str]) -> Iterator[_Piece]:
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
