"""The columns of a list in the shell: what stands in each cell, and how they are lined up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from postil.tracker.index.tables import Row
from postil.tracker.text import align, flatten

COLUMNS = ("id", "title", "status", "labels", "comments", "updated", "milestone", "due", "author", "claimed")
DEFAULT_COLUMNS = ("id", "title", "status", "labels", "comments", "updated")


def draw_list(
    rows: Sequence[Row], columns: Sequence[str], style: str, next_cursor: str | None, milestones: Mapping[str, str]
) -> str:
    """Returns a page as a table, or as raw lines with tabs."""
    cells = [[row_cells[name] for name in columns] for row_cells in _draw_cells(rows, style == "raw", milestones)]
    if style == "raw":
        return "\n".join("\t".join(line) for line in cells)
    if not cells:
        return "No issues or milestones match"
    text = align([[column.upper() for column in columns], *cells])
    return f"{text}\nNext cursor: {next_cursor}" if next_cursor else text


def _draw_cells(rows: Sequence[Row], full: bool, milestones: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """Yields the cells of each row by column; short forms unless `full`."""
    for row in rows:
        title = flatten(row.title)
        yield {
            "id": row.id if full else row.id[:8],
            "title": title if full or len(title) <= 60 else title[:59] + "…",
            "status": flatten(row.status),
            "labels": flatten(row.labels.replace("\n", ",")),
            "comments": str(row.comments),
            "updated": row.updated_ts[:19] + "Z",
            "milestone": flatten(milestones.get(row.milestone, row.milestone[:8])),
            "due": flatten(row.due),
            "author": flatten(row.author.partition(" <")[0]),
            "claimed": flatten(row.claim_who),
        }
