"""What the reading operations answer: the payloads of the contract, with more keys only where there is more to say."""

from __future__ import annotations

import re

import msgspec
from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from postil.core.answer import Answer
from postil.tracker.index.tables import Row
from postil.tracker.model import Claim, Comment, Conflict, Entity, LabelEvent
from postil.tracker.state.checklist import Criterion, list_criteria
from postil.tracker.text import cut_names, cut_title, round_to_second, strip_address
from postil.tracker.vocabulary import LONGEST_NAME, NO_PRIORITY, PRIORITIES

_MOST_BYTES = 20_000
_FEW = 20
_MOST_MADE = 1000
"""Changes of labels, lost values and lost claims that are made for an answer with room for a few."""
_LONGEST = 4000
_CUT = re.compile(r"… \((\d+) more characters\)\Z")


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
    created_at: str | UnsetType = UNSET
    updated_at: str | UnsetType = UNSET


class Item(Struct, frozen=True, kw_only=True):
    """One entity of a list, in brief."""

    id: str
    title: str
    status: str
    labels: tuple[str, ...]
    stats: Counts | MilestoneCounts
    milestone: str | UnsetType = UNSET
    due: str | UnsetType = UNSET
    priority: str | UnsetType = UNSET
    type: str | UnsetType = UNSET
    claimed_by: str | UnsetType = UNSET
    conflicts: int | UnsetType = UNSET


class Listed(Answer, frozen=True, kw_only=True):
    """A page of a list."""

    items: list[Item]
    nextCursor: str | None


class ShownComment(Struct, frozen=True, kw_only=True):
    """One comment; on the contract's face its time has the names of the document, recorded session and program."""

    id: str
    author: str
    body: str
    ts: str
    timestamp: str | UnsetType = UNSET
    created_at: str | UnsetType = UNSET
    edited_at: str | UnsetType = UNSET


class ShownLink(Struct, frozen=True):
    """A link, seen from this end."""

    type: str
    id: str
    title: str
    status: str


class ShownClaim(Struct, frozen=True):
    """Who works on it."""

    who: str
    until: str
    expired: bool


class ChildCounts(Struct, frozen=True):
    """How many issues have this one as their parent, and how many of them are closed."""

    total: int
    closed: int


class Shown(Answer, frozen=True, kw_only=True):
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
    conflicts: list[Conflict] | UnsetType = UNSET
    fields: dict[str, str] | UnsetType = UNSET
    label_events: tuple[LabelEvent, ...] | UnsetType = UNSET
    comments_omitted: int | UnsetType = UNSET
    """How many older comments are not here; `limit_comments` and `skip_comments` bring them."""
    shortened: list[str] | UnsetType = UNSET
    """What was cut to keep the answer small, and how to get it."""
    criteria: list[Criterion] | UnsetType = UNSET
    """The check boxes of the description."""
    children: ChildCounts | UnsetType = UNSET

    def for_model(self) -> str:
        """JSON in which each time has one name."""
        stats = replace(self.stats, created_at=UNSET, updated_at=UNSET, last_commented_at=UNSET)
        comments = [replace(one, timestamp=UNSET, created_at=UNSET) for one in self.comments]
        text = msgspec.json.encode(replace(self, comments=comments, stats=stats)).decode("utf-8")
        return text.replace("\u2028", "\\n").replace("\u2029", "\\n")  # cleaned texts have plain line breaks instead

    def for_contract(self) -> str:
        """JSON with all the names that the contract's document, session and program have."""
        return msgspec.json.encode(self).decode("utf-8")


def count_parts(kind: str, comments: int, by_status: dict[str, int] | None) -> Counts | MilestoneCounts:
    """Returns the stats of an entity."""
    if kind != "milestone":
        return Counts(comments)
    closed = (by_status or {}).get("closed", 0)
    total = sum((by_status or {}).values())
    return MilestoneCounts(comments, total - closed, closed, round(closed / total, 4) if total else 0.0)


def make_item(row: Row, by_status: dict[str, int] | None) -> Item:
    """Returns a row as an item of a list."""
    return Item(
        id=row.id,
        title=cut_title(row.title),
        status=row.status[:LONGEST_NAME],
        labels=cut_names(row.label_names()),
        stats=count_parts(row.kind, row.comments, by_status),
        milestone=row.milestone or UNSET,
        due=row.due or UNSET,
        priority=PRIORITIES[row.priority] if row.priority < NO_PRIORITY else UNSET,
        type=row.type or UNSET,
        claimed_by=row.claim_who or UNSET,
        conflicts=row.conflicts or UNSET,
    )


def show_comment(comment: Comment) -> ShownComment:
    """Returns a comment as it is shown."""
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


def show_conflicts(entity: Entity) -> list[Conflict]:
    """Returns the values that lost, with names and times as they are shown."""
    return [
        Conflict(one.field, one.value, strip_address(one.author), round_to_second(one.ts), one.event)
        for one in entity.conflicts
    ]


