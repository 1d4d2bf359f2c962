"""Unified diffs, read: the hunks of one file, with the lines they cover on both sides. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct

from postil.inbox.model import Side, format_span

_HEADER = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


class Line(Struct, frozen=True):
    """One line of a hunk: its sign, its text, and its number on each side (0 where it is not there)."""

    sign: str
    text: str
    old: int
    new: int


class Hunk(Struct, frozen=True):
    """One hunk: its header and its lines."""

    header: str
    lines: tuple[Line, ...]

    def covers(self, span: tuple[int, int], side: Side) -> bool:
        """Returns whether it shows any of these lines."""
        numbers = [line.new if side == "new" else line.old for line in self.lines]
        shown = [number for number in numbers if number]
        return bool(shown) and shown[0] <= span[1] and span[0] <= shown[-1]

    def text(self) -> str:
        """Returns the hunk as git printed it."""
        return "\n".join([self.header, *(line.sign + line.text for line in self.lines)])

    def changed_blocks(self) -> Iterator[tuple[str, Line]]:
        """Yields runs of changed lines: the line numbers in the new file, and the line that shows what it is about."""
        block: list[Line] = []
        for line in (*self.lines, Line(" ", "", 0, 0)):
            if line.sign != " ":
                block.append(line)
            elif block:
                yield _summarize(block, line)
                block = []


def _summarize(block: list[Line], behind: Line) -> tuple[str, Line]:
    added = [line for line in block if line.sign == "+"]
    shown = next((line for line in added or block if line.text.strip()), (added or block)[0])
    if added:
        return format_span((added[0].new, added[-1].new)), shown
    # Only deletions: the remark goes to the line behind them, or to the last one before.
    return str(max(1, behind.new or 1)), shown


def parse_hunks(diff: str) -> list[Hunk]:
    """Returns the hunks of a diff of one file, in order."""
    found: list[Hunk] = []
    header, lines, old, new = "", list[Line](), 0, 0
    for row in diff.split("\n"):
        start = _HEADER.match(row)
        if start:
            if header:
                found.append(Hunk(header, tuple(lines)))
            header, lines = row, []
            old, new = int(start[1]), int(start[3])
        elif header and row[:1] in ("+", "-", " "):
            sign = row[0]
            lines.append(Line(sign, row[1:], 0 if sign == "+" else old, 0 if sign == "-" else new))
            old += sign != "+"
            new += sign != "-"
    if header:
        found.append(Hunk(header, tuple(lines)))
    return found
