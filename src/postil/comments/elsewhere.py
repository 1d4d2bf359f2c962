"""Which other files code may have gone to: those that hold the lines which are missing, and changed together with it.

One `git grep` for all missing lines at once, over tracked and untracked files; then the files with the most of them. A
file that was never touched together with the one the code left may hold a copy, but not the code that moved.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from postil.anchor.model import Source as Version
from postil.comments.ground import Ground
from postil.comments.model import Placed
from postil.comments.places import fingerprint_of
from postil.comments.store import SUFFIX
from postil.core.failure import Failure
from postil.workspace.git import try_git
from postil.workspace.paths import RelativePath

MOST_FILES = 5
SHORTEST_LINE = 8
MOST_LINES = 2000
MOST_COMMITS = 50


def other_files(ground: Ground, orphans: Iterable[Placed]) -> dict[str, list[Version]]:
    """For each file with orphans the other files that hold their lines, the likeliest first."""
    if not ground.git:
        return {}
    wanted: dict[str, set[str]] = {}
    for each in orphans:
        for line in _lines(each):
            wanted.setdefault(line, set()).add(each.filePath)
    if not wanted:
        return {}
    hits: dict[str, Counter[str]] = {}
    for path, line in _grep(ground, list(wanted)[:MOST_LINES]):
        for origin in wanted.get(line.strip(), ()):
            if path != origin and not path.endswith(SUFFIX):
                hits.setdefault(origin, Counter())[path] += 1
    texts: dict[str, Version | None] = {}
    uncommitted = _uncommitted(ground)
    found: dict[str, list[Version]] = {}
    for origin, count in hits.items():
        together = _changed_with(ground, origin)
        if origin in uncommitted:
            together |= uncommitted
        likely = [path for path, _ in count.most_common() if path in together][:MOST_FILES]
        found[origin] = [it for path in likely if (it := texts.setdefault(path, _version(ground, path)))]
    return found


def _uncommitted(ground: Ground) -> set[str]:
    """The files that differ from the last commit, new ones included."""
    done = try_git(ground.root, "status", "--porcelain", "-z", "--untracked-files=all", "--no-renames")
    return {row[3:].decode("utf-8", "surrogateescape") for row in done.out.split(b"\0") if row}


def _changed_with(ground: Ground, path: str) -> set[str]:
    """The files that the latest commits on a file changed as well."""
    done = try_git(
        ground.root,
        "log",
        f"--max-count={MOST_COMMITS}",
        "--full-diff",
        "--no-renames",
        "--name-only",
        "-z",
        "--format=",
        "--",
        path,
    )
    return {name.strip("\n") for name in done.out.decode("utf-8", "surrogateescape").split("\0") if name}


def _lines(orphan: Placed) -> list[str]:
    if orphan.marker is None:
        return []
    print_ = fingerprint_of(orphan.marker)
    kept = (*print_.text.split("\n"), *print_.before, *print_.after)
    return [line.strip() for line in kept if len(line.strip()) >= SHORTEST_LINE]


def _grep(ground: Ground, lines: list[str]) -> Iterable[tuple[str, str]]:
    patterns = "\n".join(lines).encode("utf-8", "replace")
    done = try_git(
        ground.root, "grep", "--untracked", "--no-color", "-I", "-z", "-F", "-f", "-", "--", ".", input=patterns
    )
    for row in done.out.split(b"\n"):
        path, nul, text = row.partition(b"\0")
        if nul:
            yield path.decode("utf-8", "surrogateescape"), text.decode("utf-8", "replace")


def _version(ground: Ground, path: str) -> Version | None:
    try:
        return Version(ground.source(RelativePath(path)).text, path)
    except Failure:
        return None
