"""Comments and whole sidecars that are gone: whether git took them out, which is not told, or another program did.

git took a sidecar out when its index does not have it while the last commit has (`git rm`), when a sparse checkout
leaves it out, or when the comments are in commits of other branches or earlier ones. Whoever deleted the source as well
meant both. A file in a submodule is asked for in that. Not here: what our own log says of them (`storage/erased.py`).
"""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from shlex import quote
from typing import NamedTuple

from postil.comments.failures import FileAccessDenied
from postil.comments.git.objects import iterate_objects
from postil.comments.git.submodules import has_own_git
from postil.comments.source_tree import SourceTree
from postil.core.failure import Failure
from postil.workspace.disk import read_regular
from postil.workspace.failures import GitMissing, GitTimedOut
from postil.workspace.git import TIMEOUT, ask_git, list_rows, read_blob, run_git, try_git

SUFFIX = ".comments"
MOST_READ = 32 << 20
"""Bytes of committed versions in which is looked for comments, the newest first."""
MOST_COMMITS = 500
ASKED_TOGETHER = 200
LARGEST_INDEX = 16 << 20
"""Bytes of an index that is read; of a larger one git is asked."""


class Home(NamedTuple):
    """The repository that files are in: the workspace's own, or one in a folder of it."""

    folder: str
    root: str

    def inside(self, path: str) -> str:
        """Returns the path in the repository of a file of the workspace."""
        return path.removeprefix(f"{self.folder}/") if self.folder else path

    def outside(self, inside: str) -> str:
        """Returns the path in the workspace of a file of the repository."""
        return f"{self.folder}/{inside}" if self.folder else inside


def find_home(tree: SourceTree, path: str) -> Home:
    """Returns the repository that a file is in."""
    folder = os.path.dirname(path)
    while folder:
        inner = os.path.join(tree.root, folder)
        if os.path.lexists(os.path.join(inner, ".git")):
            return Home(folder, inner)
        folder = os.path.dirname(folder)
    return Home("", tree.root)


def read_committed(tree: SourceTree, path: str) -> bytes | None:
    """Returns the sidecar of a file as the last commit has it."""
    home = find_home(tree, path)
    if home.folder and not _can_be_asked(tree, home):
        return None
    return read_blob(home.root, f"HEAD:{home.inside(path)}{SUFFIX}")


class Staged(NamedTuple):
    """A file as git's index has it; of a merge that is not concluded what both sides have, and had before."""

    whole: bytes | None = None
    ours: bytes | None = None
    theirs: bytes | None = None
    base: bytes | None = None


def read_staged(tree: SourceTree, path: str) -> Staged:
    """Returns the sidecar of a file as git's index has it. That a sparse checkout leaves it out, others say.

    Raises a Failure where git does not say what it has.
    """
    if not tree.git:
        return Staged()
    home = find_home(tree, path)
    name = home.inside(path) + SUFFIX
    if not (_can_be_asked(tree, home) if home.folder else _may_be_staged(tree, name)):
        return Staged()
    rows = run_git(home.root, "ls-files", "-s", "-z", "--", name).split(b"\0")
    blobs = {int(words[2]): words[1].decode() for row in rows if len(words := row.partition(b"\t")[0].split()) == 3}
    return Staged(*(_read_staged(home, name, blobs[stage]) if stage in blobs else None for stage in (0, 2, 3, 1)))


def _read_staged(home: Home, name: str, blob: str) -> bytes:
    content = read_blob(home.root, blob)
    if content is None:
        raise FileAccessDenied(
            home.outside(name),
            "git holds it, and its content cannot be read",
            f"`git checkout -- {quote(name)}` brings it back, or says why not; "
            f"`git rm --cached -- {quote(name)}` gives its comments up",
        )
    return content


