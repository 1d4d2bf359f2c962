"""Which lines of a diff are selected in lazygit, found by what its panel shows: lazygit itself does not say. Pure.

All rows of the panel are laid beside the diff, not the selected ones alone: equal lines are told apart by what stands
around them. Long lines may go over several rows or be cut at the frame. When the rows fit in several places equally
well, or hardly anywhere, there is no answer.
"""

from __future__ import annotations

from msgspec import Struct

from postil.inbox.diff import Hunk, Line
from postil.inbox.lazygit.screen import Panel, find_panels, parse_screen

LEAST_ROWS = 5
"""How many rows of the panel have to be in the diff, if there are so many."""


class DiffRow(Struct, frozen=True):
    """One line of a diff as it is shown: with its line of code, or a header without one."""

    text: str
    hunk: Hunk
    line: Line | None = None


class Selection(Struct, frozen=True):
    """The rows of a diff that are selected, and how many rows of the panel are explained by it."""

    rows: tuple[DiffRow, ...]
    fit: int


def list_rows(hunks: list[Hunk]) -> list[DiffRow]:
    """Returns a diff row by row, as a program shows it."""
    rows: list[DiffRow] = []
    for hunk in hunks:
        rows += [DiffRow(_squeeze(text), hunk) for text in (*hunk.preamble, hunk.header) if text]
        rows += [DiffRow(_squeeze(line.sign + line.text), hunk, line) for line in hunk.lines]
    return rows


def find_selection(screen: str, hunks: list[Hunk]) -> Selection | None:
    """Returns what is selected on the screen, or None when it is not in this diff or could be in several places."""
    diff = list_rows(hunks)
    found = [fit for panel in find_panels(parse_screen(screen)) for fit in _find_fits(panel, diff)]
    if not found:
        return None
    best = max(fit for fit, _, _ in found)
    places = {(first, last) for fit, first, last in found if fit == best}
    if best < min(LEAST_ROWS, len(diff)) or len(places) != 1:
        return None
    first, last = places.pop()
    return Selection(tuple(diff[first : last + 1]), best)


def _find_fits(panel: Panel, diff: list[DiffRow]) -> list[tuple[int, int, int]]:
    """Returns where the selected rows may be: how many rows fit then, and the first and last row of the diff."""
    shown = [_squeeze(row) for row in panel.rows]
    while len(shown) > panel.last + 1 and not shown[-1]:
        shown.pop()  # the empty rest of a panel says nothing
    starts = _index(diff)
    selected = shown[panel.first]
    fits: list[tuple[int, int, int]] = []
    for at in starts.get(selected[:1], range(len(diff))) if selected else range(len(diff)):
        for wraps in (False, True):
            last = _walk_selected(shown, panel, diff, at, wraps)
            if last is not None:
                fits.append((_count_around(shown, panel, diff, at, last, wraps), at, last))
    return fits


def _index(diff: list[DiffRow]) -> dict[str, list[int]]:
    """Returns the rows of a diff by their first character: few of them can be the selected one."""
    found: dict[str, list[int]] = {}
    for at, row in enumerate(diff):
        found.setdefault(row.text[:1], []).append(at)
    return found


def _walk_selected(shown: list[str], panel: Panel, diff: list[DiffRow], at: int, wraps: bool) -> int | None:
    """Returns the last line of the diff that the selected rows show, if they show it from `at` on without a gap."""
    row = panel.first
    while True:
        taken = _take(shown, row, diff[at].text, wraps)
        if not taken or row + taken > panel.last + 1:
            return None
        row += taken
        if row == panel.last + 1:
            return at
        at += 1
        if at == len(diff):
            return None


def _count_around(shown: list[str], panel: Panel, diff: list[DiffRow], first: int, last: int, wraps: bool) -> int:
    """Returns how many rows of the panel show what the diff has around these lines."""
    count = panel.last - panel.first + 1
    row, at = panel.last + 1, last + 1
    while row < len(shown) and at < len(diff):
        taken = _take(shown, row, diff[at].text, wraps)
        count += taken
        row, at = row + max(1, taken), at + 1
    row, at = panel.first - 1, first - 1
    while row >= 0 and at >= 0:
        taken = _take_back(shown, row, diff[at].text, wraps)
        count += taken
        row, at = row - max(1, taken), at - 1
    return count


def _take(shown: list[str], row: int, text: str, wraps: bool) -> int:
    """Returns how many rows from this one on show the text: 0 when they show something else."""
    piece = shown[row]
    if piece == text:
        return 1
    if not piece or not text.startswith(piece):
        return 0
    if not wraps:
        return 1  # cut at the frame
    rest, taken = text[len(piece) :], 1
    while rest and row + taken < len(shown):
        piece = shown[row + taken]
        if not piece or not rest.startswith(piece):
            return 0
        rest, taken = rest[len(piece) :], taken + 1
    return taken


def _take_back(shown: list[str], row: int, text: str, wraps: bool) -> int:
    """Returns how many rows up to this one show the text, counted from its end."""
    piece = shown[row]
    if piece == text:
        return 1
    if not piece:
        return 0
    if not wraps:
        return int(text.startswith(piece))
    if not text.endswith(piece):
        return 0
    rest, taken = text[: -len(piece)], 1
    while rest and row - taken >= 0:
        piece = shown[row - taken]
        if not piece or not rest.endswith(piece):
            return 0
        rest, taken = rest[: -len(piece)], taken + 1
    return taken


def _squeeze(text: str) -> str:
    """Returns the text without white space and control characters: tabs and wrapping do not matter then."""
    return "".join(
        character for character in text if character > " " and not character.isspace() and character != "\x7f"
    )
