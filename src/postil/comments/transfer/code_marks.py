"""The lines that a comment stood on, told without their text: the codes of those lines and of some around. Pure.

An export that holds no source has these instead, so that an import does not take other code at the same number for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from postil.comments.anchoring.line_codes import code_lines
from postil.comments.lines import split_lines

AROUND = 3
"""Lines on each side."""
MOST = 25
"""Lines of a range that are marked."""
_SIZE = 4
_LONGEST = (MOST + 2 * AROUND) * _SIZE + 2


def mark_lines(lines: Sequence[str], line: int, end: int) -> str:
    """Returns the codes of what stands above a line or range, of itself, and of what stands below."""
    first, last = line - 1, max(line, end)
    above, own, below = lines[max(0, first - AROUND) : first], lines[first:last], lines[last : last + AROUND]
    return ".".join(map(code_lines, (above, own[:MOST], below)))


def find_marked(marks: str, text: str, line: int) -> tuple[int, bool]:
    """Returns the line where marked code is now, and whether what stands around it is there too; 0 where it is not.

    Of several places the one counts that has more of what stood around; of equals the line it had.
    """
    above, _, rest = marks.partition(".")
    own, _, below = rest.partition(".")
    if not own or len(marks) > _LONGEST:  # nobody writes more
        return 0, False
    codes = _code_text(text)
    places: list[tuple[int, bool, int]] = []
    at = codes.find(own)
    while at >= 0:
        if at % _SIZE == 0:
            number = at // _SIZE + 1
            alike = _count_alike(above[::-1], codes[max(0, at - len(above)) : at][::-1])
            alike += _count_alike(below, codes[at + len(own) : at + len(own) + len(below)])
            places.append((alike, number == line, number))
        at = codes.find(own, at + 1)
    if not places:
        return 0, False
    best = max(places)
    if sum(one[:2] == best[:2] for one in places) > 1:
        return 0, False
    return best[2], 2 * _SIZE * best[0] >= len(above) + len(below)


@lru_cache(maxsize=1)
def _code_text(text: str) -> str:
    """Returns the codes of all lines: many comments of one file are looked for, one after the other."""
    return code_lines(split_lines(text))


def _count_alike(old: str, new: str) -> int:
    """Returns how many codes are the same, place by place."""
    return sum(old[at : at + _SIZE] == new[at : at + _SIZE] for at in range(0, min(len(old), len(new)), _SIZE))
