"""What the writing operations answer: a sentence, and a struct for programs.

Tools answer the short form. The commands settle `in_full`, and their `--json` has the keys that the contract's document
and its program have there; so every struct here holds one set of keys or the other.
"""

from __future__ import annotations

from msgspec import UNSET, UnsetType, field

from postil.core.answer import Answer
from postil.core.others.own_words import in_brackets
from postil.tracker.model import Entity
from postil.tracker.text import flatten

Facts = dict[str, int | str | bool | list[str]]


class Changed(Answer, frozen=True, kw_only=True):
    """What a write did. `changed` names what was written; for a change of status in full, whether anything was."""

    id: str
    kind: str
    title: str | UnsetType = UNSET
    status: str
    changed: list[str] | bool
    more: list[Changed] | UnsetType = UNSET
    """The same of the others, where several were named."""

    def for_model(self) -> str:
        """One sentence for each; none when the status was the one asked for already."""
        if isinstance(self.changed, bool):
            verb = {"open": "opened", "closed": "closed", "draft": "made a draft"}.get(self.status, self.status)
            said = [f"{flatten(self.kind).capitalize()} {self.id} {flatten(verb)}"] if self.changed else []
            return "\n".join([*said, *(line for one in self.more or () if (line := one.for_model()))])
        return _say_changes(self.kind, self.id, self.title, self.status, self.changed)


class Created(Answer, frozen=True, kw_only=True):
    """A new issue or milestone."""

    id: str
    title: str
    status: str
    description: str | UnsetType | None = UNSET
    labels: tuple[str, ...] | UnsetType = UNSET
    initial_comment: bool | UnsetType = UNSET
    kind: str
    milestone: str | UnsetType = UNSET
    due: str | UnsetType = UNSET
    dry_run: bool | UnsetType = UNSET
    changed: list[str] | UnsetType = UNSET

    def for_model(self) -> str:
        """What was made: one sentence, or in full a line a fact."""
        if self.changed is not UNSET:
            return _say_changes(self.kind, self.id, self.title, self.status, self.changed)
        lines = [
            f"Would create {self.kind}" if self.dry_run else f"Created {self.kind} {self.id}",
            f"  Title: {self.title}",
            f"  Status: {self.status}",
            f"  Labels: {', '.join(self.labels or ()) or '-'}",
            f"  Comment: {'yes' if self.initial_comment else 'no'}",
        ]
        return "\n".join([*lines, *([f"  Milestone: {self.milestone}"] if self.milestone else [])])


class LabelsChanged(Answer, frozen=True, kw_only=True):
    """Which labels were attached and detached."""

    id: str | UnsetType = UNSET
    kind: str | UnsetType = UNSET
    title: str | UnsetType = UNSET
    status: str | UnsetType = UNSET
    resource: str | UnsetType = UNSET
    resource_id: str | UnsetType = UNSET
    changed: list[str] | bool
    added: list[str] | UnsetType = UNSET
    removed: list[str] | UnsetType = UNSET
    current: list[str] | UnsetType = UNSET

    def for_model(self) -> str:
        """One sentence; in full, the changes and then the labels now."""
        if not isinstance(self.changed, bool):
            return _say_changes(self.kind, self.id, self.title, self.status, self.changed)
        changes = [f"+{label}" for label in self.added or ()] + [f"-{label}" for label in self.removed or ()]
        now = flatten(", ".join(self.current or ()))
        return f"{flatten(' '.join(changes)) or 'nothing to change'}\nLabels: {now or '-'}"


class CommentAdded(Answer, frozen=True, kw_only=True):
    """A comment was recorded, or would be."""

    id: str | UnsetType = UNSET
    resource: str | UnsetType = UNSET
    resource_id: str | UnsetType = UNSET
    body: str | UnsetType = UNSET
    preview: str | UnsetType = UNSET
    created: bool | UnsetType = UNSET
    comment_id: str | UnsetType = UNSET
    ts: str | UnsetType = UNSET
    created_at: str | UnsetType = UNSET
    timestamp: str | UnsetType = UNSET
    author: str | UnsetType = UNSET
    dry_run: bool | UnsetType = UNSET

    def for_model(self) -> str:
        """One sentence; in full, the first line of the comment too."""
        if self.resource is UNSET:
            return f"Comment {self.comment_id} recorded on {self.id}"
        if self.dry_run:
            return f"Would comment on {self.resource} {self.resource_id}:\n{self.body}"
        return f"Comment {self.comment_id} recorded on {self.resource} {self.resource_id}\n  {self.preview}"


class Claimed(Answer, frozen=True, kw_only=True):
    """Who holds an issue now."""

    id: str
    title: str
    who: str
    until: str
    blocked_by: list[str] | UnsetType = UNSET

    def for_model(self) -> str:
        """One sentence; a second if it waits for others."""
        if not self.who:
            return f"{self.id[:8]} “{flatten(self.title)}” is free again"
        waits = f"\nIt is blocked by {', '.join(self.blocked_by)}: those come first" if self.blocked_by else ""
        who, until = flatten(self.who), flatten(self.until)
        return f"{self.id[:8]} “{flatten(self.title)}” is claimed by {who} until {until}{waits}"


class Done(Answer, frozen=True, kw_only=True):
    """A sentence and a few facts."""

    done: str
    facts: Facts = field(default_factory=dict[str, int | str | bool | list[str]])

    def for_model(self) -> str:
        """The sentence."""
        return self.done


def report_change(entity: Entity | None, changed: list[str]) -> Changed:
    """Returns what a write did, with the state after it; what was written to is there."""
    assert entity is not None
    return Changed(id=entity.id, kind=entity.kind, title=entity.title, status=entity.status, changed=changed)


def _say_changes(
    kind: str | UnsetType, id_: str | UnsetType, title: str | UnsetType, status: str | UnsetType, changed: list[str]
) -> str:
    # What was there before may be of another writer, who may have written anything.
    what = flatten(", ".join(changed)) or "nothing to change"
    named = f"{flatten(str(kind)).capitalize()} {str(id_)[:8]} “{flatten(str(title))}”"
    return f"{named} {in_brackets(flatten(str(status)))}: {what}"
