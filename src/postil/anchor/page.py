"""A text cut into lines, with what the measures need of it, each computed once and when asked. No comparing here."""

import re
from functools import cached_property

from postil.anchor.model import Source

_TOKEN = re.compile(r"\w+|[^\w\s]")
_TAB = 4
# A statement may run over several lines; more than this is data, and its beginning is enough to know it by.
_HEADER_LINES = 6
# A minified line is known by its beginning too: comparing is quadratic in the length.
LONGEST_KEY = 400
# Braces hold bodies: they do not belong to the head of a statement.
_DEPTH = {"(": 1, "[": 1, ")": -1, "]": -1}


class Page:
    """One version of a file. Rows count from 0 here; only the public functions speak of lines, counted from 1."""

    def __init__(self, source: Source) -> None:
        self.source = source
        text = source.text.removeprefix("\ufeff")
        if "\n" not in text and "\r" in text:
            text = text.replace("\r", "\n")
        self.text = text
        self.rows = text.split("\n")
        if len(self.rows) > 1 and not self.rows[-1]:
            self.rows.pop()
        # The code of a row without any whitespace: re-indenting changes nothing.
        self.keys = ["".join(row.split())[:LONGEST_KEY] for row in self.rows]
        self._tokens: dict[int, list[str]] = {}
        self._headers: dict[int, list[str]] = {}

    def __len__(self) -> int:
        return len(self.rows)

    def tokens(self, row: int) -> list[str]:
        found = self._tokens.get(row)
        if found is None:
            found = self._tokens[row] = _TOKEN.findall(self.rows[row][: 2 * LONGEST_KEY])
        return found

    def between(self, first: int, last: int) -> str:
        """The text of the rows from first to last, both included."""
        return "\n".join(row.rstrip("\r") for row in self.rows[first : last + 1])

    @cached_property
    def places(self) -> dict[str, list[int]]:
        """Every row where a key stands."""
        found: dict[str, list[int]] = {}
        for row, key in enumerate(self.keys):
            found.setdefault(key, []).append(row)
        return found

    @cached_property
    def indents(self) -> list[int]:
        """Columns of leading whitespace; a blank row counts as deep as can be, so that it ends no block."""
        return [_indent(row) if key else 1 << 30 for row, key in zip(self.rows, self.keys, strict=True)]

    @cached_property
    def parents(self) -> list[int]:
        """For each row the row it is indented under, or -1."""
        stack: list[tuple[int, int]] = []
        found: list[int] = []
        for row, indent in enumerate(self.indents):
            while stack and stack[-1][0] >= indent:
                stack.pop()
            found.append(stack[-1][1] if stack else -1)
            if self.keys[row]:
                stack.append((indent, row))
        return found

    def block_end(self, row: int) -> int:
        """The last row of what is indented under this one, without the row that closes it."""
        indents, mine, last = self.indents, self.indents[row], row
        if not self.keys[row]:
            return row
        for at in range(row + 1, len(indents)):
            if indents[at] <= mine:
                # `) {` and `} else {` close what the row opened but belong to the same statement.
                if at == last + 1 and self.keys[at][0] in ")]" and indents[at] == mine:
                    last = at
                    continue
                break
            if self.keys[at]:
                last = at
        return last

    def header(self, row: int) -> list[str]:
        """The tokens of the statement that begins on this row, to where its brackets are balanced."""
        found = self._headers.get(row)
        if found is None:
            found = self._headers[row] = self._read_header(row)
        return found

    def _read_header(self, row: int) -> list[str]:
        tokens: list[str] = []
        depth = 0
        for at in range(row, min(row + _HEADER_LINES, len(self.rows))):
            for token in self.tokens(at):
                tokens.append(token)
                depth += _DEPTH.get(token, 0)
            if depth <= 0:
                break
        return tokens


def _indent(row: str) -> int:
    head = row[: len(row) - len(row.lstrip())]
    return len(head.expandtabs(_TAB)) if "\t" in head else len(head)
