"""The lines of a unified diff: which of the old file and the new one belong together. Pure.

GitLab shows three lines around every change; a line further away is unchanged, and its number on the other side follows
from the changes before it.
"""

from __future__ import annotations

import re
from typing import Literal

from msgspec import Struct

_HEADER = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@")


class DiffLine(Struct, frozen=True):
    """One line: its numbers in both files, None where the file does not have it."""

    kind: Literal["added", "removed", "unchanged"]
    old: int | None
    new: int | None
    old_counter: int
    """GitLab's name for a line holds two numbers: for a side without the line, where that side has got to."""
    new_counter: int


class Hunk(Struct, frozen=True):
    """A piece of a diff, with its lines."""

    old_start: int
    old_count: int
    new_start: int
    new_count: int
    lines: tuple[DiffLine, ...]

    @property
    def old_end(self) -> int:
        """The first old line behind it."""
        return (self.old_start if self.old_count else self.old_start + 1) + self.old_count

    @property
    def new_end(self) -> int:
        """The first new line behind it."""
        return (self.new_start if self.new_count else self.new_start + 1) + self.new_count


def parse_hunks(diff: str) -> list[Hunk]:
    """Return the pieces of a file's diff. What is not part of one (headers, half a piece) is passed over."""
    found: list[Hunk] = []
    lines = iter(diff.split("\n"))
    for line in lines:
        header = _HEADER.match(line)
        if header is None:
            continue
        old_start, new_start = int(header[1]), int(header[3])
        old_count, new_count = int(header[2] or 1), int(header[4] or 1)
        old, new = old_start, new_start
        inside: list[DiffLine] = []
        while old < old_start + old_count or new < new_start + new_count:
            text = next(lines, None)
            if text is None:
                break
            if text.startswith("+"):
                inside.append(DiffLine("added", None, new, old, new))
                new += 1
            elif text.startswith("-"):
                inside.append(DiffLine("removed", old, None, old, new))
                old += 1
            elif not text.startswith("\\"):  # "\ No newline at end of file" is no line
                inside.append(DiffLine("unchanged", old, new, old, new))
                old, new = old + 1, new + 1
        found.append(Hunk(old_start, old_count, new_start, new_count, tuple(inside)))
    return found


def find_new(hunks: list[Hunk], number: int) -> DiffLine:
    """Return the line with this number in the new file: added, or unchanged."""
    for hunk in hunks:
        for line in hunk.lines:
            if line.new == number:
                return line
    shift = sum(hunk.new_count - hunk.old_count for hunk in hunks if hunk.new_end <= number)
    return DiffLine("unchanged", number - shift, number, number - shift, number)


def find_old(hunks: list[Hunk], number: int) -> DiffLine:
    """Return the line with this number in the old file: removed, or unchanged."""
    for hunk in hunks:
        for line in hunk.lines:
            if line.old == number:
                return line
    shift = sum(hunk.new_count - hunk.old_count for hunk in hunks if hunk.old_end <= number)
    return DiffLine("unchanged", number, number + shift, number, number + shift)