def show_label_events(entity: Entity) -> tuple[LabelEvent, ...]:
    """Returns the labels attached and detached since the creation."""
    return tuple(
        LabelEvent(one.operation, one.label, strip_address(one.actor), round_to_second(one.timestamp))
        for one in entity.label_events
    )


def show_entity(
    entity: Entity, by_status: dict[str, int] | None, links: list[ShownLink], now: str, comments: range
) -> Shown:
    """Returns an entity with some of its comments."""
    claim = entity.claim
    return Shown(
        id=entity.id,
        title=entity.title,
        status=entity.status,
        description=entity.description or None,
        labels=entity.labels,
        comments=[show_comment(entity.comments[at]) for at in comments],
        comments_omitted=comments.start or UNSET,
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
        conflicts=show_conflicts(entity) or UNSET,
        fields=entity.fields or UNSET,
        label_events=show_label_events(entity) or UNSET,
        criteria=list_criteria(entity.description) or UNSET,
        children=_count_children(links),
    )


def _count_children(links: list[ShownLink]) -> ChildCounts | UnsetType:
    children = [link for link in links if link.type == "child"]
    return ChildCounts(len(children), sum(link.status == "closed" for link in children)) if children else UNSET


def list_left(shown: Shown) -> list[str]:
    """Returns what is not done of an issue: how many of its sub-issues and its criteria."""
    children = shown.children.total - shown.children.closed if shown.children else 0
    boxes = shown.criteria or []
    undone = sum(not one.done for one in boxes)
    left = [f"{children} sub-issue{'s' * (children > 1)} still open"] if children else []
    return [*left, f"{undone} of {len(boxes)} criteria not done"] if undone else left


def trim(entity: Entity) -> Entity:
    """Returns an entity without what no answer has room for, which is then never made of its events."""
    lists = entity.label_events, entity.conflicts, entity.lost_claims
    is_held = isinstance(entity.comments, tuple) and isinstance(entity.conflicts, tuple)
    if is_held and max(map(len, lists)) <= _MOST_MADE:
        return entity
    from postil.tracker.state.large_history import MadeOnDemand  # hardly an entity is so large

    def make_comment(at: int) -> Comment:
        comment = entity.comments[at]
        return replace(comment, body=_cut_text(comment.body, _LONGEST))

    conflicts = (entity.conflicts[at] for at in range(max(0, len(entity.conflicts) - _FEW - 1), len(entity.conflicts)))
    return replace(
        entity,
        comments=MadeOnDemand(len(entity.comments), make_comment),
        label_events=entity.label_events[-_MOST_MADE:],
        conflicts=tuple(replace(one, value=one.value and _cut_text(one.value, _LONGEST)) for one in conflicts),
        lost_claims=entity.lost_claims[-_MOST_MADE:],
    )


def bound_shown(shown: Shown, entity: Entity) -> Shown:
    """Returns an entity that fits into an answer: lists and texts are cut, and it says which."""
    if _measure(shown) <= _MOST_BYTES:
        return shown
    cut: list[str] = []
    changes: dict[str, object] = {}
    for name in ("label_events", "conflicts", "links", "lost_claims", "labels", "assignees"):
        items = getattr(shown, name) or ()
        if len(items) > (5 * _FEW if name in ("labels", "assignees") else _FEW):
            changes[name] = items[-_FEW:]
            known = len(getattr(entity, name) if name in ("label_events", "conflicts") else items)
            cut.append(f"{name}: {known - _FEW} more; `git mile log` and `show --json` have all")
    if shown.criteria and len(shown.criteria) > 5 * _FEW:
        changes["criteria"] = shown.criteria[: 5 * _FEW]
        cut.append(f"criteria: {len(shown.criteria) - 5 * _FEW} more; `git mile show --json` has all")
    shown = replace(shown, **changes)
    length = _LONGEST
    while _measure(shown) > _MOST_BYTES and length > 50:
        comments = [replace(one, body=_cut_text(one.body, length)) for one in shown.comments]
        shown = replace(shown, comments=comments, description=_cut_text(shown.description or "", 2 * length) or None)
        length //= 2
    if length < _LONGEST:
        cut.append(f"texts: cut at {length * 2} characters; `git mile show {shown.id[:8]}` has them whole")
    while _measure(shown) > _MOST_BYTES and shown.comments:
        omitted = shown.comments_omitted or 0
        shown = replace(shown, comments=shown.comments[1:], comments_omitted=omitted + 1)
    return replace(shown, shortened=cut or UNSET)


def _measure(shown: Shown) -> int:
    return len(msgspec.json.encode(shown))


def _cut_text(text: str, length: int) -> str:
    """Returns a text of so many characters, and how many more there are; also of one that was cut before."""
    if len(text) <= length:
        return text
    cut = _CUT.search(text, len(text) - 40) if len(text) > 40 else None
    whole = cut.start() + int(cut[1]) if cut else len(text)
    if cut and cut.start() <= length:
        return text
    return f"{text[:length]}… ({whole - length} more characters)"


def _show_claim(claim: Claim, now: str) -> ShownClaim:
    return ShownClaim(claim.who, round_to_second(claim.until), claim.until <= now)


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