def _may_be_staged(tree: SourceTree, name: str) -> bool:
    """Returns whether the index may have a file, by its bytes: an import into thousands of files starts no git.

    Version 4 does not spell names out, and a split index has them in another file (its extension is `link`).
    """
    path = os.path.join(tree.git_dir, "index")
    index = read_regular(path, LARGEST_INDEX)
    if index is None or int.from_bytes(index[4:8], "big") > 3 or b"link\0\0" in index:
        return os.path.exists(path)
    return name.encode("utf-8", "surrogateescape") in index


def find_commit_time(tree: SourceTree, path: str) -> str:
    """Returns when the sidecar of a file was last committed, as sidecars write it; empty where it never was.

    Raises a Failure where git does not say it.
    """
    home = find_home(tree, path)
    if not _has_commits(home):
        return ""
    said = run_git(home.root, "log", "-1", "--format=%ct", "HEAD", "--", home.inside(path) + SUFFIX).strip()
    return time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(int(said))) if said.isdigit() else ""


def find_vanished(tree: SourceTree, paths: Sequence[str], timeout: float = TIMEOUT) -> set[str]:
    """Returns those of some files without a sidecar from which git did not take it. Raises GitTimedOut."""
    here = [path for path in paths if tree.stat(path)]
    if not tree.git or not here:
        return set(here)
    return {
        home.outside(path)
        for home, some in _group(tree, here)
        for path in _find_vanished(home, [home.inside(path) for path in some], timeout)
    }


def _find_vanished(home: Home, here: Sequence[str], timeout: float) -> set[str]:
    states = {name: state for part in split(here) for state, name in _list_states(home, part, timeout)}
    unknown = [path for path in here if path + SUFFIX not in states]
    committed = {name for part in split(unknown) for name in _list_committed(home, part, timeout)}
    return {path for path in here if states.get(path + SUFFIX, "H") != "S" and path + SUFFIX not in committed}


def _group(tree: SourceTree, paths: Collection[str]) -> Iterator[tuple[Home, list[str]]]:
    """Yields files by the repository they are in, but for those of one in which git cannot be asked."""
    folders: dict[str, Home] = {}
    homes: dict[Home, list[str]] = {}
    for path in paths:
        folder = os.path.dirname(path)
        home = folders.get(folder) or folders.setdefault(folder, find_home(tree, path))
        homes.setdefault(home, []).append(path)
    for home, some in homes.items():
        if not home.folder or _can_be_asked(tree, home):
            yield home, some


def _can_be_asked(tree: SourceTree, home: Home) -> bool:
    try:
        return has_own_git(tree.root, home.folder) and try_git(home.root, "rev-parse", "--git-dir").status == 0
    except (GitTimedOut, GitMissing):
        raise
    except Failure:
        return False


def find_deleted_here(tree: SourceTree, timeout: float = TIMEOUT) -> list[str]:
    """Returns the sources whose sidecar git has and the work tree has not, though the source is there.

    Raises GitTimedOut.
    """
    if not tree.git or not _may_be_staged(tree, SUFFIX):
        return []
    out = run_git(tree.root, "ls-files", "--deleted", "-z", timeout=timeout)
    paths = dict.fromkeys(name.removesuffix(SUFFIX) for name in list_rows(out) if name.endswith(SUFFIX))
    return [path for path in paths if tree.stat(path)]


def find_taken_by_git(
    tree: SourceTree, wanted: Mapping[str, Collection[str]], timeout: float = TIMEOUT
) -> dict[str, set[str]]:
    """Returns those of some ids, by file, that git took out: a commit has them, and the last one has not."""
    taken: dict[str, set[str]] = {}
    for home, paths in _group(tree, wanted):
        found = _find_taken(home, {home.inside(path): set(wanted[path]) for path in paths}, timeout)
        taken |= {home.outside(path): names for path, names in found.items()}
    return taken


