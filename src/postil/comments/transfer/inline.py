"""Comments written into the source itself, as `// @paired: text`, read out of it and written into it. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

from postil.anchor.syntax.languages import language_of

# What begins a comment, longest first, and what ends one that begins so.
_INLINE = re.compile(r"(?P<code>.*?)(?P<opening>//|#|--|/\*|<!--|;|%|')[ \t]*+@paired(?:-comment)?:[ \t]*+(?P<text>.*)")
_CLOSINGS = {"/*": "*/", "<!--": "-->"}
# Whatever ends a line in some language: a comment's text must never become code.
_LINE_ENDS = dict.fromkeys((*range(0x0B, 0x0E), *range(0x1C, 0x1F), 0x85, 0x2028, 0x2029, 0), " ")
_HASH = frozenset({"python", "ruby", "bash", "yaml", "toml"})
_FRAMED = {"html": ("<!--", " -->"), "markdown": ("<!--", " -->"), "css": ("/*", " */"), "c": ("/*", " */")}


_WITHOUT_COMMENTS = (".json", ".jsonl", ".ndjson", ".geojson", ".ipynb", ".csv", ".tsv")


def takes_comments(path: str) -> bool:
    """Whether a file of this name can hold comments: a line of ours would break data that cannot."""
    return not path.lower().endswith(_WITHOUT_COMMENTS)


class Inline(Struct, frozen=True):
    """A comment found in a source: its text, and the line of code it speaks of."""

    text: str
    line: int


class Extracted(Struct, frozen=True):
    """The comments of a source, and the source without them; `lines` counts in the latter when they are taken out."""

    found: tuple[Inline, ...]
    without: str


def extract_inline(text: str, *, remove: bool) -> Extracted:
    """Returns every inline comment. One on a line of its own speaks of the next line of code."""
    kept: list[str] = []
    found: list[Inline] = []
    waiting: list[str] = []
    for number, line in enumerate(text.split("\n"), 1):
        match = _INLINE.match(line) if "@paired" in line else None
        if match is None:
            kept.append(line)
            if waiting and line.strip():
                at = len(kept) if remove else number
                found += [Inline(said, at) for said in waiting]
                waiting = []
            continue
        said = _strip_closing(match["text"], match["opening"]).replace("\\n", "\n")
        if match["code"].strip():
            kept.append(match["code"].rstrip() if remove else line)
            at = len(kept) if remove else number
            found += [Inline(each, at) for each in (*waiting, said)]
            waiting = []
        elif said:
            waiting.append(said)
            if not remove:
                kept.append(line)
    last = max((number for number, line in enumerate(kept, 1) if line.strip()), default=1)
    found += [Inline(said, last) for said in waiting]
    return Extracted(tuple(each for each in found if each.text), "\n".join(kept))


def _strip_closing(text: str, opening: str) -> str:
    """Returns the text of a comment without what ends it. By hand: a pattern would try every space of a long row."""
    bare, end = text.rstrip(" \t\r"), _CLOSINGS.get(opening)
    return bare.removesuffix(end).rstrip(" \t") if end else bare


def is_inline(line: str) -> bool:
    """Whether a line is one of ours as a whole."""
    found = _INLINE.match(line) if "@paired" in line else None
    return found is not None and not found["code"].strip()


def insert_inline(path: str, text: str, comments: Sequence[tuple[int, str]]) -> str:
    """Returns the source with comments (line, text) above the code they speak of."""
    lines = text.split("\n")
    for line, said in sorted(comments, reverse=True):
        at = min(max(line, 1), len(lines)) - 1
        indent = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
        end = "\r" if lines[at].endswith("\r") else ""
        lines.insert(at, f"{indent}{inline_comment(path, said)}{end}")
    return "\n".join(lines)


def inline_comment(path: str, text: str) -> str:
    """Returns one comment in the syntax of the file's language, on one line."""
    language = language_of(path) or ""
    opening, closing = _FRAMED.get(language, ("#" if language in _HASH else "--" if language == "sql" else "//", ""))
    said = text.replace("\n", "\\n").translate(_LINE_ENDS)
    if said.endswith("\\"):
        said += " "  # a final backslash would make the next line of C part of this one
    if closing:
        said = said.replace(closing.strip(), closing.strip()[0] + " " + closing.strip()[1:])
    return f"{opening} @paired: {said}{closing}"


def read_back(path: str, text: str) -> str:
    """Returns what is read of a comment that was written into a source: what would end it is told apart there."""
    return next((each.text for each in extract_inline(inline_comment(path, text), remove=False).found), "")
