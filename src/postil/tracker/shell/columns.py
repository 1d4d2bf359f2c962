"""The columns of a list in the shell: what stands in each cell, and how they are lined up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from postil.tracker.index.tables import Row
from postil.tracker.text import align, flatten

COLUMNS = ("id", "title", "status", "labels", "comments", "updated", "milestone", "due", "author", "claimed")
DEFAULT_COLUMNS = ("id", "title", "status", "labels", "comments", "updated")


def draw_list(
    rows: Sequence[Row], columns: Sequence[str], style: str, next_cursor: str | None, milestones: Mapping[str, str]
) -> str:
    """A page as a table, or as raw lines with tabs."""
    cells = [[draw_cell(row, column, style == "raw", milestones) for column in columns] for row in rows]
    if style == "raw":
        return "\n".join("\t".join(line) for line in cells)
    if not cells:
        return "No issues or milestones match"
    text = align([[column.upper() for column in columns], *cells])
    return f"{text}\nNext cursor: {next_cursor}" if next_cursor else text


def draw_cell(row: Row, column: str, full: bool, milestones: Mapping[str, str]) -> str:
    """One cell; short forms unless `full`."""
    match column:
        case "id":
            return row.id if full else row.id[:8]
        case "title":
            title = flatten(row.title)
            return title if full or len(title) <= 60 else title[:59] + "…"
        case "labels":
            return flatten(",".join(row.label_names()))
        case "comments":
            return str(row.comments)
        case "updated":
            return row.updated_ts[:19] + "Z"
        case "milestone":
            return flatten(milestones.get(row.milestone, row.milestone[:8]))
        case "author":
            return flatten(row.author.partition(" <")[0])
        case "claimed":
            return flatten(row.claim_who)
        case _:
            return flatten(str(getattr(row, column)))