def _find_taken(home: Home, unknown: dict[str, set[str]], timeout: float) -> dict[str, set[str]]:
    committed = _find_held(home, "HEAD", unknown)
    unknown = {path: names - committed[path] for path, names in unknown.items()}
    taken = _find_merged_away(home, committed, timeout) if any(committed.values()) else {}
    for part in split([path for path, names in unknown.items() if names]):
        for path, blobs in _list_blobs(home, part, timeout).items():
            for _, text in iterate_objects(home.root, blobs, most=MOST_READ):
                found = {each for each in unknown[path] if each.encode() in text}
                taken.setdefault(path, set()).update(found)
                unknown[path] -= found
                if not unknown[path]:
                    break
    return taken


def _find_held(home: Home, commit: str, wanted: Mapping[str, Collection[str]]) -> dict[str, set[str]]:
    """Returns those of some ids, by file, that a commit has."""
    held = {path: set[str]() for path in wanted}
    heads = {f"{commit}:{path}{SUFFIX}": path for path in wanted}
    for name, text in iterate_objects(home.root, heads):
        held[heads[name]] = {each for each in wanted[heads[name]] if each.encode() in text}
    return held


def _find_merged_away(home: Home, wanted: Mapping[str, set[str]], timeout: float) -> dict[str, set[str]]:
    """Returns those of some ids, by file, that the other side of an unfinished merge deleted since both parted."""
    if ask_git(home.root, "rev-parse", "--verify", "--quiet", "MERGE_HEAD", timeout=timeout) is None:
        return {}
    base = try_git(home.root, "merge-base", "HEAD", "MERGE_HEAD").out.decode().strip()
    before = _find_held(home, base, wanted) if base else {}
    other = _find_held(home, "MERGE_HEAD", before)
    return {path: names - other[path] for path, names in before.items()}


def split(paths: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yields as many files as git is asked of together."""
    for at in range(0, len(paths), ASKED_TOGETHER):
        yield paths[at : at + ASKED_TOGETHER]


def _list_states(home: Home, paths: Sequence[str], timeout: float) -> Iterator[tuple[str, str]]:
    """Yields what git's index says of sidecars that it has: `S` is one that a sparse checkout leaves out."""
    names = (path + SUFFIX for path in paths)
    out = run_git(home.root, "ls-files", "-t", "-z", "--", *names, timeout=timeout)
    for row in list_rows(out):
        yield row[0], row[2:]


def _list_committed(home: Home, paths: Sequence[str], timeout: float) -> list[str]:
    """Returns those of some sidecars that the last commit has."""
    if not paths or not _has_commits(home, timeout):
        return []
    names = (path + SUFFIX for path in paths)
    asked = ("ls-tree", "-r", "-z", "--name-only", "--full-tree", "HEAD", "--", *names)
    return run_git(home.root, *asked, timeout=timeout).decode("utf-8", "surrogateescape").split("\0")


def _has_commits(home: Home, timeout: float = TIMEOUT) -> bool:
    return ask_git(home.root, "rev-parse", "--verify", "--quiet", "HEAD", timeout=timeout) is not None


def _list_blobs(home: Home, paths: Sequence[str], timeout: float) -> dict[str, list[str]]:
    """Returns the versions of sidecars that commits made, newest first: of any branch, and of those that are gone.

    A stash is a merge, and what it holds of files that git does not know is in its third parent.
    """
    shape = ("--all", "--reflog", "--full-history", "-m", "--raw", "--no-abbrev", "--no-renames", "-z", "--format=")
    most = f"--max-count={MOST_COMMITS * len(paths)}"
    names = (path + SUFFIX for path in paths)
    words = run_git(home.root, "log", *shape, most, "--", *names, timeout=timeout).split(b"\0")
    found: dict[str, dict[str, None]] = {path: {} for path in paths}
    for about, name in pairwise(words):
        if about.lstrip(b"\n").startswith(b":"):
            path = name.decode("utf-8", "surrogateescape").removesuffix(SUFFIX)
            for blob in (each.decode() for each in about.split()[2:4]):
                if blob.strip("0") and path in found:
                    found[path].setdefault(blob)
    return {path: list(blobs) for path, blobs in found.items()}
