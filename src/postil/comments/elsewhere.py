"""Which other files code may have gone to: those that hold the lines which are missing and did not hold them before.

One `git grep` for all missing lines at once, over tracked and untracked files; then the files that got most of them
since. A file that held them all along holds a copy, not the code that moved.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from postil.anchor.model import Source as Version
from postil.comments.ground import Ground, decode
from postil.comments.history import text_at, versions
from postil.comments.model import Placed
from postil.comments.places import fingerprint_of
from postil.comments.store import SUFFIX
from postil.core.failure import Failure
from postil.workspace.git import try_git
from postil.workspace.paths import RelativePath

MOST_FILES = 5
SHORTEST_LINE = 8
MOST_LINES = 2000


def other_files(ground: Ground, orphans: Sequence[Placed]) -> dict[str, list[Version]]:
    """For each file with orphans the other files that have got their lines since, the likeliest first."""
    if not ground.git:
        return {}
    wanted: dict[str, set[str]] = {}
    for each in orphans:
        for line in _lines(each):
            wanted.setdefault(line, set()).add(each.filePath)
    if not wanted:
        return {}
    hits: dict[str, dict[str, set[str]]] = {}
    for path, text in _grep(ground, list(wanted)[:MOST_LINES]):
        line = text.strip()
        for origin in wanted.get(line, ()):
            if path != origin and not path.endswith(SUFFIX):
                hits.setdefault(origin, {}).setdefault(path, set()).add(line)
    texts: dict[str, Version | None] = {}
    found: dict[str, list[Version]] = {}
    for origin, by_path in hits.items():
        then = _when(ground, origin, [each for each in orphans if each.filePath == origin])
        ranked = sorted(by_path, key=lambda path: -len(by_path[path]))[: 2 * MOST_FILES]
        new = {path: len(by_path[path] - _lines_at(ground, then, path)) for path in ranked}
        likely = sorted((path for path in ranked if new[path]), key=lambda path: -new[path])[:MOST_FILES]
        found[origin] = [it for path in likely if (it := texts.setdefault(path, _version(ground, path)))]
    return found


def _when(ground: Ground, origin: str, orphans: Sequence[Placed]) -> str:
    """The commit at which the file still was as its comments knew it; the last one when they knew it before that."""
    blobs = {each.marker.anchor.blob for each in orphans if each.marker and each.marker.anchor}
    return next((each.commit.id for each in versions(ground, origin) if each.blob in blobs), "HEAD")


def _lines_at(ground: Ground, commit: str, path: str) -> set[str]:
    """The lines a file had at a commit."""
    content = text_at(ground, commit, path)
    return {line.strip() for line in decode(content).split("\n")} if content is not None else set()


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
