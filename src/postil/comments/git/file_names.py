"""What a file is called at a commit that does not have it under the name we know. Reads git.

Names are followed commit by commit: a file that was renamed and edited again and again may have nothing left to compare
with what it was.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from postil.workspace.failures import GitTimedOut, GitTooLarge
from postil.workspace.git import list_rows, try_git

MOST_RENAMES = 200
"""A file that was renamed more often than that is not followed further."""
MOST_COMMITS = 10_000
MOST_STEPS = 100_000
"""Files that came, went or were renamed in those commits."""
MOST_PAIRS = 300
"""Of so many deleted and so many new files git compares each with each."""
PATIENCE = 8.0
"""Seconds for all names."""


def list_old_names(root: str, commit: str) -> dict[str, str]:
    """Returns what files of the working tree were called at a commit, for those that were renamed since."""
    if try_git(root, "cat-file", "-e", f"{commit}^{{commit}}").status != 0:
        return {}
    at_once = {new: old for old, new in _list_renames(root, commit)}
    return at_once | _follow_back(root, commit)


def _follow_back(root: str, commit: str) -> dict[str, str]:
    """Returns the same, followed through every commit since, and on to where the commit's own branch went."""
    now: dict[str, str] = {}
    """By their names then, what files are called now; nothing where they are gone, or were made since."""
    for old, new in [*_list_renames(root, "HEAD"), *islice(_list_steps(root, f"{commit}..HEAD"), MOST_STEPS)]:
        there = now.get(new, new) if new else ""
        now[new or old] = ""
        if old:
            now[old] = there
    aside = {
        old: new for old, new in reversed([*islice(_list_steps(root, f"HEAD..{commit}"), MOST_STEPS)]) if old and new
    }
    found: dict[str, str] = {}
    for old, new in now.items():
        name = old
        for _ in range(MOST_RENAMES):
            if name not in aside:
                break
            name = aside[name]
        if new and new != name:
            found[new] = name
    return found


def _list_steps(root: str, commits: str) -> Iterator[tuple[str, str]]:
    """Yields old and new names, newest first; no old one of what was made, and no new one of what was deleted."""
    shape = ("--format=", "--name-status", "-z", "-M", f"-l{MOST_PAIRS}", "--diff-filter=RAD", "--topo-order")
    try:
        done = try_git(root, "log", *shape, f"--max-count={MOST_COMMITS}", commits, "--", timeout=PATIENCE)
    except (GitTimedOut, GitTooLarge):
        return  # then the names are known that git finds in one step
    fields = list_rows(done.out if done.status == 0 else b"")
    for field in fields:
        kind = field.strip("\n")
        name = next(fields, "") if kind else ""
        if kind.startswith("R"):
            yield name, next(fields, "")
        elif kind:
            yield ("", name) if kind == "A" else (name, "")


def find_new_name(root: str, path: str, commit: str) -> str:
    """Returns what a file that was renamed at or before a commit is called there; empty when it is not known."""
    for _ in range(MOST_RENAMES):
        gone = try_git(root, "log", "-1", "--format=%H", "--diff-filter=D", "--no-renames", commit, "--", path)
        at = gone.out.decode().strip()
        new = dict(_list_renames(root, f"{at}^", at)).get(path, "") if gone.status == 0 and at else ""
        if not new or try_git(root, "cat-file", "-e", f"{commit}:{new}").status == 0:
            return new
        path = new
    return ""


def _list_renames(root: str, *between: str) -> list[tuple[str, str]]:
    """Returns old and new names between two commits, or a commit and the working tree."""
    done = try_git(root, "diff", "--name-status", "-M", "-z", "--diff-filter=R", *between, "--")
    fields = list_rows(done.out if done.status == 0 else b"")
    return [(old, new) for _, old, new in zip(fields, fields, fields, strict=False)]
