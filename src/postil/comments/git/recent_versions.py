"""What the last commits made of some files, asked of git once for all of them.

A version is known by the id of its content. From one to another goes a way through the commits; of a merge that took a
file as one side had it there is no step. Only the last commits are asked, for a few seconds: who gets no way knows
nothing.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import groupby
from typing import NamedTuple

from postil.comments.source_tree import SourceTree
from postil.workspace.failures import GitTimedOut, GitTooLarge
from postil.workspace.git import try_git

MOST_COMMITS = 1000
MOST_NAMED = 500
"""Files that git is asked about by their names; of more it tells all that changed."""
PATIENCE = 5.0
"""Seconds for all questions."""


class Step(NamedTuple):
    """A commit, by its number, that made a version of a file of another one; empty where there was or is none."""

    number: int
    old: str
    new: str


class FileChange(NamedTuple):
    """A file that a commit changed, with its old and new version."""

    commit: str
    name: str
    old: str
    new: str
    became: str
    """The name that it was given, or that its copy has; nothing where it has none."""
    alike: int
    """How much of 100 the renamed file or the copy is like it."""


class RecentVersions:
    """The last commits of a repository, and the steps of files in them."""

    def __init__(self, tree: SourceTree) -> None:
        self.tree = tree
        self._left = PATIENCE
        self._expected: set[str] = set()
        self._steps: dict[str, list[Step]] = {}

    @cached_property
    def _parents(self) -> list[list[str]]:
        """The last commits, newest first, each with those that it was made of."""
        said = self.ask("rev-list", "--parents", f"--max-count={MOST_COMMITS}", "HEAD", "--") if self.tree.git else ""
        return [row.split() for row in said.split("\n") if row]

    @cached_property
    def commits(self) -> list[str]:
        """The last commits, newest first."""
        return [row[0] for row in self._parents]

    def expect(self, names: Iterable[str]) -> None:
        """Ask about some files as well, when one is asked about."""
        self._expected.update(names)

    def list_steps(self, names: Collection[str]) -> dict[str, list[Step]]:
        """Returns what commits made of those of some files that they changed, newest first."""
        self._expected.update(names)
        asked = sorted(self._expected.difference(self._steps))
        self._expected.clear()
        if asked and self.commits:
            self._steps |= {name: [] for name in asked}
            for name, step in self._compare(asked if len(asked) <= MOST_NAMED else ()):
                if name in self._steps:
                    self._steps[name].append(step)
        return {name: steps for name in names if (steps := self._steps.get(name))}

    def list_between(self, name: str, blob: str, now: str) -> list[tuple[str, str]]:
        """Returns the commits that made versions of a file after one and before that of now, with these, oldest first.

        A commit that deleted the file made an empty one. Nothing where no way is known.
        """
        steps = self.list_steps([name]).get(name, ())
        if not steps or now == blob:
            return []
        end = now if any(now in (step.old, step.new) for step in steps) else steps[0].new
        made: dict[str, Step | None] = {end: None}
        for step in steps:
            if blob in made:
                break
            if step.new in made:
                made.setdefault(step.old, step)
        found: list[tuple[str, str]] = []
        while (step := made.get(blob)) is not None:
            blob = step.new
            if blob != now:
                found.append((self.commits[step.number], blob))
        return found

    def _compare(self, names: Sequence[str]) -> Iterator[tuple[str, Step]]:
        rows = ([row] if len(row) <= 2 else [[row[0], parent] for parent in row[1:]] for row in self._parents)
        pairs = "".join(f"{' '.join(pair)}\n" for some in rows for pair in some)
        said = self.ask("diff-tree", "--stdin", "-r", "-z", "--raw", "--no-renames", "--", *names, given=pairs)
        numbers = {commit: number for number, commit in enumerate(self.commits)}
        for commit, changes in groupby(read_changes(said), lambda each: each.commit):
            number = numbers[commit]
            by_name: dict[str, list[Step]] = {}
            for each in changes:
                by_name.setdefault(each.name, []).append(Step(number, each.old, each.new))
            for name, steps in by_name.items():
                if len(steps) >= len(self._parents[number]) - 1:  # else one of those that were joined had it so
                    yield from ((name, step) for step in steps)

    def ask(self, *arguments: str, given: str = "") -> str:
        """Returns what git says; nothing where it failed, or took longer than there is time."""
        if self._left <= 0:
            return ""
        began = time.monotonic()
        try:
            done = try_git(self.tree.root, *arguments, input=given.encode(), timeout=self._left)
        except (GitTimedOut, GitTooLarge):
            return ""
        finally:
            self._left -= time.monotonic() - began
        return done.out.decode("utf-8", "surrogateescape") if done.status == 0 else ""


def read_changes(said: str) -> Iterator[FileChange]:
    """Yields what `diff-tree --stdin -z --raw` says of commits."""
    commit = ""
    fields = iter(said.split("\0"))
    for field in fields:
        if not field.startswith(":"):
            commit = field
            continue
        _, _, old, new, kind = field.split(" ")
        name = next(fields, "")
        became = next(fields, "") if kind[:1] in ("R", "C") else ""
        old, new = (blob if blob.strip("0") else "" for blob in (old, new))
        yield FileChange(commit, name, old, new, became, int(kind[1:] or 0) if became else 0)
