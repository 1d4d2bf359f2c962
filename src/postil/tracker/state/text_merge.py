"""Three-way merge of texts, line by line. Pure, and the same on every machine.

It uses no library whose choices may change.
"""

from __future__ import annotations

from collections.abc import Sequence

_LARGEST_TABLE = 4_000_000


def merge_texts(base: str, ours: str, theirs: str) -> str | None:
    """Returns both changes together; None when they touch the same lines (or are too large to compare)."""
    if ours == theirs or theirs == base:
        return ours
    if ours == base:
        return theirs
    origin, left, right = base.split("\n"), ours.split("\n"), theirs.split("\n")
    in_left, in_right = _match_lines(origin, left), _match_lines(origin, right)
    if in_left is None or in_right is None:
        return None
    merged: list[str] = []
    at = at_left = at_right = 0
    for line in [i for i in range(len(origin)) if i in in_left and i in in_right] + [len(origin)]:
        next_left = in_left.get(line, len(left))
        next_right = in_right.get(line, len(right))
        chunk = _choose_side(origin[at:line], left[at_left:next_left], right[at_right:next_right])
        if chunk is None:
            return None
        merged.extend(chunk)
        if line < len(origin):
            merged.append(origin[line])
        at, at_left, at_right = line + 1, next_left + 1, next_right + 1
    return "\n".join(merged)


def _choose_side(origin: Sequence[str], left: Sequence[str], right: Sequence[str]) -> Sequence[str] | None:
    if left == right or right == origin:
        return left
    return right if left == origin else None


def _match_lines(origin: Sequence[str], other: Sequence[str]) -> dict[int, int] | None:
    """Returns each line of origin with its line of other, along a longest common subsequence."""
    start = 0
    while start < min(len(origin), len(other)) and origin[start] == other[start]:
        start += 1
    end = 0
    while end < min(len(origin), len(other)) - start and origin[-1 - end] == other[-1 - end]:
        end += 1
    pairs = {i: i for i in range(start)}
    pairs |= {len(origin) - 1 - i: len(other) - 1 - i for i in range(end)}
    a, b = origin[start : len(origin) - end], other[start : len(other) - end]
    if len(a) * len(b) > _LARGEST_TABLE:
        return None
    lengths = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i in range(len(a) - 1, -1, -1):
        row, below, line = lengths[i], lengths[i + 1], a[i]
        for j in range(len(b) - 1, -1, -1):
            row[j] = below[j + 1] + 1 if line == b[j] else max(below[j], row[j + 1])
    i = j = 0
    while i < len(a) and j < len(b):
        if a[i] == b[j]:
            pairs[start + i] = start + j
            i, j = i + 1, j + 1
        elif lengths[i + 1][j] >= lengths[i][j + 1]:
            i += 1
        else:
            j += 1
    return pairs
