"""Which file a new one may have been before: what it was called, so that its lines are not taken for another's."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePosixPath

from postil.comments.source_tree import SourceTree
from postil.workspace.failures import GitTimedOut, GitTooLarge
from postil.workspace.git import try_git

MOST_NAMES = 6
"""Files of the same name that are asked, those whose folders are called alike first."""
MOST_PAIRS = 300
"""Of so many deleted and so many new files git compares each with each."""
PATIENCE = 10.0


def find_former_names(tree: SourceTree, commit: str, paths: Iterable[str]) -> dict[str, list[str]]:
    """Returns for files that were not there at a commit the ones that they may have been then.

    They are what git takes for renamed, and files that had the same name: one whose content went elsewhere may have
    stayed, with a line that leads there.
    """
    wanted = set(paths)
    if not wanted:
        return {}
    found: dict[str, list[str]] = {path: [] for path in wanted}
    renamed = _ask(tree, "diff", "--raw", "-z", "-M", f"-l{MOST_PAIRS}", "--diff-filter=R", commit, "--", ".")
    for before, after in zip(renamed[1::3], renamed[2::3], strict=False):
        if after in wanted:
            found[after].append(before)
    by_name: dict[str, list[str]] = {}
    names = {PurePosixPath(path).name for path in wanted}
    for path in _ask(tree, "ls-tree", "-r", "-z", "--name-only", "--full-tree", commit):
        if (name := path.rpartition("/")[2]) in names:
            by_name.setdefault(name, []).append(path)
    for path, former in found.items():
        same = [each for each in by_name.get(PurePosixPath(path).name, ()) if each not in former]
        former += sorted(same, key=lambda each: -_count_alike(each, path))[:MOST_NAMES]
    return found


def _ask(tree: SourceTree, *arguments: str) -> list[str]:
    try:
        said = try_git(tree.root, *arguments, timeout=PATIENCE).out
    except (GitTimedOut, GitTooLarge):
        return []  # then nothing is known of it, as of a file that is new
    return said.decode("utf-8", "surrogateescape").split("\0")


def _count_alike(one: str, other: str) -> int:
    """Returns how many folders above a file are called as those above the other."""
    return len({*PurePosixPath(one).parts} & {*PurePosixPath(other).parts})
