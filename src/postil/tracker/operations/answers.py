"""What the tracker's tools answer: the payloads of the contract, with more keys only where there is more to say."""

from __future__ import annotations

from msgspec import UNSET, Struct, UnsetType

from postil.tracker.index.tables import Row
from postil.tracker.model import Claim, Comment, Entity, LabelEvent
from postil.tracker.text import align, flatten, format_count, round_to_second, strip_address


class Counts(Struct, frozen=True):
    """`comment_count` alone, as issues have it."""

    comment_count: int


class MilestoneCounts(Struct, frozen=True):
    """What a milestone counts: its comments and its issues."""

    comment_count: int
    open_issues: int
    closed_issues: int
    progress: float
    """The share of its issues that is closed, 0 to 1."""


class ShownStats(Struct, frozen=True, kw_only=True):
    """The stats of one entity in full: the contract's counts, and the times that its program had there."""

    comment_count: int
    open_issues: int | UnsetType = UNSET
    closed_issues: int | UnsetType = UNSET
    progress: float | UnsetType = UNSET
    last_commented_at: str | UnsetType = UNSET
    created_at: str
    updated_at: str


class Item(Struct, frozen=True, kw_only=True):
    """One entity of a list, in brief."""

    id: str
    title: str
    status: str
    labels: tuple[str, ...]
    stats: Counts | MilestoneCounts
    milestone: str | UnsetType = UNSET
    due: str | UnsetType = UNSET
    claimed_by: str | UnsetType = UNSET
    conflicts: int | UnsetType = UNSET


class Listed(Struct, frozen=True, kw_only=True):
    """A page of a list."""

    items: list[Item]
    nextCursor: str | None


class ShownComment(Struct, frozen=True, kw_only=True):
    """One comment; its time has the names of the contract's document, recorded session and program."""

    id: str
    author: str
    body: str
    ts: str
    timestamp: str
    created_at: str
    edited_at: str | UnsetType = UNSET


class ShownLink(Struct, frozen=True):
    """A link, seen from this end."""

    type: str
    id: str
    title: str
    status: str


class ShownConflict(Struct, frozen=True):
    """A value that lost against a concurrent one."""

    field: str
    value: str | None
    author: str
    ts: str
    event: str


class ShownClaim(Struct, frozen=True):
    """Who works on it."""

    who: str
    until: str
    expired: bool


class Shown(Struct, frozen=True, kw_only=True):
    """One entity in full."""

    id: str
    title: str
    status: str
    description: str | None
    labels: tuple[str, ...]
    comments: list[ShownComment]
    stats: ShownStats
    kind: str
    author: str
    created_at: str
    updated_at: str
    assignees: tuple[str, ...] | UnsetType = UNSET
    milestone: str | UnsetType = UNSET
    due: str | UnsetType = UNSET
    links: list[ShownLink] | UnsetType = UNSET
    claim: ShownClaim | UnsetType = UNSET
    lost_claims: list[ShownClaim] | UnsetType = UNSET
    """Who claimed it at the same time and was not first."""
    conflicts: list[ShownConflict] | UnsetType = UNSET
    fields: dict[str, str] | UnsetType = UNSET
    label_events: tuple[LabelEvent, ...] | UnsetType = UNSET


class Changed(Struct, frozen=True, kw_only=True):
    """What a write did."""

    id: str
    kind: str
    title: str
    status: str
    changed: list[str]

    def text(self) -> str:
        """One sentence."""
        what = ", ".join(self.changed) or "nothing to change"
        return f"{self.kind.capitalize()} {self.id[:8]} “{self.title}” [{self.status}]: {what}"


class CommentAdded(Struct, frozen=True, kw_only=True):
    """A comment was recorded."""

    id: str
    comment_id: str
    ts: str

    def text(self) -> str:
        """One sentence."""
        return f"Comment {self.comment_id} recorded on {self.id}"


class ReadyItem(Struct, frozen=True, kw_only=True):
    """An issue that nothing blocks and nobody holds."""

    id: str
    title: str
    labels: tuple[str, ...]
    milestone: str | UnsetType = UNSET
    due: str | UnsetType = UNSET


