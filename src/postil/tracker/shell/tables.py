"""How the commands `list` and `show` answer: text for people, and JSON with the keys of the contract's program."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence

import msgspec
from msgspec import UNSET, Struct, UnsetType

from postil.core.answer import Answer, Verbatim
from postil.core.others.own_words import in_brackets
from postil.core.others.visible import harmless
from postil.tracker.index.tables import Row
from postil.tracker.model import Entity, LabelEvent
from postil.tracker.operations.answers import Item, Shown, ShownComment, show_label_events
from postil.tracker.shell.columns import Drawing, draw_list
from postil.tracker.state.charts import draw_progress
from postil.tracker.text import cut_excerpt, cut_names, flatten, format_age, format_count, round_to_second

_LONGEST = 1000
"""Letters of a title, a status or a lost value that people are shown: others may have written longer ones."""


_MANY = 100
"""Labels, people and lost values that people are shown."""


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

    items: list[Details | msgspec.Raw]
    nextCursor: str | None
    next_cursor: str | None
    generation: int


class Listing(Answer, frozen=True):
    """A page of a list for people; the details are read only when JSON is asked for."""

    rows: Sequence[Row]
    how: Drawing
    next_cursor: str | None
    read_details: Callable[[], ListedDetails]
    milestones: Mapping[str, str]
    short: Mapping[str, str]
    people: Mapping[int, str]
    nothing: str = "Nothing matches"

    def plain(self) -> ListedDetails:
        """The JSON form."""
        return self.read_details()

    def for_person(self) -> str:
        """The table, or what `--format` asked for."""
        if self.how.style == "json":
            return Verbatim(msgspec.json.encode(self.plain()).decode("utf-8"))
        names = self.milestones, self.short, self.people
        return draw_list(self.rows, self.how, self.next_cursor, *names, self.nothing)


def make_details(row: Row, item: Item, entity: Entity | None, comments: list[ShownComment]) -> Details:
    """Returns one item of `list --json`."""
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


class ShownInFull(Answer, frozen=True):
    """`show` for people; programs get the same JSON as from the tool."""

    shown: Shown
    milestone: str
    now: datetime.datetime | None = None
    """Given on a terminal, where times are told as ages."""

    def plain(self) -> Shown:
        """The JSON form."""
        return self.shown

    def for_person(self) -> str:
        """Title, facts, description, comments."""
        shown = self.shown
        head = f"{flatten(shown.title[:_LONGEST])} {in_brackets(flatten(shown.status[:_LONGEST]))}"
        lines = [head, f"ID: {flatten(shown.id)} ({flatten(shown.kind[:_LONGEST])})"]
        if shown.labels:
            lines.append(f"Labels: {flatten(', '.join(cut_names(shown.labels, _MANY)))}")
        if self.milestone:
            lines.append(f"Milestone: {flatten(self.milestone)}")
        if shown.due:
            lines.append(f"Due: {flatten(shown.due[:_LONGEST])}")
        if shown.assignees:
            lines.append(f"Assignees: {flatten(', '.join(cut_names(shown.assignees, _MANY)))}")
        if shown.children:
            lines.append(
                "Sub-issues: " + draw_progress(shown.children.total - shown.children.closed, shown.children.closed)
            )
        if shown.criteria:
            done = sum(one.done for one in shown.criteria)
            lines.append("Criteria: " + draw_progress(len(shown.criteria) - done, done, what="done"))
        stats = shown.stats
        if isinstance(stats.open_issues, int) and isinstance(stats.closed_issues, int):
            lines.append(draw_progress(stats.open_issues, stats.closed_issues))
        if shown.claim:
            until = f"{self._tell(shown.claim.until)}{' (expired)' * shown.claim.expired}"
            lines.append(f"Claimed by {flatten(shown.claim.who)} until {until}")
        lines += [f"{flatten(one.who)} claimed it at the same time, and lost" for one in shown.lost_claims or ()]
        lines += [
            f"{flatten(link.type)}: {link.id[:8]} {flatten(link.title)} {in_brackets(flatten(link.status))}"
            for link in shown.links or ()
        ]
        lines += [
            f"Conflict: {flatten(one.field[:_LONGEST])} was also set to {(one.value or '')[:_LONGEST]!r} by"
            f" {flatten(one.author)} {self._tell(one.ts, 'at ')};"
            f" decide with `git mile resolve {shown.id[:8]}`"
            for one in (shown.conflicts or ())[:_MANY]
        ]
        if shown.conflicts and len(shown.conflicts) > _MANY:
            lines.append(f"({format_count(len(shown.conflicts) - _MANY, 'more conflict')}; --json has all)")
        lines += [f"{flatten(key)}: {flatten(value)}" for key, value in (shown.fields or {}).items()]
        later = shown.updated_at != shown.created_at
        updated = f", updated {self._tell(shown.updated_at)}" if later else ""
        lines.append(f"By {flatten(shown.author)} {self._tell(shown.created_at, 'at ')}{updated}")
        if shown.description:
            lines += ["", harmless(shown.description)]
        if shown.comments_omitted:
            count = format_count(shown.comments_omitted, "earlier comment")
            lines += ["", f"({count}; --limit-comments shows more)"]
        for comment in shown.comments:
            changed = " (edited)" if comment.edited_at else ""
            head = f"{flatten(comment.author)} {self._tell(comment.ts, 'at ')}{changed}  {flatten(comment.id)}"
            lines += ["", head, harmless(comment.body)]
        return harmless("\n".join(lines))

    def _tell(self, ts: str, at: str = "") -> str:
        """Returns a moment: on a terminal how long ago it was."""
        return format_age(ts, self.now) if self.now else at + flatten(ts)
