"""A file and its lines in one word: `FILE:LINE` and `FILE:10-12`, as editors and our own lists write them."""

from __future__ import annotations

import re

_WITH_LINES = re.compile(r"(.*):(\d{1,9})(?:-(0*[1-9]\d{0,8}))?", re.DOTALL)


def split_place(word: str) -> tuple[str, int, int]:
    """Returns the file, the first line and the last one of a range; the word and zeros where it names no line."""
    found = _WITH_LINES.fullmatch(word)
    return (found[1], int(found[2]), int(found[3] or 0)) if found and int(found[2]) else (word, 0, 0)
