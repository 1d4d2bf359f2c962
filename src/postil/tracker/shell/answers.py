"""What the shell's writing commands answer: JSON as the contract's program shaped it, and a sentence for people."""

from __future__ import annotations

from msgspec import UNSET, Struct, UnsetType


class MadeAnswer(Struct, frozen=True, kw_only=True):
    """`create --json`."""

    id: str
    title: str
    status: str
    description: str | None
    labels: tuple[str, ...]
    initial_comment: bool
    kind: str
    milestone: str | UnsetType = UNSET
    due: str | UnsetType = UNSET
    dry_run: bool | UnsetType = UNSET

    def shell(self) -> str:
        """What was made."""
        first = f"Would create {self.kind}" if self.dry_run else f"Created {self.kind} {self.id}"
        lines = [
            first,
            f"  Title: {self.title}",
            f"  Status: {self.status}",
            f"  Labels: {', '.join(self.labels) or '-'}",
            f"  Comment: {'yes' if self.initial_comment else 'no'}",
        ]
        if self.milestone:
            lines.append(f"  Milestone: {self.milestone}")
        return "\n".join(lines)


class CommentAnswer(Struct, frozen=True, kw_only=True):
    """`comment --json`: the document's keys and the program's."""

    resource: str
    resource_id: str
    body: str
    preview: str
    created: bool
    comment_id: str | UnsetType = UNSET
    created_at: str | UnsetType = UNSET
    timestamp: str | UnsetType = UNSET
    author: str | UnsetType = UNSET
    dry_run: bool | UnsetType = UNSET

    def shell(self) -> str:
        """A sentence and the first line of the comment."""
        if self.dry_run:
            return f"Would comment on {self.resource} {self.resource_id}:\n{self.body}"
        return f"Comment {self.comment_id} recorded on {self.resource} {self.resource_id}\n  {self.preview}"


class LabelAnswer(Struct, frozen=True, kw_only=True):
    """`label --json`."""

    resource: str
    resource_id: str
    changed: bool
    added: list[str]
    removed: list[str]
    current: list[str]

    def shell(self) -> str:
        """The labels now."""
        told = [f"+{label}" for label in self.added] + [f"-{label}" for label in self.removed]
        return f"{' '.join(told) or 'nothing to change'}\nLabels: {', '.join(self.current) or '-'}"


class StatusAnswer(Struct, frozen=True, kw_only=True):
    """`open`, `close`, `draft` `--json`."""

    id: str
    kind: str
    status: str
    changed: bool

    def shell(self) -> str:
        """A sentence."""
        word = {"open": "opened", "closed": "closed", "draft": "made a draft"}[self.status]
        return f"{self.kind.capitalize()} {self.id} {word}" if self.changed else ""


class Said(Struct, frozen=True, kw_only=True):
    """A command that has a sentence and a few facts to tell."""

    done: str
    facts: dict[str, int | str | bool | list[str]] = {}

    def shell(self) -> str:
        """The sentence."""
        return self.done
