"""A screen full of text, read: its cells, which of them have a background, and the panel that holds a selection. Pure.

Counts columns, not characters: a wide character fills two. What is right of a panel's frame belongs to another panel,
also when the code in it contains the very characters that frames are made of.
"""

from __future__ import annotations

import re
from unicodedata import combining, east_asian_width

from msgspec import Struct

_ESCAPE = re.compile(
    r"\x1b\[([0-9;:]*)m|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b\[[0-9;:?]*[A-Za-ln-z]|\x1b\(B|\x0e|\x0f"
)
_LEFT_TOP, _RIGHT_TOP, _BOTTOM = "╭┌╔┏", "╮┐╗┓", "╰└╚┗"
LEAST_MARKED = 3


class Row(Struct, frozen=True):
    """One row of the screen: its cells (the second one of a wide character is empty), and which have a background."""

    cells: tuple[str, ...]
    marked: tuple[bool, ...]


class Panel(Struct, frozen=True):
    """The rows inside the frame of one panel, and the first and last of them that are selected."""

    rows: tuple[str, ...]
    first: int
    last: int


def parse_screen(screen: str) -> list[Row]:
    """Returns the rows of a captured screen."""
    return [_parse_row(text) for text in screen.split("\n")]


def find_panels(rows: list[Row]) -> list[Panel]:
    """Returns each run of selected rows together with the panel around it."""
    return [_frame(rows, first, last, column) for first, last, column in _find_runs(rows)]


def _parse_row(text: str) -> Row:
    cells, marked, at, coloured = list[str](), list[bool](), 0, False

    def add(piece: str) -> None:
        for character in piece:
            if character < " " and character != "\t":
                continue
            if cells and (combining(character) or character in "\u200d\ufe0e\ufe0f"):
                cells[-1] += character
                continue
            width = 2 if east_asian_width(character) in "WF" else 1
            cells.extend((character, "")[:width])
            marked.extend((coloured,) * width)

    for escape in _ESCAPE.finditer(text):
        add(text[at : escape.start()])
        at = escape.end()
        if escape[1] is not None:
            coloured = _has_background(escape[1], coloured)
    add(text[at:])
    return Row(tuple(cells), tuple(marked))


def _has_background(codes: str, before: bool) -> bool:
    numbers = [int(code) if code else 0 for code in re.split("[;:]", codes)]
    now, at = before, 0
    while at < len(numbers):
        code = numbers[at]
        if code in (0, 27, 49):
            now = False
        elif 40 <= code <= 47 or 100 <= code <= 107 or code == 7:
            now = True
        elif code in (38, 48):
            now = True if code == 48 else now
            at += 2 if numbers[at + 1 : at + 2] == [5] else 4
        at += 1
    return now


def _find_runs(rows: list[Row]) -> list[tuple[int, int, int]]:
    """Returns runs of rows that are marked from the same column on: first row, last row, column."""
    runs: list[tuple[int, int, int]] = []
    for number, row in enumerate(rows):
        column = _find_mark(row)
        if column is None:
            continue
        if runs and runs[-1][1] == number - 1 and runs[-1][2] == column:
            runs[-1] = (runs[-1][0], number, column)
        else:
            runs.append((number, number, column))
    return runs


def _find_mark(row: Row) -> int | None:
    for column, marked in enumerate(row.marked):
        if marked:
            return column if sum(row.marked[column:]) >= LEAST_MARKED else None
    return None


def _frame(rows: list[Row], first: int, last: int, column: int) -> Panel:
    """Returns the panel that begins at this column; where frames are hidden, all rows to the edge of the screen."""
    top, right = 0, max(len(row.cells) for row in rows)
    for number in range(first - 1, -1, -1):
        edge = _cell(rows[number], column - 1)
        if edge and edge in _LEFT_TOP:
            ends = (at for at in range(column, len(rows[number].cells)) if rows[number].cells[at] in (*_RIGHT_TOP,))
            top, right = number + 1, next(ends, right)
            break
    bottom = next((number for number in range(last + 1, len(rows)) if _is_bottom(rows[number], column)), len(rows))
    texts = tuple("".join(row.cells[column:right]).rstrip() for row in rows[top:bottom])
    return Panel(texts, first - top, last - top)


def _is_bottom(row: Row, column: int) -> bool:
    edge = _cell(row, column - 1)
    return bool(edge) and edge in _BOTTOM


def _cell(row: Row, column: int) -> str:
    return row.cells[column] if 0 <= column < len(row.cells) else ""
