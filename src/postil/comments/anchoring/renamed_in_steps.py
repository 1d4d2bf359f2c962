"""What files are called now that were edited and renamed one after the other, so that nothing is left to compare.

The commit in which a name went says what the file became there, whatever it held before and after. git is asked a few
times for all files together, and never goes further back than a number of commits.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice

from postil.comments.anchoring.former_names import MOST_PAIRS
from postil.comments.source_tree import SourceTree
from postil.workspace.failures import GitTimedOut, GitTooLarge
from postil.workspace.git import try_git

MOST_COMMITS = 1000
MOST_NAMES = 20
"""A file that was renamed more often is not followed further."""
MOST_FOLLOWED = 500
"""Files that are followed together."""
PATIENCE = 5.0
"""Seconds for all of them."""
ALIKE = 0.8
"""Where another file is like an old one by this share of what the likest is, nobody can tell which it became."""


def follow_renames(tree: SourceTree, gone: Collection[str]) -> dict[str, str]:
    """Returns for files that are gone what the last commit called them, or the one in which they went."""
    asking = _Asking(tree)
    commits = asking.list_commits() if gone else ()
    now = {path: path for path in islice(gone, MOST_FOLLOWED)}
    before = dict.fromkeys(now, len(commits))
    """Of the commits, newest first, those that a file's next rename is looked for in."""
    for _ in range(MOST_NAMES if commits else 0):
        left = {path for path, name in now.items() if not tree.stat(name)}
        went = asking.find_deletions(commits, {now[path] for path in left})
        at = {path: newest for path in left if (newest := went.get(now[path], len(commits))) < before[path]}
        became = asking.find_renames(commits, set(at.values()))
        steps = {path: became[number, now[path]] for path, number in at.items() if (number, now[path]) in became}
        if not steps:
            break
        now |= steps
        before |= {path: at[path] for path in steps}
    return now


class _Asking:
    """Questions to git, which all together have a time."""

    def __init__(self, tree: SourceTree) -> None:
        self._tree = tree
        self._until = time.monotonic() + PATIENCE

    def list_commits(self) -> list[str]:
        """Returns the last commits, newest first."""
        return self._ask("rev-list", f"--max-count={MOST_COMMITS}", "HEAD", "--").split()

    def find_deletions(self, commits: Sequence[str], names: Collection[str]) -> dict[str, int]:
        """Returns for each name the newest commit in which it went, by its number."""
        said = self._compare(commits, "--no-renames", "--diff-filter=D", "--", *names) if names else ""
        numbers = {commit: number for number, commit in enumerate(commits)}
        found: dict[str, int] = {}
        for commit, name, *_ in _read_changes(said):
            found.setdefault(name, numbers[commit])
        return found

    def find_renames(self, commits: Sequence[str], numbers: Collection[int]) -> dict[tuple[int, str], str]:
        """Returns what names became in some commits; nothing of a name that two files are about as much like."""
        named = {commits[number]: number for number in numbers}
        said = self._compare(named, "-C", f"-l{MOST_PAIRS}", "--diff-filter=RC") if named else ""
        became: dict[tuple[int, str], list[tuple[int, str]]] = {}
        for commit, old, new, alike in _read_changes(said):
            became.setdefault((named[commit], old), []).append((alike, new))
        ranked = {old: sorted(some, reverse=True) for old, some in became.items()}
        return {old: some[0][1] for old, some in ranked.items() if len(some) == 1 or some[1][0] < ALIKE * some[0][0]}

    def _compare(self, commits: Iterable[str], *how: str) -> str:
        return self._ask("diff-tree", "--stdin", "-r", "-z", "--raw", *how, commits=commits)

    def _ask(self, *arguments: str, commits: Iterable[str] = ()) -> str:
        left = self._until - time.monotonic()
        if left <= 0:
            return ""
        try:
            done = try_git(
                self._tree.root, *arguments, input="".join(f"{each}\n" for each in commits).encode(), timeout=left
            )
        except (GitTimedOut, GitTooLarge):
            return ""  # then it is not known, as of a file that was deleted
        return done.out.decode("utf-8", "surrogateescape") if done.status == 0 else ""


def _read_changes(said: str) -> Iterator[tuple[str, str, str, int]]:
    """Yields commits with what changed in them: the old name, the new one or nothing, and how much they are alike."""
    commit = ""
    fields = iter(said.split("\0"))
    for field in fields:
        if not field.startswith(":"):
            commit = field
            continue
        kind, old = field.split(" ")[4], next(fields, "")
        is_named_anew = kind[:1] in ("R", "C")
        yield commit, old, next(fields, "") if is_named_anew else "", int(kind[1:]) if is_named_anew else 0
