"""The columns of a list in the shell: what stands in each cell, and how they are lined up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from postil.tracker.index.tables import Row

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


def flatten(text: str) -> str:
    """Others' words as one cell: what would break the line or command the terminal is made visible.

    Here and not only where a terminal is written to: the quick list has no such place, and lines and tabs would break
    the raw form as well.
    """
    if text.isprintable():
        return text
    line = " ".join(text.split())
    return "".join(f"\\x{ord(c):02x}" if _is_control(ord(c)) else c for c in line)


def _is_control(code: int) -> bool:
    """Control characters and the marks that turn the direction of text around; not the joiners inside an emoji."""
    return code < 32 or 127 <= code < 160 or 0x202A <= code <= 0x202E or 0x2066 <= code <= 0x2069


def cut_excerpt(text: str) -> str:
    """A text on one line, 80 characters of it."""
    flat = " ".join(text.split())
    return flat if len(flat) <= 80 else flat[:80] + "..."


def format_count(count: int, thing: str) -> str:
    """A number of things: `1 issue`, `2 issues`, `0 entities`."""
    plural = thing.removesuffix("y") + "ies" if thing.endswith("y") else thing + "s"
    return f"{count} {thing if count == 1 else plural}"


def align(rows: Sequence[Sequence[str]]) -> str:
    """Columns of text."""
    if not rows:
        return ""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join(
        "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )
