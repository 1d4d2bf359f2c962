"""Making text fit: how many bytes an answer costs a model, where it is cut, and which call gets the rest.

Pure functions over strings and sizes. Sizes are bytes of the JSON that is sent: a newline costs two.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec
from msgspec import Struct

from postil.gitlab.failures import invalid

USUAL = 24_000
"""Bytes of an answer when nobody asks for more."""
LEAST, MOST = 2_000, 1_000_000
ENVELOPE = 1_500
"""Bytes that an answer needs besides its text: the frame, the pagination, the sentence about the rest."""
_LINES = re.compile(r"(\d{1,9})(?:-(\d{0,9}))?", re.ASCII)


class Window(Struct, frozen=True):
    """Some lines of a text: `first` to `last` of `total`, counted from 1; `is_cut` where a line did not fit whole."""

    text: str
    first: int
    last: int
    total: int
    is_cut: bool = False

    @property
    def is_whole(self) -> bool:
        """Whether nothing is missing."""
        return self.first <= 1 and self.last >= self.total and not self.is_cut


def measure(text: str) -> int:
    """Return the bytes that a text takes in JSON, without its quotes."""
    return len(msgspec.json.encode(text)) - 2


def room_for_text(max_bytes: int | None) -> int:
    """Return how many bytes of text an answer of this size has room for."""
    if max_bytes is not None and not LEAST <= max_bytes <= MOST:
        raise invalid("max_bytes", f"must be between {LEAST} and {MOST}")
    return (max_bytes or USUAL) - ENVELOPE


def read_lines(given: str | None, name: str = "lines") -> tuple[int, int | None] | None:
    """Return the first and the last line of `10-20`, `10-` or `10`; the last is None where it is open."""
    if given is None:
        return None
    found = _LINES.fullmatch(given.strip())
    if found is None or int(found[1]) < 1:
        raise invalid(name, "must be a range of lines such as 10-20, 10- or 10")
    first = int(found[1])
    last = first if found[2] is None else int(found[2]) if found[2] else None
    if last is not None and last < first:
        raise invalid(name, "must not end before it begins")
    return first, last


def choose_window(text: str, wanted: tuple[int, int | None] | None, room: int) -> Window:
    """Return the wanted lines of a text, or as many of them as there is room for, the first ones first."""
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    total = len(lines)
    first, last = wanted or (1, None)
    chosen = lines[first - 1 : last]
    if not chosen:
        return Window("", first, first - 1, total)
    kept = count_fitting(chosen, room)
    if kept == 0:
        return Window(cut(chosen[0], room), first, first, total, is_cut=True)
    whole = kept == len(chosen) and wanted is None and text.endswith("\n")
    return Window("\n".join(chosen[:kept]) + ("\n" if whole else ""), first, first + kept - 1, total)


def choose_tail(text: str, wanted: int, room: int) -> Window:
    """Return the last lines of a text, or as many of them as there is room for."""
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    total = len(lines)
    chosen = lines[-wanted:]
    kept = count_fitting(chosen[::-1], room)
    if kept == 0 and chosen:
        return Window(cut(chosen[-1], room), total, total, total, is_cut=True)
    return Window("\n".join(chosen[len(chosen) - kept :]), total - kept + 1, total, total)


def count_fitting(lines: Sequence[str], room: int) -> int:
    """Return how many of these lines, from the first, have room."""
    used = 0
    for number, line in enumerate(lines):
        used += measure(line) + 2
        if used > room:
            return number
    return len(lines)


def cut(text: str, room: int) -> str:
    """Return the beginning of a text that has room, without half a character."""
    if measure(text) <= room:
        return text
    low, high = 0, min(len(text), room)
    while low < high:
        middle = (low + high + 1) // 2
        if measure(text[:middle]) <= room:
            low = middle
        else:
            high = middle - 1
    return text[:low]


def next_page(page: int, per_page: int, kept: int) -> tuple[int, int, int]:
    """Return how many rows of a page to show (of `kept` that fit), and the `page` and `per_page` that go on there.

    GitLab counts in whole pages, so the rest of a page can be asked for only where a smaller page begins.
    """
    start = (page - 1) * per_page
    for size in range(kept, kept // 2, -1):
        if (start + kept) % size == 0:
            return kept, (start + kept) // size + 1, size
    size = max(1, kept // 2)
    shown = kept - (start + kept) % size
    return shown, (start + shown) // size + 1, size
