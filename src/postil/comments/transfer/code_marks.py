"""The lines that a comment stood on, told without their text: the codes of those lines and of some around. Pure.

An export that holds no source has these instead, so that an import does not take other code at the same number for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from msgspec import Struct

from postil.comments.anchoring.line_codes import code_lines
from postil.comments.anchoring.locate import current_anchor
from postil.comments.lines import split_lines
from postil.comments.model import Marker

AROUND = 3
"""Lines on each side."""
MOST = 25
"""Lines of a range that are marked."""
_SIZE = 4
_LONGEST = (MOST + 2 * AROUND + 1) * _SIZE + 3
_BLANK = code_lines([""])


class MarkedCode(Struct, frozen=True):
    """Where marked code is in a text: how often, and on which line it surely is; 0 where none is sure."""

    count: int
    line: int = 0


def mark_lines(lines: Sequence[str], line: int, end: int, symbol: Sequence[str] | None = None) -> str:
    """Returns the codes of what stands above a line or range, of itself, of what stands below, and of its symbol."""
    first, last = line - 1, max(line, end)
    above, own, below = lines[max(0, first - AROUND) : first], lines[first:last], lines[last : last + AROUND]
    named = [] if symbol is None else [mark_symbol(symbol)]
    return ".".join([*map(code_lines, (above, own[:MOST], below)), *named])


def mark_kept(marker: Marker) -> str:
    """Returns the codes of the code that a marker keeps, and of what stood around it."""
    anchor = current_anchor(marker)
    above = anchor.pre if anchor else (marker.prevLineText,)
    own = (marker.lineText, *(anchor.body if anchor else ()))
    below = anchor.post if anchor else (marker.nextLineText,)
    return mark_lines([*above, *own, *below], len(above) + 1, len(above) + len(own), marker.symbolPath)


def mark_symbol(path: Sequence[str]) -> str:
    """Returns the code of the function or class that a line is in; of a line in none too."""
    return code_lines([".".join(path)])


def name_marked(marks: str) -> str | None:
    """Returns the code of the symbol that marked lines are in, where the marks have it."""
    return marks.split(".")[3] if marks.count(".") == 3 else None


def find_marked(marks: str, text: str, line: int, name: str | None = None, named: Sequence[str] = ()) -> MarkedCode:
    """Returns where marked code surely is. `name` is the symbol it was in, `named` the one of each line of the text.

    In a symbol of that name a line is believed that is the only one, or that has what stood next to it; of several the
    one that has more of what stood around. In any other, all that stood around must be there, and the symbol gone (or
    the line be the same). What is believed by its number alone is the same code all around.
    """
    above, own, below, *_ = [*marks.split("."), "", ""]
    if not own or len(marks) > _LONGEST:  # nobody writes more
        return MarkedCode(0)
    codes = _code_text(text)
    places = _list_places(codes, above, own, below, line)
    known = sum(code != _BLANK for code in _split(above + below))
    of_name = [one for one in places if name is None or _get(named, one.line) == name]
    if not of_name:
        is_gone = name not in named
        of_name = [one for one in places if one.is_whole and known > 1 and (is_gone or one.line == line)]
    if not of_name:
        return MarkedCode(len(places))
    best = max(of_name)
    rivals = [one for one in of_name if one.alike == best.alike]
    if len(rivals) > 1 and not (best.is_whole and best.line == line):
        return MarkedCode(len(places))
    is_only = len(places) == 1 and own != _BLANK
    in_symbol = bool(name) and name != _BLANK
    is_sure = 2 * best.alike >= known and known > 0
    is_sure |= is_only and (best.has_neighbour or in_symbol or not known)
    is_sure |= best.is_whole and best.line == line
    is_sure |= own != _BLANK and best.has_neighbour and in_symbol
    return MarkedCode(len(places), best.line if is_sure else 0)


class _Place(Struct, frozen=True, order=True):
    alike: int
    """Lines around that are the same, blank ones aside."""
    is_here: bool
    """Whether it is the line that the code had."""
    line: int
    is_whole: bool
    has_neighbour: bool


def _list_places(codes: str, above: str, own: str, below: str, line: int) -> list[_Place]:
    places: list[_Place] = []
    at = codes.find(own)
    while at >= 0:
        if at % _SIZE == 0:
            behind = at + len(own)
            pairs = [
                *zip(_split(above)[::-1], _split(codes[max(0, at - len(above)) : at])[::-1], strict=False),
                *zip(_split(below), _split(codes[behind : behind + len(below)]), strict=False),
            ]
            same = [old for old, new in pairs if old == new]
            number = at // _SIZE + 1
            has_neighbour = any(
                old != _BLANK and codes.startswith(old, start)
                for old, start in ((above[-_SIZE:], at - _SIZE), (below[:_SIZE], behind))
                if old and start >= 0
            )
            alike = sum(code != _BLANK for code in same)
            whole = len(same) == len(above + below) // _SIZE
            places.append(_Place(alike, number == line, number, whole, has_neighbour))
        at = codes.find(own, at + 1)
    return places


def _get(named: Sequence[str], line: int) -> str:
    return named[line - 1] if line <= len(named) else _BLANK


def _split(codes: str) -> list[str]:
    return [codes[at : at + _SIZE] for at in range(0, len(codes), _SIZE)]


@lru_cache(maxsize=1)
def _code_text(text: str) -> str:
    """Returns the codes of all lines: many comments of one file are looked for, one after the other."""
    return code_lines(split_lines(text))
