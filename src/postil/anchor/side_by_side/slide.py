"""Where a block that was inserted begins: of several ways to say what is new, the one that leaves whole things whole.

When a block is copied, the rows of the copy and those of the original are the same, and an alignment may pair the old
rows with either, or the upper ones with the first and the lower ones with the second. Here the rows beside every
insertion are paired anew where that costs nothing: an insertion begins where a thing begins (after a blank row, above
the comment of a declaration, at the outermost indentation), and a row that was edited goes on in its place when the
copy has the same edit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rapidfuzz.distance import Indel

if TYPE_CHECKING:
    from postil.anchor.page import Page

_FARTHEST = 400  # rows that an insertion is moved by
_EDITED = 8  # rows that were edited before those that are the same in the copy
_REMARK = re.compile(r"(//|/\*|\*|#|--|<!--|;|%|\"\"\"|'''|@\w)")
_CLOSER = re.compile(r"([\])}]+[;,)]*|end|fi|done|esac)")
_similar = Indel.normalized_similarity


def slide_insertions(old: Page, new: Page, forward: list[int], backward: list[int]) -> None:
    """Pair the rows beside every insertion anew, in place, where the same change can be read better."""
    for start, stop in _find_insertions(backward):
        if stop < len(backward):
            _slide_down(old, new, forward, backward, start, stop)
    for start, stop in _find_insertions(backward):
        if start > 0:
            _slide_up(old, new, forward, backward, start, stop)


def _find_insertions(backward: list[int]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    at, count = 0, len(backward)
    while at < count:
        if backward[at] >= 0:
            at += 1
            continue
        start = at
        while at < count and backward[at] < 0:
            at += 1
        found.append((start, at))
    return found


def _slide_down(old: Page, new: Page, forward: list[int], backward: list[int], start: int, stop: int) -> None:
    """Give the rows below an insertion their counterparts at its beginning, as far as it then begins better."""
    row = backward[stop]
    above = row - 1
    while above >= 0 and forward[above] < 0:
        above -= 1
    edited = row - 1 - above
    if edited > _EDITED or (forward[above] if above >= 0 else -1) != start - 1:
        return
    for first in _find_resumptions(old.keys[row], new.keys, start, stop, edited):
        far = _count_equal(old, new, forward, row, first, stop)
        if not far:
            continue
        if edited and not _is_edited_here(old.keys[above + 1 : row], new.keys[start:first], new.keys[:stop]):
            continue
        steps = range(1 if edited else 0, far + 1)
        best = min(steps, key=lambda step: (_judge_start(new, first + step, stop + step), -step))
        if edited and _judge_start(new, first + best, stop + best) > _judge_start(new, first, stop):
            continue
        for each in range(best):
            backward[stop + each] = -1
            forward[row + each] = -1
        for each in range(best):
            forward[row + each], backward[first + each] = first + each, row + each
        return


def _slide_up(old: Page, new: Page, forward: list[int], backward: list[int], start: int, stop: int) -> None:
    """Give the rows above an insertion their counterparts at its end, when it then begins better.

    Or when the row below them was edited, and is more like the one at the end: a declaration takes its comment along.
    """
    row = backward[start - 1]
    below = row + 1
    while below < len(forward) and forward[below] < 0:
        below += 1
    edited = below - row - 1
    if edited > _EDITED or (forward[below] if below < len(forward) else len(backward)) != stop:
        return
    last = stop - edited
    if last <= start:
        return
    lead = _compare_edits(old.keys[row + 1 : below], new.keys, start, last) if edited else 0.0
    if lead < 0:
        return
    far = 0
    while (
        far < min(_FARTHEST, row + 1, start)
        and backward[start - 1 - far] == row - far
        and new.keys[start - 1 - far] == new.keys[last - 1 - far]
    ):
        far += 1
    if not far:
        return
    steps = range(1 if lead else 0, far + 1)
    best = min(steps, key=lambda step: (_judge_start(new, start - step, last - step), step))
    if edited and new.keys[start : start + edited] == new.keys[last:stop]:
        here = start + edited  # the copy has the same edit: it may begin below the row that was edited
        if _judge_start(new, here, stop) <= _judge_start(new, start - best, last - best):
            return
    for each in range(best):
        backward[start - 1 - each] = -1
    for each in range(best):
        forward[row - each], backward[last - 1 - each] = last - 1 - each, row - each


def _find_resumptions(key: str, keys: list[str], start: int, stop: int, edited: int) -> Iterator[int]:
    """Yields the rows of an insertion where the old text may go on, the likeliest first."""
    if not edited:
        yield start
        return
    last = min(start + edited + 3, stop)
    expected = start + edited
    rows = sorted(range(start, last), key=lambda at: abs(at - expected))
    yield from (at for at in rows if keys[at] == key)


def _count_equal(old: Page, new: Page, forward: list[int], row: int, first: int, stop: int) -> int:
    """Returns how many rows from an old one on stand both at the beginning of an insertion and below it."""
    most = min(_FARTHEST, len(forward) - row, len(new) - stop)
    found = 0
    while found < most and forward[row + found] == stop + found and new.keys[first + found] == old.keys[row + found]:
        found += 1
    return found


def _is_edited_here(rows: list[str], here: list[str], until: list[str]) -> bool:
    """Returns whether edited rows are as much like those at the beginning of an insertion as like those at its end."""
    mine = "\n".join(rows)
    there = "\n".join(until[len(until) - len(rows) :])
    return _similar(mine, "\n".join(here)) >= _similar(mine, there)


def _compare_edits(rows: list[str], keys: list[str], start: int, last: int) -> float:
    """Returns by how much edited rows are more like those at the end of an insertion than like those at its start."""
    mine, here = "\n".join(rows), "\n".join(keys[start : start + len(rows)])
    return _similar(mine, "\n".join(keys[last : last + len(rows)])) - _similar(mine, here)


def _judge_start(new: Page, start: int, stop: int) -> tuple[int, int]:
    """Returns how badly an insertion begins at a row: the less the better."""
    keys, indents = new.keys, new.indents
    at = start
    while at < stop and not keys[at]:
        at += 1
    if at == stop:
        return (0, 0)
    before = keys[start - 1] if start else ""
    bad = 0
    if before and at == start and _REMARK.match(before):
        bad += 4  # it would tear a declaration from its comment
    if _CLOSER.fullmatch(keys[at]):
        bad += 4  # or a bracket from what it closes
    if before and at == start:
        bad += 1
    return (min(indents[at], 200), bad)
