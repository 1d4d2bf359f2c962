"""Colours of our own words, given where a row is made: so nothing that others write in it has one."""

from __future__ import annotations

from collections.abc import Mapping

from postil.core.call import current
from postil.core.others.visible import Style, styled

_STATES: Mapping[str, Style] = {
    "open": "green", "opened": "green", "closed": "magenta", "resolved": "magenta", "merged": "magenta",
    "draft": "yellow", "review": "yellow", "modified": "yellow", "stale": "yellow", "orphaned": "red",
    "failed": "red", "success": "green", "running": "yellow", "wontfix": "magenta",
    "TODO": "yellow", "FIXME": "red", "NOTE": "cyan", "QUESTION": "magenta", "STAR": "yellow", "HACK": "red",
    "WARNING": "red", "COMMENT": "cyan",
}  # fmt: skip


def in_color(text: str, style: Style) -> str:
    """Returns a text in its colour where the answer may be coloured, else as it is."""
    return styled(text, style) if current().colors else text


def in_brackets(state: object) -> str:
    """Returns a state or tag as rows have it: `[open]`, in its colour."""
    word = str(state)
    return f"[{in_color(word, _STATES[word]) if word in _STATES else word}]"
