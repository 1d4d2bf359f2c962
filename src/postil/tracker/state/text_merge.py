"""Three-way merge of texts, line by line. Pure, and the same on every machine.

A criterion that was ticked or cleared is the same line; who ticks another one beside it has changed another line. It
uses no library whose choices may change.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, MutableSequence, Sequence
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from postil.tracker.events import Event
    from postil.tracker.state.causality import History

Replica = TypeVar("Replica", str, int)

BOX = re.compile(r"^(?P<before>\s*[-*+]\s+\[)(?P<mark>[ xX])(?P<after>\]\s+)(?P<text>.*)$")
"""A criterion: a check box of Markdown."""
_LARGEST_TABLE = 4_000_000
_WORK, _WORK_A_LETTER = 8_000_000, 64
"""Merging many concurrent texts may compare so much; more is left to people, as a conflict."""


def resolve_texts(
    seen: History[Replica], candidates: Sequence[int], heads: Sequence[int], read: Callable[[Event], str]
) -> tuple[str, MutableSequence[int]]:
    """Returns all concurrent texts together, and those that could not be merged with the ones after them.

    `read` returns the text that an event wrote.
    """
    text = read(seen.read(heads[0]))
    merged = seen.make_refs()
    merged.append(heads[0])
    losers = seen.make_refs()
    known = _intersect(None, seen.knowledge(heads[0]))
    newest = len(candidates) - 1
    base: str | None = None
    work = _WORK + _WORK_A_LETTER * sum(map(len, map(read, seen.read_many(heads))))
    rest = heads[1:]
    for head, mine in zip(rest, map(read, seen.read_many(rest)), strict=True):
        known = _intersect(known, seen.knowledge(head))
        # What one of them did not know, fewer know with every head: so the search goes on where it stopped.
        while newest >= 0 and not _is_known(seen, candidates[newest], known):
            newest -= 1
            base = None
        if base is None:
            base = read(seen.read(candidates[newest])) if newest >= 0 else ""
        work -= _estimate_work(base, mine, text)
        both = merge_texts(base, mine, text) if work > 0 else None
        if both is None:
            losers.extend(merged)
            merged, text = seen.make_refs(), mine
        else:
            text = both
        merged.append(head)
    return text, losers


def _intersect(known: Mapping[Replica, int] | None, more: Iterable[tuple[Replica, int]]) -> dict[Replica, int]:
    latest: dict[Replica, int] = {}
    for replica, number in more:
        latest[replica] = max(number, latest.get(replica, 0))
    if known is None:
        return latest
    return {replica: min(number, known[replica]) for replica, number in latest.items() if replica in known}


def _is_known(seen: History[Replica], ref: int, known: Mapping[Replica, int]) -> bool:
    return any(known.get(replica, 0) >= number for replica, number in seen.places(ref))


def _estimate_work(base: str, ours: str, theirs: str) -> int:
    if ours in (theirs, base) or theirs == base:
        return 1 + len(ours) // 16
    lines = base.count("\n") + 1
    cells = max(lines * (text.count("\n") + 1) for text in (ours, theirs))
    return len(base) + len(ours) + len(theirs) + min(cells, _LARGEST_TABLE)


def merge_texts(base: str, ours: str, theirs: str) -> str | None:
    """Returns both changes together; None when they touch the same lines (or are too large to compare)."""
    if ours == theirs or theirs == base:
        return ours
    if ours == base:
        return theirs
    origin, left, right = base.split("\n"), ours.split("\n"), theirs.split("\n")
    plain = [_clear_box(line) for line in origin]
    in_left = _match_lines(plain, [_clear_box(line) for line in left])
    in_right = _match_lines(plain, [_clear_box(line) for line in right])
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
            merged.append(_choose_tick(origin[line], left[next_left], right[next_right]))
        at, at_left, at_right = line + 1, next_left + 1, next_right + 1
    return "\n".join(merged)


def _choose_side(origin: Sequence[str], left: Sequence[str], right: Sequence[str]) -> Sequence[str] | None:
    if left == right or right == origin:
        return left
    return right if left == origin else None


def _clear_box(line: str) -> str:
    found = BOX.match(line) if "[" in line else None
    return f"{found['before']} {found['after']}{found['text']}" if found else line


def _choose_tick(origin: str, left: str, right: str) -> str:
    """Returns a line that is the same but for its tick: as the side has it that changed it."""
    if left == right or right == origin:
        return left
    return right if left == origin else min(left, right)


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
