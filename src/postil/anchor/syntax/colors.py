"""The colours of code: which characters of a line are a keyword, a string, a comment. By the grammars' own queries.

Bounded by the size of the text and by the rows that are asked for; a text without a grammar has no colours.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache, partial
from importlib import import_module
from importlib.resources import files
from math import inf
from typing import TYPE_CHECKING, TypeAlias

from postil.anchor.syntax.languages import _GRAMMARS as GRAMMARS  # pyright: ignore[reportPrivateUsage]
from postil.anchor.syntax.languages import Parsed, ask_worker, grammar, is_over, parse
from postil.anchor.syntax.queries import DEEPEST_NODE, run_query

if TYPE_CHECKING:
    from tree_sitter import Node, Query, QueryCursor

Color: TypeAlias = tuple[int, int, str]
"""The first character, one past the last, and what it is, by a letter of KINDS."""
MOST_CHARACTERS = 400_000
"""Of a text that is coloured; a longer one is shown plain."""
LONGEST_ROW = 1_000
PART = 2048
"""Characters of the rows that are asked for at once, but by a worker: nothing stops a query, and of `a a a` every other
character is found."""
LOOK_EVERY = 16
"""Things painted after which this process looks at its CPU time."""

KINDS = {
    "keyword": "k", "include": "k", "conditional": "k", "repeat": "k", "exception": "k", "storageclass": "k",
    "string": "s", "character": "s", "escape": "n", "comment": "c", "spell": "",
    "number": "n", "float": "n", "boolean": "n", "constant": "n",
    "function": "f", "method": "f", "type": "t", "constructor": "t", "class": "t", "namespace": "t", "module": "t",
    "property": "p", "attribute": "p", "tag": "p", "label": "p", "field": "p", "text": "s",
    "embedded": "", "variable": "", "operator": "", "punctuation": "", "delimiter": "", "none": "", "error": "",
}  # fmt: skip
"""What the queries call it, up to the first dot, and our letter: k keyword, s string, c comment, n number or constant,
f function, t type, p property."""
_BASED_ON = {"typescript": ("javascript",), "tsx": ("javascript",), "cpp": ("c",)}
"""Languages whose query says only what it adds to another's."""


@cache
def _query(language: str) -> Query | None:
    """Returns the query of a language, compiled once; None where its package has none that fits its grammar."""
    from tree_sitter import Query, QueryError

    text = "\n".join(_read_query(each) for each in (*_BASED_ON.get(language, ()), language))
    try:
        return Query(grammar(language), text) if text.strip() else None
    except QueryError:
        return None


def _read_query(language: str) -> str:
    module = GRAMMARS[language][0]
    text = getattr(import_module(module), "HIGHLIGHTS_QUERY", None)
    if isinstance(text, str):
        return text
    folder = files(module) / "queries" / "highlights.scm"
    return folder.read_text("utf-8") if folder.is_file() else ""


def color_rows(text: str, language: str | None, rows: Iterable[int]) -> dict[int, tuple[Color, ...]]:
    """Returns the colours of these rows (from 0), in characters; rows without any are left out."""
    wanted = sorted(set(rows))
    if language is None or not wanted or len(text) > MOST_CHARACTERS:
        return {}
    parsed = parse(text, language)
    found = _color_parsed(parsed, text, language, wanted) if parsed else None
    if found is None:
        found = ask_worker("colors", text, language, dict[int, tuple[Color, ...]], tuple(wanted))
    return found or {}


def _color_parsed(parsed: Parsed, text: str, language: str, wanted: list[int]) -> dict[int, tuple[Color, ...]] | None:
    """Returns the colours of rows; None where finding them takes too long here."""
    query = _query(language)
    if query is None:
        return {}
    with parsed.spend() as until:
        return _color_runs(query, parsed.tree.root_node, text.split("\n"), wanted, until)


def _color_runs(
    query: Query, root: Node, lines: list[str], wanted: list[int], until: float
) -> dict[int, tuple[Color, ...]] | None:
    painted: dict[int, list[str]] = {}
    shown = [row for row in wanted if row < len(lines) and len(lines[row]) <= LONGEST_ROW]
    for first, last in _find_runs(shown, lines, PART if until != inf else inf):
        most = sum(map(len, lines[first : last + 1])) // 2
        matches = run_query(query, root, partial(_match_rows, root, first, last), until, most)
        if matches is None:
            return None
        strokes = _list_strokes(matches, until)
        # The widest first, so that what is inside is painted over it; of the same text the later pattern is nearer.
        for number, (_, _, start, end, kind) in enumerate(sorted(strokes)):
            if number % LOOK_EVERY == 0 and is_over(until):
                return None
            for row in range(max(start[0], first), min(end[0], last) + 1):
                _paint(painted, lines, row, start, end, kind)
        if is_over(until):
            return None
    kept = {row: _join(letters) for row, letters in painted.items()}
    return {row: colors for row, colors in kept.items() if colors}


def _list_strokes(
    matches: list[tuple[int, dict[str, list[Node]]]], until: float
) -> list[tuple[int, int, tuple[int, int], tuple[int, int], str]]:
    """Returns the width, the pattern, the ends and the kind of what was found: not all, where the time is over."""
    strokes: list[tuple[int, int, tuple[int, int], tuple[int, int], str]] = []
    for number, (pattern, captures) in enumerate(matches):
        if number % LOOK_EVERY == 0 and is_over(until):
            break
        for name, nodes in captures.items():
            kind = KINDS.get(name.partition(".")[0])
            if kind is None:
                continue
            strokes += [
                (node.start_byte - node.end_byte, pattern, node.start_point, node.end_point, kind) for node in nodes
            ]
    return strokes


def _match_rows(root: Node, first: int, last: int, cursor: QueryCursor) -> list[tuple[int, dict[str, list[Node]]]]:
    cursor.set_point_range((first, 0), (last + 1, 0))
    cursor.set_max_start_depth(DEEPEST_NODE)
    return cursor.matches(root)


def _paint(
    painted: dict[int, list[str]], lines: list[str], row: int, start: tuple[int, int], end: tuple[int, int], kind: str
) -> None:
    line = lines[row] if row < len(lines) else ""
    if not line or len(line) > LONGEST_ROW:
        return
    letters = painted.get(row)
    if letters is None:
        letters = painted[row] = [""] * len(line)
    left = _count_characters(line, start[1]) if row == start[0] else 0
    right = _count_characters(line, end[1]) if row == end[0] else len(line)
    letters[left:right] = [kind] * (right - left)


def _count_characters(line: str, size: int) -> int:
    """Returns how many characters so many bytes are."""
    return (
        min(size, len(line))
        if line.isascii()
        else len(line.encode("utf-8", "surrogatepass")[:size].decode("utf-8", "ignore"))
    )


def _join(letters: list[str]) -> tuple[Color, ...]:
    found: list[Color] = []
    start = 0
    for at in range(1, len(letters) + 1):
        if at == len(letters) or letters[at] != letters[start]:
            if letters[start]:
                found.append((start, at, letters[start]))
            start = at
    return tuple(found)


def _find_runs(rows: list[int], lines: list[str], most: float) -> list[tuple[int, int]]:
    """Returns the first and last of every run, of at most so many characters; small gaps are closed."""
    runs: list[tuple[int, int]] = []
    size = 0
    for row in rows:
        if runs and row - runs[-1][1] <= 8:
            size += sum(map(len, lines[runs[-1][1] + 1 : row + 1]))
            if size <= most:
                runs[-1] = runs[-1][0], row
                continue
        runs.append((row, row))
        size = len(lines[row])
    return runs
