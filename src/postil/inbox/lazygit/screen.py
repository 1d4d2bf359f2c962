"""Which line of the diff is selected in lazygit, read from the screen of tmux: lazygit itself does not say.

The selected rows have a background of their own. Their text, with the rows around them, is looked up in the diff; when
it fits in several places or nowhere, there is no answer.
"""

from __future__ import annotations

import re

from msgspec import Struct

from postil.inbox.diff import Hunk, Line
from postil.inbox.model import format_span

_ESCAPE = re.compile(r"\x1b\[([0-9;:]*)m|\x1b[^m]*m|\x1b\(B|\x0e|\x0f")
NEIGHBOURS = 12


class Row(Struct, frozen=True):
    """One row of the screen: its characters, and which of them have a background."""

    text: str
    marked: tuple[bool, ...]


def capture_pane() -> str:
    """Returns the screen of the pane we run in, with its colours; empty when tmux does not answer."""
    import subprocess  # only inside tmux

    try:
        done = subprocess.run(["tmux", "capture-pane", "-e", "-p", "-J"], capture_output=True, timeout=2, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode("utf-8", "replace")


def find_selection(screen: str, hunks: list[Hunk]) -> tuple[str, str] | None:
    """Returns the line (or range) in the new file that is selected on the screen, and its text."""
    rows = [_parse_row(text) for text in screen.split("\n")]
    diff: list[Line | None] = []
    for hunk in hunks:
        diff += [None, *hunk.lines]
    found: set[tuple[int, int]] = set()
    for start, end, column in _find_runs(rows):
        found |= set(_match(rows, start, end, column, diff))
    if len(found) != 1:
        return None
    first, last = found.pop()
    lines = [line for line in diff[first : last + 1] if line is not None]
    added = [line for line in lines if line.new]
    if not added:
        return None
    return format_span((added[0].new, added[-1].new)), lines[0].sign + lines[0].text


def _parse_row(text: str) -> Row:
    """Returns the characters and backgrounds of one row."""
    shown, marked, at, coloured = "", list[bool](), 0, False
    for escape in _ESCAPE.finditer(text):
        piece = text[at : escape.start()]
        shown += piece
        marked += [coloured] * len(piece)
        at = escape.end()
        if escape[1] is not None:
            coloured = _has_background(escape[1], coloured)
    piece = text[at:]
    return Row(shown + piece, (*marked, *([coloured] * len(piece))))


def _has_background(codes: str, before: bool) -> bool:
    numbers = [int(code) for code in re.split("[;:]", codes) if code] or [0]
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
            return column if sum(row.marked[column:]) >= 3 else None
    return None


def _match(rows: list[Row], start: int, end: int, column: int, diff: list[Line | None]) -> list[tuple[int, int]]:
    """Returns where in the diff the selected rows fit best, judged by themselves and then by the rows around them."""
    height = end - start
    candidates = [
        at
        for at in range(len(diff) - height)
        if all(_fits(rows[start + step], column, diff[at + step]) for step in range(height + 1))
    ]
    scored = [(_score_around(rows, start, column, diff, at, height), at) for at in candidates]
    best = max((score for score, _ in scored), default=0)
    return [(at, at + height) for score, at in scored if score == best]


def _score_around(rows: list[Row], start: int, column: int, diff: list[Line | None], at: int, height: int) -> int:
    score = 0
    for step in (*range(-NEIGHBOURS, 0), *range(height + 1, height + 1 + NEIGHBOURS)):
        if 0 <= start + step < len(rows) and 0 <= at + step < len(diff):
            score += _fits(rows[start + step], column, diff[at + step])
    return score


def _fits(row: Row, column: int, line: Line | None) -> bool:
    if line is None:
        return row.text[column:].startswith("@@")
    shown = _cut_at_frame(row.text[column:])
    wanted = (line.sign + line.text).expandtabs(4).rstrip()
    if not shown.strip():
        return not wanted.strip()
    return wanted == shown or (len(shown) >= 8 and wanted.startswith(shown))


def _cut_at_frame(text: str) -> str:
    """Returns what belongs to the panel: up to its frame or its scroll bar."""
    return re.split("[│▐▌┃]", text, maxsplit=1)[0].rstrip()
