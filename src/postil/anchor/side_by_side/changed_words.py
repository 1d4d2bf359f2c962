"""Which words of a changed line are other words now: for a diff that marks them. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TypeAlias

from rapidfuzz.distance import Indel, LCSseq

Piece: TypeAlias = tuple[int, int]
_WORD = re.compile(r"\w+|\s+|[^\w\s]")
LONGEST = 1_000
"""Characters of a line that is compared by words."""
_ALIKE = 0.4
"""How much of two lines must be the same for marked words to say more than a new line does."""


def pair_lines(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """Returns which removed lines stand against which added ones, where a run of each meets: in order, if alike."""
    if len(old) == len(new):
        candidates = list(zip(range(len(old)), range(len(new)), strict=True))
    else:
        candidates = _pair_best(old, new)
    return [(a, b) for a, b in candidates if _are_alike(old[a], new[b])]


def _pair_best(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """Returns for each line of the shorter run the likest one of the longer, keeping the order."""
    if len(old) * len(new) > 2_500:
        return list(zip(range(len(old)), range(len(new)), strict=False))
    swapped = len(old) > len(new)
    short, long = (new, old) if swapped else (old, new)
    found: list[tuple[int, int]] = []
    start = 0
    for at, line in enumerate(short):
        room = range(start, len(long) - (len(short) - at) + 1)
        best = max(room, key=lambda there: (Indel.normalized_similarity(line.strip(), long[there].strip()), -there))
        found.append((best, at) if swapped else (at, best))
        start = best + 1
    return found


def _are_alike(old: str, new: str) -> bool:
    if max(len(old), len(new)) > LONGEST:
        return False
    return Indel.normalized_similarity(old.strip(), new.strip()) >= _ALIKE


def mark_words(old: str, new: str) -> tuple[tuple[Piece, ...], tuple[Piece, ...]]:
    """Returns the pieces of either line that the other one does not have, in characters."""
    a, b = _WORD.findall(old), _WORD.findall(new)
    left, right = _starts(a), _starts(b)
    gone: list[Piece] = []
    come: list[Piece] = []
    for block in LCSseq.opcodes(a, b):
        if block.tag == "equal":
            continue
        if block.src_end > block.src_start:
            gone.append((left[block.src_start], left[block.src_end]))
        if block.dest_end > block.dest_start:
            come.append((right[block.dest_start], right[block.dest_end]))
    return _close_gaps(old, gone), _close_gaps(new, come)


def _starts(words: Sequence[str]) -> list[int]:
    starts = [0]
    for word in words:
        starts.append(starts[-1] + len(word))
    return starts


def _close_gaps(line: str, pieces: list[Piece]) -> tuple[Piece, ...]:
    """Returns the pieces, with those joined that only white space parts."""
    joined: list[Piece] = []
    for start, end in pieces:
        if joined and not line[joined[-1][1] : start].strip():
            joined[-1] = joined[-1][0], end
        else:
            joined.append((start, end))
    return tuple(joined)
