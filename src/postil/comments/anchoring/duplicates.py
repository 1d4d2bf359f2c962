"""Where else the code of a comment stands: copies, to which the comment may be copied. It never goes by itself."""

from __future__ import annotations

from postil.comments.model import Candidate, Place
from postil.comments.source_tree import SourceTree
from postil.comments.storage.store import SUFFIX
from postil.core.failure import Failure
from postil.workspace.failures import GitTimedOut, GitTooLarge
from postil.workspace.git import try_git
from postil.workspace.paths import RelativePath

SHORTEST = 12
LONGEST = 1000
MOST_PLACES = 20
"""A line that stands in more places than these is no copy but a habit."""
MOST_SHOWN = 5
MOST_PRINTED = 1024 * 1024
PATIENCE = 10.0
_SOURCES = f":(exclude)*{SUFFIX}"


def find_copies(tree: SourceTree, place: Place) -> tuple[Candidate, ...]:
    """Returns other places that have the same line between the same neighbours."""
    wanted = place.newText.split("\n")[0].strip()
    if not tree.git or place.state in ("orphaned", "review") or not SHORTEST <= len(wanted) <= LONGEST:
        return ()
    asked = ("grep", "--untracked", "-I", "-n", "-z", "-F", "--full-name", "-e", wanted, "--", ".", _SOURCES)
    try:
        said = try_git(tree.root, *asked, timeout=PATIENCE, largest=MOST_PRINTED).out
    except (GitTooLarge, GitTimedOut):
        return ()  # a habit, or a workspace in which looking for copies takes longer than they are worth
    found = said.decode("utf-8", "surrogateescape").split("\n")
    alike = [row for row in found if row.rstrip().endswith(wanted)]  # most hold it in the middle of another line
    rows = (row for row in map(_fields, alike) if row[2].strip() == wanted and not row[0].endswith(SUFFIX))
    hits = [(path, int(line)) for path, line, _ in rows if line.isdecimal()]
    if len(hits) > MOST_PLACES:
        return ()
    around = _neighbours(tree, place.path, place.line)
    there = [
        Candidate(path, line, 1.0, wanted)
        for path, line in hits
        if (path, line) != (place.path, place.line) and around and around & _neighbours(tree, path, line)
    ]
    return tuple(there[:MOST_SHOWN])


def _fields(row: str) -> tuple[str, str, str]:
    path, line, text = (*row.split("\0", 2), "", "", "")[:3]
    return path, line, text


def _neighbours(tree: SourceTree, path: str, line: int) -> frozenset[tuple[int, str]]:
    """Returns the lines before and after one, but for blank ones and braces."""
    try:
        lines = tree.source(RelativePath(path)).lines
    except Failure:
        return frozenset()
    near = ((step, lines[line - 1 + step].strip()) for step in (-1, 1) if 0 <= line - 1 + step < len(lines))
    return frozenset((step, text) for step, text in near if len(text) > 2)
