"""Unified diffs, read: the hunks of one file or of several, with the lines they cover on both sides. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct

from postil.inbox.model import Side

_HEADER = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_ESCAPES = {"a": 7, "b": 8, "t": 9, "n": 10, "v": 11, "f": 12, "r": 13}


class Line(Struct, frozen=True):
    """One line of a hunk: its sign, its text, and its number on each side (0 where it is not there)."""

    sign: str
    text: str
    old: int
    new: int


class Hunk(Struct, frozen=True):
    """One hunk: its header, its lines, and the file it belongs to."""

    header: str
    lines: tuple[Line, ...]
    file: str = ""
    preamble: tuple[str, ...] = ()
    """What stands before the header: git's description of the file, in its first hunk."""

    def covers(self, span: tuple[int, int], side: Side) -> bool:
        """Returns whether it shows any of these lines."""
        numbers = [line.new if side == "new" else line.old for line in self.lines]
        shown = [number for number in numbers if number]
        return bool(shown) and shown[0] <= span[1] and span[0] <= shown[-1]

    def text(self) -> str:
        """Returns the hunk as git printed it."""
        return "\n".join([self.header, *(line.sign + line.text for line in self.lines)])

    def changed_blocks(self) -> Iterator[list[Line]]:
        """Yields runs of changed lines."""
        block: list[Line] = []
        for line in (*self.lines, Line(" ", "", 0, 0)):
            if line.sign != " ":
                block.append(line)
            elif block:
                yield block
                block = []


def find_span(lines: list[Line]) -> tuple[tuple[int, int], Side] | None:
    """Returns where these lines are: in the new file, or, when all of them are deleted, in the old one."""
    new = [line.new for line in lines if line.new]
    if new:
        return (min(new), max(new)), "new"
    old = [line.old for line in lines if line.old]
    return ((min(old), max(old)), "old") if old else None


def parse_hunks(diff: str) -> list[Hunk]:
    """Returns the hunks of a diff, in order. A file that changed without a hunk (binary, renamed) has an empty one."""
    found: list[Hunk] = []
    file, preamble = "", list[str]()
    header, lines = "", list[Line]()
    old = new = old_left = new_left = 0

    def finish() -> None:
        nonlocal header, lines, preamble
        if header or preamble:
            found.append(Hunk(header, tuple(lines), file, tuple(preamble)))
        header, lines, preamble = "", [], []

    for row in diff.removesuffix("\n").split("\n"):
        sign = row[:1]
        if header and (old_left or new_left) and sign in ("+", "-", " ", ""):
            sign = sign or " "  # some programs drop the space of an empty line
            lines.append(Line(sign, row[1:], 0 if sign == "+" else old, 0 if sign == "-" else new))
            old, old_left = old + (sign != "+"), old_left - (sign != "+")
            new, new_left = new + (sign != "-"), new_left - (sign != "-")
        elif start := _HEADER.match(row):
            if header:
                finish()
            header = row
            old, new = int(start[1]), int(start[3])
            old_left, new_left = int(start[2] or 1), int(start[4] or 1)
        elif row.startswith("diff --git "):
            finish()
            file, preamble = "", [row]
        elif preamble and not header:
            preamble.append(row)
            if row.startswith(("+++ ", "--- ", "rename to ")):
                file = _parse_name(row) or file
    finish()
    return [hunk for hunk in found if hunk.header or hunk.file]


def _parse_name(row: str) -> str:
    """Returns the file of a `+++ b/name` line; empty for /dev/null."""
    kind, _, name = row.partition(" ")
    if kind == "rename":
        return _unquote(name.partition(" ")[2])
    name = _unquote(name.rstrip("\t"))
    return "" if name == "/dev/null" else name[2:]


def _unquote(name: str) -> str:
    """Returns a name as git means it: one with odd characters stands in quotes, as in C."""
    if not (len(name) > 1 and name.startswith('"') and name.endswith('"')):
        return name
    raw = re.sub(
        rb"\\([0-7]{3}|.)",
        lambda code: bytes([int(code[1], 8)] if len(code[1]) == 3 else [_ESCAPES.get(code[1].decode(), code[1][0])]),
        name[1:-1].encode("utf-8", "surrogateescape"),
    )
    return raw.decode("utf-8", "surrogateescape")


def make_added(file: str, lines: list[str], blob: str) -> list[Hunk]:
    """Returns the diff of a file that git does not know yet: all of it is new."""
    if not lines:
        return []
    header = f"@@ -0,0 +1,{len(lines)} @@" if len(lines) != 1 else "@@ -0,0 +1 @@"
    rows = tuple(Line("+", text, 0, number) for number, text in enumerate(lines, 1))
    index = f"index 0000000..{blob[:7]}"
    preamble = (f"diff --git a/{file} b/{file}", "new file mode 100644", index, "--- /dev/null", f"+++ b/{file}")
    return [Hunk(header, rows, file, preamble)]
