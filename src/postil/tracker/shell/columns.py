"""The columns of a list in the shell: what stands in each cell, and how they are lined up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from postil.tracker.index.tables import Row
from postil.tracker.text import align, cut_names, cut_title, flatten, format_age
from postil.tracker.vocabulary import NO_PRIORITY, PRIORITIES

if TYPE_CHECKING:
    import datetime

COLUMNS = (
    "id", "title", "status", "labels", "comments", "updated", "milestone", "due", "author", "claimed",
    "priority", "type", "assignees",
)  # fmt: skip
DEFAULT_COLUMNS = ("id", "title", "status", "labels", "comments", "updated")


class Drawing:
    """How a list is drawn: its columns, its form, and what the terminal allows."""

    def __init__(
        self,
        columns: Sequence[str],
        style: str,
        width: int = 0,
        colors: bool = False,
        now: datetime.datetime | None = None,
    ) -> None:
        self.columns, self.style, self.width, self.colors = columns, style, width, colors
        self.now = now
        """Given on a terminal, where times are told as ages."""


def draw_list(
    rows: Sequence[Row],
    how: Drawing,
    next_cursor: str | None,
    milestones: Mapping[str, str],
    short: Mapping[str, str],
    people: Mapping[int, str],
    nothing: str = "Nothing matches",
) -> str:
    """Returns a page as a table, or as raw lines with tabs.

    `short` has the beginnings that name each entity, `people` whom a row is assigned to, by its number.
    """
    drawn = list(_draw_cells(rows, how, milestones, short, people))
    cells = [[row_cells[name] for name in how.columns] for row_cells in drawn]
    if how.style == "raw":
        return "\n".join("\t".join(line) for line in cells)
    if not cells:
        return nothing
    flexible = how.columns.index("title") if "title" in how.columns else -1
    text = align([[column.upper() for column in how.columns], *cells], how.width, flexible)
    if how.colors:
        text = _color(text, rows)
    return f"{text}\nNext cursor: {next_cursor}" if next_cursor else text


def _color(text: str, rows: Sequence[Row]) -> str:
    """Returns the table with a heavy head, and each line in the colour of its status."""
    from postil.core.others.visible import Style, styled

    head, *lines = text.split("\n")
    styles: dict[str, Style] = {"open": "green", "draft": "yellow", "closed": "dim"}
    painted: list[str] = []
    for line, row in zip(lines, rows, strict=True):
        style, (id_, gap, rest) = styles.get(row.status), line.partition("  ")
        painted.append(styled(line, "dim") if style == "dim" else styled(id_, style or "blue") + gap + rest)
    return "\n".join([styled(head, "heavy"), *painted])


def _draw_cells(
    rows: Sequence[Row],
    how: Drawing,
    milestones: Mapping[str, str],
    short: Mapping[str, str],
    people: Mapping[int, str],
) -> Iterator[dict[str, str]]:
    """Yields the cells of each row by column; short forms unless they are raw."""
    full = how.style == "raw"
    for row in rows:
        title = flatten(row.title)
        yield {
            "id": row.id if full else short.get(row.id, row.id[:8]),
            "title": title if full else cut_title(title),
            "status": flatten(row.status),
            "labels": _draw_labels(row, full, 20 if how.width else 50) if row.labels else "",
            "comments": str(row.comments),
            "updated": format_age(row.updated_ts, how.now) if how.now else flatten(row.updated_ts[:19]) + "Z",
            "milestone": flatten(milestones.get(row.milestone, row.milestone[:8])),
            "due": flatten(row.due),
            "author": flatten(row.author.partition(" <")[0]),
            "claimed": flatten(row.claim_who),
            "priority": PRIORITIES[row.priority] if row.priority < NO_PRIORITY else "",
            "type": flatten(row.type),
            "assignees": flatten(people.get(row.n, "")),
        }


def _draw_labels(row: Row, full: bool, most: int) -> str:
    return flatten(row.labels.replace("\n", ",") if full else ",".join(cut_names(row.label_names(), most)))
