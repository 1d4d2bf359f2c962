"""How the shell shows issues and milestones: tables, one entity in full, its history. Structs in, text or JSON out."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import UNSET, Struct, UnsetType

from postil.tracker.index.tables import Row
from postil.tracker.model import Entity, LabelEvent
from postil.tracker.operations.answers import Item, Shown, ShownComment, show_label_events
from postil.tracker.shell.columns import draw_list
from postil.tracker.text import cut_excerpt, flatten, format_count, round_to_second


class Details(Struct, frozen=True, kw_only=True):
    """One item of `list --json`: the contract's item and, beside it, the keys the old program had."""

    id: str
    title: str
    status: str
    labels: tuple[str, ...]
    stats: object
    comment_count: int
    created_at: str
    updated_at: str
    clock_snapshot: str
    milestone: str | UnsetType = UNSET
    due: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    description_preview: str | UnsetType = UNSET
    last_commented_at: str | UnsetType = UNSET
    latest_comment_excerpt: str | UnsetType = UNSET
    comments: list[ShownComment] | UnsetType = UNSET
    label_events: tuple[LabelEvent, ...] | UnsetType = UNSET


class ListedDetails(Struct, frozen=True, kw_only=True):
    """`list --json`."""

    items: list[Details]
    nextCursor: str | None
    next_cursor: str | None
    generation: int


class Listing:
    """A page of a list for the shell; details are looked up only when JSON is asked for."""

    def __init__(
        self,
        rows: Sequence[Row],
        columns: Sequence[str],
        style: str,
        next_cursor: str | None,
        details: Callable[[], ListedDetails],
        milestones: dict[str, str],
    ) -> None:
        self._rows, self._columns, self._style = rows, columns, style
        self._next, self._details, self._milestones = next_cursor, details, milestones

    def direct(self) -> ListedDetails:
        """The JSON form."""
        return self._details()

    def shell(self) -> str:
        """The table, or what --format asked for."""
        return draw_list(self._rows, self._columns, self._style, self._next, self._milestones)


def make_details(row: Row, item: Item, entity: Entity | None, comments: list[ShownComment]) -> Details:
    """One item of `list --json`."""
    description = entity.description if entity else ""
    last = entity.comments[-1] if entity and entity.comments else None
    return Details(
        id=row.id,
        title=row.title,
        status=row.status,
        labels=row.label_names(),
        stats=item.stats,
        comment_count=row.comments,
        created_at=round_to_second(row.created_ts),
        updated_at=round_to_second(row.updated_ts),
        clock_snapshot=f"{row.updated_l}@{row.updated_r}",
        milestone=row.milestone or UNSET,
        due=row.due or UNSET,
        description=description or UNSET,
        description_preview=cut_excerpt(description) or UNSET,
        last_commented_at=round_to_second(last.ts) if last else UNSET,
        latest_comment_excerpt=cut_excerpt(last.body) if last else UNSET,
        comments=comments or UNSET,
        label_events=(show_label_events(entity) if entity else ()) or UNSET,
    )


class ShownInShell:
    """`show` for people, and the contract's JSON."""

    def __init__(self, shown: Shown, milestone: str, most: int) -> None:
        self._shown, self._milestone, self._most = shown, milestone, most

    def direct(self) -> Shown:
        """The JSON form: the same as the tool's."""
        return self._shown

    def shell(self) -> str:
        """Title, facts, description, comments."""
        shown = self._shown
        lines = [f"{flatten(shown.title)} [{shown.status}]", f"ID: {shown.id} ({shown.kind})"]
        if shown.labels:
            lines.append(f"Labels: {flatten(', '.join(shown.labels))}")
        if self._milestone:
            lines.append(f"Milestone: {flatten(self._milestone)}")
        if shown.due:
            lines.append(f"Due: {shown.due}")
        if shown.assignees:
            lines.append(f"Assignees: {', '.join(shown.assignees)}")
        stats = shown.stats
        if isinstance(stats.open_issues, int) and isinstance(stats.closed_issues, int):
            lines.append(draw_progress(stats.open_issues, stats.closed_issues))
        if shown.claim:
            lines.append(f"Claimed by {shown.claim.who} until {shown.claim.until}{' (expired)' * shown.claim.expired}")
        lines += [f"{flatten(one.who)} claimed it at the same time, and lost" for one in shown.lost_claims or ()]
        lines += [f"{link.type}: {link.id[:8]} {flatten(link.title)} [{link.status}]" for link in shown.links or ()]
        lines += [
            f"Conflict: {one.field} was also set to {one.value!r} by {flatten(one.author)} at {one.ts};"
            f" decide with `git mile resolve {shown.id[:8]}`"
            for one in shown.conflicts or ()
        ]
        lines += [f"{flatten(key)}: {flatten(value)}" for key, value in (shown.fields or {}).items()]
        lines.append(f"By {shown.author} at {shown.created_at}, updated {shown.updated_at}")
        if shown.description:
            lines += ["", shown.description]
        hidden = max(0, len(shown.comments) - self._most)
        if hidden:
            lines += ["", f"({format_count(hidden, 'earlier comment')}; --limit-comments shows more)"]
        for comment in shown.comments[hidden:]:
            changed = " (edited)" if comment.edited_at else ""
            lines += ["", f"{comment.author} at {comment.ts}{changed}  {comment.id}", comment.body]
        return "\n".join(lines)


def draw_progress(open_: int, closed: int, width: int = 24) -> str:
    """A bar of how much is done."""
    total = open_ + closed
    filled = round(width * closed / total) if total else 0
    share = f"{100 * closed // total}%" if total else "no issues"
    return f"{'█' * filled}{'░' * (width - filled)} {share} ({closed} of {total} closed)"
