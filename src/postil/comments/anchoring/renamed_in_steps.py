"""What files are called now that were edited and renamed one after the other, so that nothing is left to compare.

So are those whose name another file was given since.

The commit in which a name went says what the file became there, whatever it held before and after. git is asked a few
times for all files together, and never goes further back than a number of commits.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import islice
from typing import TypeVar

from postil.comments.anchoring.former_names import MOST_PAIRS
from postil.comments.git.recent_versions import RecentVersions, Step, read_changes
from postil.comments.source_tree import SourceTree

MOST_NAMES = 20
"""A file that was renamed more often is not followed further."""
MOST_FOLLOWED = 500
"""Files that are followed together."""
ALIKE = 0.8
"""Where another file is like an old one by this share of what the likest is, nobody can tell which it became."""


_Asked = TypeVar("_Asked", str, tuple[str, str])


def follow_renames(tree: SourceTree, gone: Collection[str]) -> dict[str, str]:
    """Returns for files that are gone what the last commit called them, or the one in which they went."""
    asking = _Asking(RecentVersions(tree))
    commits = asking.recent.commits if gone else ()
    now = {path: path for path in islice(gone, MOST_FOLLOWED)}
    return _follow(tree, asking, commits, now, dict.fromkeys(now, len(commits)))


def follow_versions(
    tree: SourceTree, known: Mapping[str, Collection[str]], recent: RecentVersions
) -> dict[tuple[str, str], str]:
    """Returns for versions of files, by blob id, that were renamed after they were made what they are called now.

    `known` are files that are there, of which others may have the names now, with the versions that are asked for.
    """
    if not known:
        return {}
    asking, commits = _Asking(recent), recent.commits
    went: dict[tuple[str, str], int] = {}
    for path, steps in recent.list_steps(known).items():
        for blob in known[path]:
            if (at := _find_deletion(steps, blob)) is not None:
                went[path, blob] = at
    became = asking.find_renames(commits, set(went.values()))
    now = {asked: became[at, asked[0]] for asked, at in went.items() if (at, asked[0]) in became}
    found = _follow(tree, asking, commits, now, {asked: went[asked] for asked in now})
    return {asked: name for asked, name in found.items() if name != asked[0]}


def _find_deletion(steps: Sequence[Step], blob: str) -> int | None:
    """Returns the commit, by its number, that deleted a file first after it was a version; None where none did."""
    found: int | None = None
    for step in steps:
        if step.new == blob:
            return found
        if not step.new:
            found = step.number
        if step.old == blob:
            return found
    return None  # it was never committed, or longer ago than is looked


def _follow(
    tree: SourceTree, asking: _Asking, commits: Sequence[str], now: dict[_Asked, str], before: dict[_Asked, int]
) -> dict[_Asked, str]:
    """Returns what is called so now after further renames.

    `before`: of the commits, newest first, those that a file's next rename is looked for in.
    """
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

    def __init__(self, recent: RecentVersions) -> None:
        self.recent = recent

    def find_deletions(self, commits: Sequence[str], names: Collection[str]) -> dict[str, int]:
        """Returns for each name the newest commit in which it went, by its number."""
        said = self._compare(commits, "--no-renames", "--diff-filter=D", "--", *names) if names else ""
        numbers = {commit: number for number, commit in enumerate(commits)}
        found: dict[str, int] = {}
        for each in read_changes(said):
            found.setdefault(each.name, numbers[each.commit])
        return found

    def find_renames(self, commits: Sequence[str], numbers: Collection[int]) -> dict[tuple[int, str], str]:
        """Returns what names became in some commits; nothing of a name that two files are about as much like."""
        named = {commits[number]: number for number in numbers}
        said = self._compare(named, "-C", f"-l{MOST_PAIRS}", "--diff-filter=RC") if named else ""
        became: dict[tuple[int, str], list[tuple[int, str]]] = {}
        for each in read_changes(said):
            became.setdefault((named[each.commit], each.name), []).append((each.alike, each.became))
        ranked = {old: sorted(some, reverse=True) for old, some in became.items()}
        return {old: some[0][1] for old, some in ranked.items() if len(some) == 1 or some[1][0] < ALIKE * some[0][0]}

    def _compare(self, commits: Iterable[str], *how: str) -> str:
        given = "".join(f"{each}\n" for each in commits)
        return self.recent.ask("diff-tree", "--stdin", "-r", "-z", "--raw", *how, given=given)
