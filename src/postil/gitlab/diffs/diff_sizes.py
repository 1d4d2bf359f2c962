"""Diffs made to fit: every changed file is named, and as much of the diffs is shown as there is room for. Pure."""

from __future__ import annotations

from msgspec.structs import replace

from postil.gitlab.fitting import choose_window, measure
from postil.gitlab.model import Change

SMALLEST = 300
"""Room below which a piece of a diff is not worth showing."""


def limit_changes(changes: list[Change], wanted: tuple[int, int | None] | None, room: int) -> tuple[list[Change], str]:
    """Return changes with what there is room for of their diffs, and a sentence when something is missing."""
    shown: list[Change] = []
    room -= sum(measure(replace(change, diff=None).line()) + 100 for change in changes)
    untold = 0
    for change in changes:
        diff = change.diff or ""
        size = measure(diff)
        if size <= room and wanted is None:
            room -= size
            shown.append(change)
            continue
        if room < SMALLEST and wanted is None and len(changes) > 1:
            untold += 1
            said = f"[{diff.count(chr(10))} lines are left out: path={change.new_path} gets them]"
            shown.append(replace(change, diff=None, left_out=said))
            continue
        window = choose_window(diff, wanted, max(room, SMALLEST))
        room -= measure(window.text)
        said = f"[lines {window.first}-{window.last} of the {window.total} of this diff"
        if window.last < window.total:
            said += f"; path={change.new_path} lines={window.last + 1}- goes on"
            untold += 1
        said += "; the line is cut, max_bytes gets more]" if window.is_cut else "]"
        shown.append(replace(change, diff=window.text, left_out=None if window.is_whole else said))
    return shown, f"of {untold} files not all is shown: path and lines, or max_bytes, get the rest" if untold else ""
