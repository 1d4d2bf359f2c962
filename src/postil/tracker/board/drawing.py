"""How the board looks: from its columns, what is selected and the size of the terminal to lines. Pure.

Every piece of a line is placed by its column, so that a letter which a terminal draws wider than we think moves nothing
but itself. Others' words have come through `flatten`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from postil.tracker.board.lanes import Lane
from postil.tracker.text import cut, measure

NARROWEST = 20
"""Cells of a column: below it, fewer columns are shown."""
SMALLEST = (16, 6)
"""Of a terminal: columns and lines."""

HELP = (
    "arrows, h j k l        choose a card",
    "< >, H L, shift+arrow  move the card to the next column",
    "enter                  read it",
    "/                      filter: label:bug, priority >= high, words",
    "b                      columns by status, label or milestone",
    "u                      undo your last move",
    "home end pgup pgdn     jump",
    "r                      look again (it does so by itself)",
    "q, escape              quit",
)


class View(NamedTuple):
    """What the person looks at."""

    lanes: Sequence[Lane]
    lane: int = 0
    card: int = 0
    head: str = ""
    foot: str = ""
    colors: bool = True


class Style:
    """The escapes in use."""

    PLAIN = "\x1b[0m"
    HEAVY = "\x1b[1m"
    DIM = "\x1b[2m"
    TURNED = "\x1b[7m"


def draw_board(view: View, width: int, height: int) -> list[str]:
    """Returns the lines of the screen, as many as it has."""
    if width < SMALLEST[0] or height < SMALLEST[1]:
        return _fill([cut("Too small", width)], height)
    first, count, wide = _fit(len(view.lanes), view.lane, width)
    shown = list(enumerate(view.lanes))[first : first + count]
    more = f"  ‹ {view.lane + 1} of {len(view.lanes)} ›" if count < len(view.lanes) else ""
    lines = [_color(view, Style.HEAVY, cut(view.head + more, width))]
    rows = height - 3
    heads: list[str] = []
    for at, lane in shown:
        text = cut(f"{lane.head} {lane.total}", wide - 1)
        heads.append(_place(at - first, wide) + _color(view, Style.TURNED if at == view.lane else Style.HEAVY, text))
    lines.append("".join(heads))
    columns = [_draw_lane(view, lane, at == view.lane, wide - 1, rows) for at, lane in shown]
    lines += [
        "".join(_place(at, wide) + column[row] for at, column in enumerate(columns) if row < len(column))
        for row in range(rows)
    ]
    return [*_fill(lines, height - 1), cut(view.foot, width)]


def draw_text(text: str, top: int, width: int, height: int, foot: str) -> list[str]:
    """Returns a screen of a longer text, from its line `top` on."""
    lines = wrap(text, width)[top : top + max(1, height - 1)]
    return [*_fill(lines, height - 1), cut(foot, width)]


def wrap(text: str, width: int) -> list[str]:
    """Returns the lines of a text, none wider than a terminal."""
    lines: list[str] = []
    for line in text.split("\n"):
        rest = line.replace("\t", "    ")
        while measure(rest) > width > 1:
            end = _find_break(rest, width)
            lines.append(rest[:end].rstrip())
            rest = rest[end:]
        lines.append(rest)
    return lines


def _find_break(text: str, width: int) -> int:
    """Returns how many letters of a text fit on a line: up to a space, if there is one late enough."""
    end = min(len(text), width)
    while end > 1 and measure(text[:end]) > width:
        end -= 1
    space = text.rfind(" ", end // 2, end)
    return space + 1 if space > 0 else end


def _fit(lanes: int, chosen: int, width: int) -> tuple[int, int, int]:
    """Returns the first column that is shown, how many are, and how wide each is."""
    count = max(1, min(lanes, width // NARROWEST))
    first = min(max(0, chosen - count // 2), max(0, lanes - count))
    return first, count, max(1, width // count)


def _draw_lane(view: View, lane: Lane, chosen: bool, wide: int, rows: int) -> list[str]:
    if not lane.cards:
        return [_color(view, Style.DIM, cut("(none)", wide))]
    each = 3 if rows >= 9 else 2  # a card has two lines; with room, one between them
    fitting = max(1, rows // each)
    at = view.card if chosen else 0
    top = max(0, min(at - fitting // 2, len(lane.cards) - fitting)) if chosen else 0
    lines: list[str] = []
    for number, card in enumerate(lane.cards[top : top + fitting], top):
        selected = chosen and number == at
        title = cut(card.title, wide - 2)
        mark = "▶ " if selected else "  "
        lines.append(_color(view, Style.TURNED, mark + title) if selected else mark + title)
        facts = cut(f"  {card.short}{' · ' * bool(card.facts)}{card.facts}", wide)
        lines.append(_color(view, Style.DIM, facts))
        lines += [""] * (each - 2)
    below = lane.total - top - fitting
    if below > 0 and len(lines) >= rows - 1:
        lines[rows - 1 :] = []
        lines += [""] * (rows - 1 - len(lines)) + [_color(view, Style.DIM, cut(f"  … {below} more", wide))]
    return lines[:rows]


def _place(column: int, wide: int) -> str:
    return f"\x1b[{column * wide + 1}G"


def _color(view: View, style: str, text: str) -> str:
    return f"{style}{text}{Style.PLAIN}" if view.colors or style == Style.TURNED else text


def _fill(lines: list[str], height: int) -> list[str]:
    return [*lines[:height], *[""] * (height - len(lines))]
