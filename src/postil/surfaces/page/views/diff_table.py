"""The lines of a diff as a table: one below the other, or side by side, with what was said under each line."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise, zip_longest
from urllib.parse import quote

from msgspec import Struct

from postil.surfaces.page.markup import Html, join, tag

_CLASSES = {"+": "add", "-": "del", " ": "same"}


class Line(Struct, frozen=True):
    """One line, as `workspace_diff` answers it."""

    sign: str
    text: str
    old: int = 0
    new: int = 0
    colors: tuple[tuple[int, int, str], ...] = ()
    words: tuple[tuple[int, int], ...] = ()

    @property
    def side(self) -> str:
        """The side that its number counts on."""
        return "L" if self.sign == "-" else "R"

    @property
    def number(self) -> int:
        """Its number there."""
        return self.old if self.sign == "-" else self.new


class Hunk(Struct, frozen=True):
    """Lines that stand together."""

    head: str
    lines: tuple[Line, ...]


Under = Callable[[str, int], Sequence[Html]]
"""Returns what stands under a line, by its side and number."""


def show_unified(file: str, hunks: Sequence[Hunk], under: Under) -> Html:
    """Returns the lines one below the other."""
    rows: list[Html] = []
    for hunk in hunks:
        rows.append(_head_row(hunk, 3))
        for line in hunk.lines:
            rows.append(
                tag(
                    "tr",
                    tag("td", class_="num", data_n=line.old or None),
                    tag("td", class_="num", data_n=line.new or None),
                    tag("td", show_text(line), class_="text"),
                    class_=_CLASSES.get(line.sign, "same"),
                    id=name_line(file, line.side, line.number),
                    data_o=line.old or None,
                    data_r=line.new or None,
                )
            )
            rows += _under_rows(under, line, 3)
    return tag(
        "table", show_columns("n", "n", "t"), tag("tbody", rows), class_="diff unified", aria_label=f"Changes of {file}"
    )


def show_split(file: str, hunks: Sequence[Hunk], under: Under) -> Html:
    """Returns the lines side by side."""
    rows: list[Html] = []
    for hunk in hunks:
        rows.append(_head_row(hunk, 4))
        for old, new in pair_sides(hunk.lines):
            shown = new or old
            assert shown is not None
            rows.append(
                tag(
                    "tr",
                    _cells(old, is_old=True),
                    _cells(new, is_old=False),
                    class_="both"
                    if old is not None and new is not None and old is not new
                    else _CLASSES.get(shown.sign),
                    id=name_line(file, shown.side, shown.number),
                    data_o=(old.old if old is not None else 0) or None,
                    data_r=(new.new if new is not None else 0) or None,
                )
            )
            for line in dict.fromkeys((old, new)):
                if line is not None:
                    rows += _under_rows(under, line, 4)
    columns = show_columns("n", "t", "n", "t")
    return tag("table", columns, tag("tbody", rows), class_="diff split", aria_label=f"Changes of {file}")


def pair_sides(lines: Sequence[Line]) -> Iterator[tuple[Line | None, Line | None]]:
    """Yields what stands side by side: an unchanged line beside itself, removed ones beside those that came."""
    gone: list[Line] = []
    come: list[Line] = []
    for line in lines:
        if line.sign == "-" and not come:
            gone.append(line)
        elif line.sign == "+":
            come.append(line)
        else:
            yield from zip_longest(gone, come)
            gone, come = ([line], []) if line.sign == "-" else ([], [])
            if line.sign == " ":
                yield line, line
    yield from zip_longest(gone, come)


def _cells(line: Line | None, *, is_old: bool) -> list[Html]:
    if line is None:
        return [tag("td", class_="num none"), tag("td", class_="text none")]
    kind = _CLASSES.get(line.sign, "same")
    number = line.old if is_old else line.new
    return [tag("td", class_=f"num {kind}", data_n=number), tag("td", show_text(line), class_=f"text {kind}")]


def show_columns(*kinds: str) -> Html:
    """Returns the widths: the first row cannot give them, since it spans all columns."""
    return tag("colgroup", [tag("col", class_=f"col-{kind}") for kind in kinds])


def _head_row(hunk: Hunk, columns: int) -> Html:
    return tag("tr", tag("td", hunk.head or "…", colspan=columns), class_="hunk")


def _under_rows(under: Under, line: Line, columns: int) -> Iterator[Html]:
    sides = [("R", line.new), ("L", line.old)] if line.sign == " " else [(line.side, line.number)]
    said = [html for side, number in sides for html in under(side, number)]
    if said:
        yield tag("tr", tag("td", said, colspan=columns), class_="said-row")


def name_file(file: str) -> str:
    """Returns the id of a file's section. No id of ours has a colon: a file cannot take the name of another element."""
    return f"{quote(file)}:"


def name_line(file: str, side: str, number: int) -> str:
    """Returns the id of a line: what a link to it ends with."""
    return f"{name_file(file)}{side}{number}"


def show_text(line: Line) -> Html | str:
    """Returns the text with its colours, the words that changed marked, and what hides in it shown."""
    text = line.text
    if not line.colors and not line.words:
        return text
    cuts = {0, len(text)}
    for start, end, _ in line.colors:
        cuts |= {start, end}
    for start, end in line.words:
        cuts |= {start, end}
    places = sorted(cut for cut in cuts if 0 <= cut <= len(text))
    pieces: list[Html | str] = []
    for start, end in pairwise(places):
        kind = next((letter for a, b, letter in line.colors if a <= start and end <= b), "")
        marked = any(a <= start and end <= b for a, b in line.words)
        name = f"{kind} w".strip() if marked else kind
        shown = text[start:end]
        pieces.append(tag("span", shown, class_=name) if name else shown)
    return join(pieces)
