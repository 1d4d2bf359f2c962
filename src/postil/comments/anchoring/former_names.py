"""Which file a new one may have been before: what it was called, so that its lines are not taken for another's."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePosixPath

from postil.comments.source_tree import SourceTree
from postil.workspace.failures import GitTimedOut, GitTooLarge
from postil.workspace.git import list_rows, try_git

MOST_NAMES = 6
"""Files of the same name that are asked, those whose folders are called alike first."""
MOST_ALIKE = 2000
"""Files of the same name that are looked at: a commit may have a million of them."""
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
    renamed = list_rows(
        _ask(tree, "diff", "--raw", "-z", "-M", f"-l{MOST_PAIRS}", "--diff-filter=R", commit, "--", ".")
    )
    for _, before, after in zip(renamed, renamed, renamed, strict=False):
        if after in wanted:
            found[after].append(before)
    by_name: dict[str, list[str]] = {}
    names = {PurePosixPath(path).name for path in wanted}
    for path in list_rows(_ask(tree, "ls-tree", "-r", "-z", "--name-only", "--full-tree", commit)):
        name = path.rpartition("/")[2]
        if name in names and len(alike := by_name.setdefault(name, [])) < MOST_ALIKE:
            alike.append(path)
    for path, former in found.items():
        same = [each for each in by_name.get(PurePosixPath(path).name, ()) if each not in former]
        former += sorted(same, key=lambda each: -_count_alike(each, path))[:MOST_NAMES]
    return found


def _ask(tree: SourceTree, *arguments: str) -> bytes:
    try:
        return try_git(tree.root, *arguments, timeout=PATIENCE).out
    except (GitTimedOut, GitTooLarge):
        return b""  # then nothing is known of it, as of a file that is new


def _count_alike(one: str, other: str) -> int:
    """Returns how many folders above a file are called as those above the other."""
    return len({*PurePosixPath(one).parts} & {*PurePosixPath(other).parts})
