"""Which argument was meant by a name that there is not: by its letters, or by what it says."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import get_close_matches

LONGEST_NAME = 100
NEAR = 0.75
"""How alike two names are that differ by a slip: `path` and `author` are so by 0.6."""
_MEANINGS = (
    frozenset({"file", "files", "path", "filename", "filepath", "folder", "directory"}),
    frozenset({"text", "body", "message", "content", "comment"}),
    frozenset({"limit", "max", "count", "top"}),
    frozenset({"query", "search", "pattern", "q"}),
    frozenset({"revision", "commit", "ref", "rev", "sha"}),
    frozenset({"author", "user", "username", "who"}),
)
"""Words that say the same where an operation has one argument that ends with one of them."""
_LAST_WORD = re.compile(r"[A-Z]?[^A-Z_]*$")


def guess_name(given: str, known: Sequence[str]) -> str:
    """Returns the argument that was probably meant, or nothing."""
    given = given[:LONGEST_NAME]
    inside = [each for each in known if len(given) > 2 and given.lower() in each.lower()]  # `path` for `filePath`
    if inside:
        return inside[0]
    near = get_close_matches(given, known, 1, NEAR)
    if near:
        return near[0]
    meaning = next((words for words in _MEANINGS if _take_last(given) in words), frozenset[str]())
    same = [each for each in known if _take_last(each) in meaning]
    return same[0] if len(same) == 1 else ""


def _take_last(name: str) -> str:
    """Returns the last word of `filePath` or `file_path`."""
    found = _LAST_WORD.search(name)
    return (found[0] if found else name).lower()
