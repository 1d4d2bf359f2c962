"""What differs between two texts of others, as the rows of a diff, in time linear in the texts.

difflib alone takes 10 s for two texts of 1,000 lines that are mostly alike, and eight times as long for twice as many.
"""

from __future__ import annotations

from collections.abc import Sequence

MOST_LINES = 300
"""Lines of both texts together that are compared line by line: 40 ms at worst. Of larger ones, one block is shown."""


def list_changed(before: Sequence[str], after: Sequence[str], around: int) -> list[str]:
    """Returns the rows of a diff, with so many unchanged lines around each change; none where both are equal."""
    if len(before) + len(after) <= MOST_LINES:
        from difflib import unified_diff  # only for those who compare

        return [*unified_diff(before, after, lineterm="", n=around)][2:]
    head = _count_alike(before, after)
    if head == len(before) == len(after):
        return []
    tail = _count_alike(before[head:][::-1], after[head:][::-1])
    old_end, new_end = len(before) - tail, len(after) - tail
    first, more = max(0, head - around), min(around, tail)
    return [
        f"@@ -{first + 1},{old_end + more - first} +{first + 1},{new_end + more - first} @@",
        *(f" {line}" for line in before[first:head]),
        *(f"-{line}" for line in before[head:old_end]),
        *(f"+{line}" for line in after[head:new_end]),
        *(f" {line}" for line in before[old_end : old_end + more]),
    ]


def _count_alike(one: Sequence[str], other: Sequence[str]) -> int:
    """Returns how many lines both begin with."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((number for number, (mine, theirs) in pairs if mine != theirs), min(len(one), len(other)))
