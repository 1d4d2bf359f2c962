"""Measuring the anchoring engine on this repository's own history.

The truth is git's blame: a line that no commit since then has touched is the same line, wherever it is now. That says
nothing of lines that were edited; it shows how the engine fares on this code. Reads git and nothing else.
"""

from __future__ import annotations

import time
from collections import Counter

from postil.anchor.model import Source as Version
from postil.anchor.model import Span
from postil.anchor.relocate import relocate_all
from postil.comments.git.blame import read_at
from postil.comments.source_tree import SourceTree, decode
from postil.core import call, limits
from postil.core.answer import Answer
from postil.core.failure import NotFound
from postil.workspace.git import run_git, try_git

LINES_A_FILE = 40


class Measured(Answer, frozen=True):
    """How many lines were found again, and how long it took."""

    commits: int
    files: int
    lines: int
    right: int
    wrong: int
    review: int
    orphaned: int
    milliseconds: float
    """For each line, parsing included."""
    changed: int = 0
    """Files of now that these commits changed; of some no line may be as it was."""

    def for_model(self) -> str:
        if not self.lines:
            return self._tell_nothing()

        def share(count: int) -> str:
            return f"{100 * count / max(self.lines, 1):.1f} %"

        return (
            f"{self.lines} unchanged lines of {self.files} files, {self.commits} commits ago until now:\n"
            f"  right     {share(self.right)}\n  wrong     {share(self.wrong)}\n  review    {share(self.review)}\n"
            f"  orphaned  {share(self.orphaned)}\n  {self.milliseconds:.2f} ms a line"
        )

    def _tell_nothing(self) -> str:
        these = f"The last {self.commits} commits" if self.commits > 1 else "The last commit"
        if not self.changed:
            return f"{these} changed no file that there was before: there is nothing to measure."
        files, them = ("1 file", "it") if self.changed == 1 else (f"{self.changed} files", "them")
        return (
            f"{these} changed {files}, and no line of {them} is as it was: there is nothing to measure. Look further "
            "back, or less far."
        )


def follow_lines(tree: SourceTree, path: str, then: str, lines: list[int]) -> list[tuple[str, int]]:
    """Returns what became of some lines of a commit until now: the state of each, and where it is."""
    old, new = (decode(read_at(tree, commit, path) or b"") for commit in (then, "HEAD"))
    found = relocate_all(Version(old, path), Version(new, path), [Span(line) for line in lines])
    return [(each.state, each.span.start if each.span else 0) for each in found]


def _follow_apart(tree: SourceTree, path: str, then: str, lines: list[int]) -> list[tuple[str, int]]:
    """Returns the same of a large file, which the server does not compare itself; nothing where that takes too much."""
    from postil.comments.git.past_worker import TakesTooLong, ask_past

    try:
        return ask_past(tree, "lines", path, (then, lines), list[tuple[str, int]])
    except TakesTooLong:
        return []


def measure(tree: SourceTree, commits: int, most_files: int) -> Measured:
    """Follow lines from some commits ago to now."""
    then, commits = _find_commit(tree, commits)
    changed = run_git(
        tree.root, "diff", "--name-only", "--diff-filter=M", "--no-renames", "-z", then, "HEAD", "--", "."
    )
    paths = [path for path in changed.decode("utf-8", "surrogateescape").split("\0") if path][:most_files]
    count: Counter[str] = Counter()
    spent = 0.0
    files = 0
    for number, path in enumerate(paths):
        call.current().check()
        call.current().progress(number, len(paths), path)
        old, new = read_at(tree, then, path), read_at(tree, "HEAD", path)
        if old is None or new is None or b"\0" in old[:8000]:
            continue
        truth = _find_kept_lines(tree, then, path, old, new)
        if not truth:
            continue
        files += 1
        step = max(1, len(truth) // LINES_A_FILE)
        wanted = sorted(truth)[::step]
        began = time.perf_counter()
        large = max(len(old), len(new)) > limits.HERE
        found = _follow_apart(tree, path, then, wanted) if large else follow_lines(tree, path, then, wanted)
        spent += time.perf_counter() - began
        for line, (state, start) in zip(wanted, found, strict=bool(found)):
            if state in ("review", "orphaned"):
                count[state] += 1
            else:
                count["right" if start == truth[line] else "wrong"] += 1
    total = sum(count.values())
    right, wrong, review, orphaned = (count[kind] for kind in ("right", "wrong", "review", "orphaned"))
    each = round(1000 * spent / max(total, 1), 3)
    return Measured(commits, files, total, right, wrong, review, orphaned, each, len(paths))


def _find_commit(tree: SourceTree, commits: int) -> tuple[str, int]:
    """Returns the commit so many ago, or the first one, and how many ago that is."""
    listed = try_git(tree.root, "rev-list", f"--max-count={commits + 1}", "--first-parent", "HEAD")
    names = listed.out.decode().split()
    if listed.status != 0 or len(names) < 2:
        raise NotFound("There is no history to measure on", advice="Run it in a repository with some commits")
    return names[-1], len(names) - 1


def _find_kept_lines(tree: SourceTree, then: str, path: str, old: bytes, new: bytes) -> dict[int, int]:
    """Returns the new line of each old one, of lines that no commit since `then` has touched.

    Where a file got other ends of lines, git takes all of them for changed: those that are the same else were not.
    """
    has_other_ends = (b"\r\n" in old) != (b"\r\n" in new)
    done = try_git(tree.root, "blame", "--porcelain", *(("-w",) if has_other_ends else ()), f"{then}..HEAD", "--", path)
    found: dict[int, int] = {}
    boundary = ""
    for row in done.out.split(b"\n"):
        words = row.split()
        if row.startswith(b"\t") or not words:
            continue
        if len(words[0]) in (40, 64) and len(words) in (3, 4):
            boundary = words[0].decode()
            if boundary == then:
                found[int(words[1])] = int(words[2])
    if not has_other_ends:
        return found
    before, now = ([line.rstrip(b"\r") for line in text.split(b"\n")] for text in (old, new))
    return {was: line for was, line in found.items() if before[was - 1 : was] == now[line - 1 : line]}
