"""What a remark is aimed at, as one word: what lazygit's menu hands to `send`. Pure.

`code.txt:7`, `code.txt:-7 @staged` (a deleted line), `code.txt:file @1a2b3c4d` (the whole file in a commit),
`@1a2b..3c4d` (a range of commits). `code.txt:whole` lets the remark itself begin with the line: `42: handle it`.
The title of lazygit's prompt shows this word.
"""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

from msgspec import Struct

from postil.inbox.failures import BadTarget
from postil.inbox.model import Context, Kind, Side, format_span, parse_span

Version: TypeAlias = str
"""`` (all changes of the work tree), `unstaged`, `staged`, a commit, or `BASE..COMMIT`."""
WORK, UNSTAGED, STAGED = "", "unstaged", "staged"

_HASH = r"[0-9a-f]{4,64}"
_SHAPE = re.compile(
    rf"(?:(?P<file>.+):(?P<where>file|whole|\?|-?\d+(?:-\d+)?))?"
    rf"(?: ?@(?P<version>{UNSTAGED}|{STAGED}|{_HASH}(?:\.\.{_HASH})?))?",
    re.DOTALL,
)
_TYPED_LINE = re.compile(r"\s*(-?\d+(?:\s*-\s*\d+)?)\s*:\s*(?=\S)")
_ESCAPED = re.compile(r"[%|\x00-\x1f\x7f]")


class Target(Struct, frozen=True):
    """A file or a commit, in one version of it, and the lines there."""

    file: str = ""
    span: tuple[int, int] | None = None
    side: Side = "new"
    version: Version = WORK
    typed: bool = False
    """Whether the remark may begin with the line."""

    @property
    def context(self) -> Context:
        """The place in lazygit where this version is looked at."""
        if self.version in (UNSTAGED, STAGED):
            return "staging" if self.version == UNSTAGED else "stagingSecondary"
        if not self.version:
            return "files"
        return "commitFiles" if self.file else "commits"

    @property
    def commit(self) -> str:
        """The commit, or the last one of a range; empty for the work tree."""
        return "" if self.version in (WORK, UNSTAGED, STAGED) else self.version.rpartition("..")[2]

    @property
    def base(self) -> str:
        """What a range of commits is compared with; empty for one commit."""
        return self.version.rpartition("..")[0]


def format_target(target: Target) -> str:
    """Returns the word for a target; without a bar, so that a menu can put one behind it."""
    word = ""
    if target.file:
        where = "whole" if target.typed else "file"
        if target.span is not None:
            where = ("-" if target.side == "old" else "") + format_span(target.span)
        word = f"{_ESCAPED.sub(lambda found: f'%{ord(found[0]):02X}', target.file)}:{where}"
    if target.version:
        word += f"{' ' if word else ''}@{target.version}"
    return word


def parse_target(word: str) -> Target:
    """Returns the target of a word. Raises BadTarget."""
    found = _SHAPE.fullmatch(word.strip()) if word.strip() else None
    if found is None:
        raise BadTarget(word)
    file = re.sub(r"%([0-9A-F]{2})", lambda code: chr(int(code[1], 16)), found["file"] or "")
    where, version = found["where"] or "file", found["version"] or WORK
    if where in ("file", "whole", "?"):  # the last as earlier versions wrote it
        return Target(file, version=version, typed=where != "file")
    side: Side = "old" if where.startswith("-") else "new"
    return Target(file, parse_span(where.removeprefix("-")), side, version)


def split_typed_line(comment: str) -> tuple[str, Side, str]:
    """Returns the line that a remark begins with, its side and the words behind it; no line, if it begins otherwise."""
    found = _TYPED_LINE.match(comment)
    if found is None:
        return "", "new", comment
    line = "".join(found[1].split())
    side: Literal["new", "old"] = "old" if line.startswith("-") else "new"
    return line.removeprefix("-"), side, comment[found.end() :]


def take_other_line(comment: str) -> tuple[str, Side, Kind, str] | None:
    """Returns the line, its side, the kind and the words of a remark such as `7: note: words`; None for all others.

    A line was chosen already, so a number alone (`7: words`) may be meant as words; with a kind behind it, it is not.
    """
    line, side, rest = split_typed_line(comment)
    kind, words = split_kind(rest, "fix")
    return (line, side, kind, words) if line and words != rest else None


def split_kind(comment: str, otherwise: Kind) -> tuple[Kind, str]:
    """Returns what a remark wants by how it begins (`question:` or `?`, `note:`, `fix:`), and the words behind it."""
    found = re.match(r"\s*(?:(question|note|fix):\s+|\?\s+)(?=\S)", comment)
    if found is None:
        return otherwise, comment
    kind: dict[str | None, Kind] = {"note": "note", "fix": "fix"}
    return kind.get(found[1], "question"), comment[found.end() :]
