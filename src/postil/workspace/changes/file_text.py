"""A file of the work tree as it is read: some of its lines, with the colours of the code."""

from __future__ import annotations

from msgspec import Struct

from postil.anchor.syntax.colors import color_rows
from postil.anchor.syntax.languages import language_of
from postil.core.failure import NotFound
from postil.workspace.changes.file_diff import LARGEST_TEXT, LONGEST_LINE
from postil.workspace.files import read_file
from postil.workspace.paths import RelativePath
from postil.workspace.repository import Repository


class CodeLine(Struct, frozen=True, omit_defaults=True):
    """One line and the colours of its pieces."""

    number: int
    text: str
    colors: tuple[tuple[int, int, str], ...] = ()


def read_lines(repository: Repository, file: RelativePath, start: int, count: int) -> tuple[list[CodeLine], int]:
    """Returns these lines, and how many the file has. Raises NotFound where it has no text."""
    content = read_file(repository.root, file)
    if b"\0" in content[:8000]:
        raise NotFound(f"{file} is no text", advice="Name a file of source code")
    text = content.decode("utf-8", "replace").replace("\r\n", "\n")
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    rows = range(start - 1, min(start - 1 + count, len(lines)))
    painted = color_rows(text, language_of(str(file)), rows) if len(text) <= LARGEST_TEXT else {}
    made = [CodeLine(row + 1, lines[row][:LONGEST_LINE], painted.get(row, ())) for row in rows]
    return made, len(lines)
