"""A place in a merge request's diff, as a person names it and as GitLab wants to be told. Pure.

GitLab refuses a position whose numbers do not belong together: an unchanged line needs both, an added one only the new,
a removed one only the old. So they are computed from the diff, never taken as they come.
"""

from __future__ import annotations

import hashlib
import re

from msgspec import Struct

from postil.gitlab.diffs.diff_lines import DiffLine, Hunk, find_new, find_old, parse_hunks
from postil.gitlab.failures import invalid
from postil.gitlab.model import Change


class Place(Struct, frozen=True):
    """A line or a range, as a reviewer names it: `line` in the new file, `old_line` in the old one."""

    path: str
    line: int | None = None
    old_line: int | None = None
    start_line: int | None = None
    start_old_line: int | None = None

    @property
    def has_range(self) -> bool:
        """Whether it begins before the line where it ends."""
        return self.start_line is not None or self.start_old_line is not None


class DiffRefs(Struct, frozen=True):
    """The three commits that a diff is made of."""

    base_sha: str
    start_sha: str
    head_sha: str


def make_position(place: Place, change: Change, refs: DiffRefs) -> dict[str, object]:
    """Return the position of a place in a changed file, with every number that GitLab asks for."""
    hunks = parse_hunks(change.diff or "")
    end = _find_line(place.line, place.old_line, "line", change, hunks)
    new_path = change.new_path or change.old_path or ""
    position: dict[str, object] = {
        "position_type": "text",
        "base_sha": refs.base_sha,
        "start_sha": refs.start_sha,
        "head_sha": refs.head_sha,
        "old_path": change.old_path or new_path,
        "new_path": new_path,
        **_list_numbers(end),
    }
    if place.has_range:
        start = _find_line(place.start_line, place.start_old_line, "start_line", change, hunks)
        if _order(start) > _order(end):
            raise invalid("start_line", "must not be behind the line where the range ends")
        position["line_range"] = {"start": _make_end(start, new_path), "end": _make_end(end, new_path)}
    return position


def write_suggestion(body: str, suggestion: str, place: Place) -> str:
    """Return a note's text with a suggested change of the lines that the note stands on."""
    if place.line is None or place.start_old_line is not None:
        raise invalid("suggestion", "can only replace lines of the new file: give line, and start_line for several")
    above = place.line - (place.start_line or place.line)
    fence = "`" * max(3, *(len(run) + 1 for run in re.findall(r"`{3,}", suggestion)), 3)
    lines = suggestion.removesuffix("\n")
    block = f"{fence}suggestion:-{above}+0\n{lines}\n{fence}" if lines else f"{fence}suggestion:-{above}+0\n{fence}"
    return f"{body}\n\n{block}" if body.strip() else block


def _find_line(line: int | None, old_line: int | None, name: str, change: Change, hunks: list[Hunk]) -> DiffLine:
    """Return the line of the diff with these numbers; one of them is enough."""
    shown = change.new_path or change.old_path
    if line is None and old_line is None:
        raise invalid(name, "or the same of the old file must be given")
    if (change.too_large or change.collapsed) and not hunks:
        raise invalid("path", f"{shown} is too large: GitLab does not show its diff, so no line can be named")
    if line is not None:
        found = find_new(hunks, line)
        if old_line is not None and found.old != old_line:
            raise invalid(name, f"and the old line do not belong together: line {line} was {found.old or 'not there'}")
    else:
        found = find_old(hunks, old_line or 0)
    if found.kind == "unchanged" and (change.new_file or change.deleted_file):
        side = "the new file: it is deleted, give old_line" if change.deleted_file and line is not None else shown
        raise invalid(name, f"is not in {side}")
    if min(found.old_counter, found.new_counter) < 0:
        raise invalid(name, f"is not in {shown}")
    return found


def _list_numbers(line: DiffLine) -> dict[str, object]:
    return {name: number for name, number in (("old_line", line.old), ("new_line", line.new)) if number is not None}


def _make_end(line: DiffLine, path: str) -> dict[str, object]:
    digest = hashlib.sha1(path.encode(), usedforsecurity=False).hexdigest()  # GitLab's name for a line
    code = f"{digest}_{line.old_counter}_{line.new_counter}"
    return {"line_code": code, "type": "new" if line.kind == "added" else "old", **_list_numbers(line)}


def _order(line: DiffLine) -> tuple[int, int]:
    """Return where a line stands in the diff: of one change the removed lines come first."""
    return line.old_counter + line.new_counter, line.new_counter