class Ready(Struct, frozen=True, kw_only=True):
    """What can be worked on now."""

    items: list[ReadyItem]
    blocked: int
    cycles: list[list[str]] | UnsetType = UNSET

    def shell(self) -> str:
        """A table, then what waits."""
        rows = [
            [item.id[:8], flatten(item.title), flatten(",".join(item.labels)), item.due or ""] for item in self.items
        ]
        told = [align([["ID", "TITLE", "LABELS", "DUE"], *rows]) if rows else "Nothing is ready"]
        if self.blocked:
            told.append(f"{format_count(self.blocked, 'issue')} blocked by others")
        told += [f"Circle, cut at its youngest link: {' → '.join(circle)}" for circle in self.cycles or ()]
        return "\n".join(told)


class Claimed(Struct, frozen=True, kw_only=True):
    """Who holds an issue now."""

    id: str
    title: str
    who: str
    until: str

    def text(self) -> str:
        """One sentence."""
        if not self.who:
            return f"{self.id[:8]} “{self.title}” is free again"
        return f"{self.id[:8]} “{self.title}” is claimed by {self.who} until {self.until}"


def count_parts(kind: str, comments: int, by_status: dict[str, int] | None) -> Counts | MilestoneCounts:
    """The stats of an entity."""
    if kind != "milestone":
        return Counts(comments)
    closed = (by_status or {}).get("closed", 0)
    total = sum((by_status or {}).values())
    return MilestoneCounts(comments, total - closed, closed, round(closed / total, 4) if total else 0.0)


def make_item(row: Row, by_status: dict[str, int] | None) -> Item:
    """A row as an item of a list."""
    return Item(
        id=row.id,
        title=row.title,
        status=row.status,
        labels=row.label_names(),
        stats=count_parts(row.kind, row.comments, by_status),
        milestone=row.milestone or UNSET,
        due=row.due or UNSET,
        claimed_by=row.claim_who or UNSET,
        conflicts=row.conflicts or UNSET,
    )


def show_comment(comment: Comment) -> ShownComment:
    """A comment as it is shown."""
    ts = round_to_second(comment.ts)
    return ShownComment(
        id=comment.id,
        author=strip_address(comment.author),
        body=comment.body,
        ts=ts,
        timestamp=ts,
        created_at=ts,
        edited_at=round_to_second(comment.edited_ts) if comment.edited_ts else UNSET,
    )


def _show_claim(claim: Claim, now: str) -> ShownClaim:
    return ShownClaim(claim.who, round_to_second(claim.until), claim.until <= now)


def show_entity(entity: Entity, by_status: dict[str, int] | None, links: list[ShownLink], now: str) -> Shown:
    """An entity in full."""
    claim = entity.claim
    return Shown(
        id=entity.id,
        title=entity.title,
        status=entity.status,
        description=entity.description or None,
        labels=entity.labels,
        comments=[show_comment(comment) for comment in entity.comments],
        stats=_show_stats(entity, by_status),
        kind=entity.kind,
        author=strip_address(entity.author),
        created_at=round_to_second(entity.created_ts),
        updated_at=round_to_second(entity.updated_ts),
        assignees=entity.assignees or UNSET,
        milestone=entity.milestone or UNSET,
        due=entity.due or UNSET,
        links=links or UNSET,
        claim=_show_claim(claim, now) if claim else UNSET,
        lost_claims=[_show_claim(one, now) for one in entity.lost_claims if claim and one.until > now] or UNSET,
        conflicts=[
            ShownConflict(c.field, c.value, strip_address(c.author), round_to_second(c.ts), c.event)
            for c in entity.conflicts
        ]
        or UNSET,
        fields=entity.fields or UNSET,
        label_events=show_label_events(entity) or UNSET,
    )


def show_label_events(entity: Entity) -> tuple[LabelEvent, ...]:
    """Labels attached and detached since the creation."""
    return tuple(
        LabelEvent(one.operation, one.label, strip_address(one.actor), round_to_second(one.timestamp))
        for one in entity.label_events
    )


def _show_stats(entity: Entity, by_status: dict[str, int] | None) -> ShownStats:
    counted = count_parts(entity.kind, len(entity.comments), by_status)
    mile = counted if isinstance(counted, MilestoneCounts) else None
    return ShownStats(
        comment_count=counted.comment_count,
        open_issues=mile.open_issues if mile else UNSET,
        closed_issues=mile.closed_issues if mile else UNSET,
        progress=mile.progress if mile else UNSET,
        last_commented_at=round_to_second(max(c.ts for c in entity.comments)) if entity.comments else UNSET,
        created_at=round_to_second(entity.created_ts),
        updated_at=round_to_second(entity.updated_ts),
    )
