"""The columns of a list in the shell: what stands in each cell, and how they are lined up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from postil.tracker.schema import Row

COLUMNS = ("id", "title", "status", "labels", "comments", "updated", "milestone", "due", "author", "claimed")
DEFAULT_COLUMNS = ("id", "title", "status", "labels", "comments", "updated")


def list_text(
    rows: Sequence[Row], columns: Sequence[str], style: str, next_cursor: str | None, milestones: Mapping[str, str]
) -> str:
    """A page as a table, or as raw lines with tabs."""
    cells = [[cell(row, column, style == "raw", milestones) for column in columns] for row in rows]
    if style == "raw":
        return "\n".join("\t".join(line) for line in cells)
    if not cells:
        return "No issues or milestones match"
    text = aligned([[column.upper() for column in columns], *cells])
    return f"{text}\nNext cursor: {next_cursor}" if next_cursor else text


def cell(row: Row, column: str, full: bool, milestones: Mapping[str, str]) -> str:
    """One cell; short forms unless `full`."""
    match column:
        case "id":
            return row.id if full else row.id[:8]
        case "title":
            return row.title if full or len(row.title) <= 60 else row.title[:59] + "…"
        case "labels":
            return ",".join(row.label_names())
        case "comments":
            return str(row.comments)
        case "updated":
            return row.updated_ts[:19] + "Z"
        case "milestone":
            return milestones.get(row.milestone, row.milestone[:8])
        case "author":
            return row.author.partition(" <")[0]
        case "claimed":
            return row.claim_who
        case _:
            return str(getattr(row, column))


def many(count: int, thing: str) -> str:
    """A number of things: `1 issue`, `2 issues`, `0 entities`."""
    plural = thing.removesuffix("y") + "ies" if thing.endswith("y") else thing + "s"
    return f"{count} {thing if count == 1 else plural}"


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Columns of text."""
    if not rows:
        return ""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join(
        "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )
