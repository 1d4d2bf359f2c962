"""Comments and whole sidecars that are gone: whether git took them out, which is not told, or another program did.

git took a sidecar out when its index does not have it while the last commit has (`git rm`), when a sparse checkout
leaves it out, or when the comments are in commits of other branches or earlier ones. Whoever deleted the source as well
meant both. Not here: what our own log says of them (`storage/erased.py`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise

from postil.comments.git.objects import iterate_objects
from postil.comments.source_tree import SourceTree
from postil.workspace.git import TIMEOUT, run_git, try_git

SUFFIX = ".comments"
MOST_READ = 32 << 20
"""Bytes of committed versions in which is looked for comments, the newest first."""
MOST_COMMITS = 500
ASKED_TOGETHER = 200


def find_vanished(tree: SourceTree, paths: Sequence[str], timeout: float = TIMEOUT) -> set[str]:
    """Returns those of some files without a sidecar from which git did not take it. Raises GitTimedOut."""
    here = [path for path in paths if tree.stat(path)]
    if not tree.git or not here:
        return set(here)
    states = {name: state for part in _split(here) for state, name in _list_states(tree, part, timeout)}
    unknown = [path for path in here if path + SUFFIX not in states]
    committed = {name for part in _split(unknown) for name in _list_committed(tree, part, timeout)}
    return {path for path in here if states.get(path + SUFFIX, "H") != "S" and path + SUFFIX not in committed}


def find_deleted_here(tree: SourceTree) -> list[str]:
    """Returns the sources whose sidecar git has and the work tree has not, though the source is there."""
    if not tree.git:
        return []
    names = try_git(tree.root, "ls-files", "--deleted", "-z").out.decode("utf-8", "surrogateescape").split("\0")
    paths = (name.removesuffix(SUFFIX) for name in dict.fromkeys(names) if name.endswith(SUFFIX))
    return [path for path in paths if tree.stat(path)]


def find_taken_by_git(
    tree: SourceTree, wanted: Mapping[str, Collection[str]], timeout: float = TIMEOUT
) -> dict[str, set[str]]:
    """Returns those of some ids, by file, that git took out: a commit has them, and the last one has not."""
    unknown = {path: set(names) for path, names in wanted.items()}
    heads = {f"HEAD:{path}{SUFFIX}": path for path in wanted}
    for name, text in iterate_objects(tree.root, heads):
        unknown[heads[name]] = {each for each in unknown[heads[name]] if each.encode() not in text}
    taken: dict[str, set[str]] = {}
    for part in _split([path for path, names in unknown.items() if names]):
        for path, blobs in _list_blobs(tree, part, timeout).items():
            for _, text in iterate_objects(tree.root, blobs, most=MOST_READ):
                found = {each for each in unknown[path] if each.encode() in text}
                taken.setdefault(path, set()).update(found)
                unknown[path] -= found
                if not unknown[path]:
                    break
    return taken


def _split(paths: Sequence[str]) -> Iterator[Sequence[str]]:
    for at in range(0, len(paths), ASKED_TOGETHER):
        yield paths[at : at + ASKED_TOGETHER]


def _list_states(tree: SourceTree, paths: Sequence[str], timeout: float) -> Iterator[tuple[str, str]]:
    """Yields what git's index says of sidecars that it has: `S` is one that a sparse checkout leaves out."""
    names = (path + SUFFIX for path in paths)
    out = try_git(tree.root, "ls-files", "-t", "-z", "--", *names, timeout=timeout).out
    for row in out.decode("utf-8", "surrogateescape").split("\0"):
        if row:
            yield row[0], row[2:]


def _list_committed(tree: SourceTree, paths: Sequence[str], timeout: float) -> list[str]:
    """Returns those of some sidecars that the last commit has."""
    names = (path + SUFFIX for path in paths)
    asked = ("ls-tree", "-r", "-z", "--name-only", "--full-tree", "HEAD", "--", *names)
    return try_git(tree.root, *asked, timeout=timeout).out.decode("utf-8", "surrogateescape").split("\0")


def _list_blobs(tree: SourceTree, paths: Sequence[str], timeout: float) -> dict[str, list[str]]:
    """Returns the versions of sidecars that commits made, newest first: of any branch, and of those that are gone.

    A stash is a merge, and what it holds of files that git does not know is in its third parent.
    """
    shape = ("--all", "--reflog", "--full-history", "-m", "--raw", "--no-abbrev", "--no-renames", "-z", "--format=")
    most = f"--max-count={MOST_COMMITS * len(paths)}"
    names = (path + SUFFIX for path in paths)
    words = run_git(tree.root, "log", *shape, most, "--", *names, timeout=timeout).split(b"\0")
    found: dict[str, dict[str, None]] = {path: {} for path in paths}
    for about, name in pairwise(words):
        if about.lstrip(b"\n").startswith(b":"):
            path = name.decode("utf-8", "surrogateescape").removesuffix(SUFFIX)
            for blob in (each.decode() for each in about.split()[2:4]):
                if blob.strip("0") and path in found:
                    found[path].setdefault(blob)
    return {path: list(blobs) for path, blobs in found.items()}
