"""The state of an issue or a milestone, as readers see it: frozen structs that only `state/fold.py` makes."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec


class Comment(msgspec.Struct, frozen=True):
    """One comment as it stands."""

    id: str
    author: str
    body: str
    ts: str
    edited_ts: str | None = None


class Conflict(msgspec.Struct, frozen=True):
    """A value that lost against a concurrent one; writing the field again settles it."""

    field: str
    value: str | None
    author: str
    ts: str
    event: str


class Link(msgspec.Struct, frozen=True):
    """An edge to another entity, and where in the order of events it was made."""

    type: str
    target: str
    key: tuple[int, str, int] = (0, "", 0)


class Claim(msgspec.Struct, frozen=True):
    """Who works on it, and until when the claim holds."""

    who: str
    until: str
    event: str
    by: str = ""
    """The session or process that claimed it, where no name of its own was given."""


class LabelEvent(msgspec.Struct, frozen=True):
    """One label attached or detached after creation."""

    operation: str
    label: str
    actor: str
    timestamp: str


class Stamp(msgspec.Struct, frozen=True):
    """A place in the order of all events: counter and replica, written `12@k3f9…` in the old dialect."""

    counter: int
    replica: str

    def __str__(self) -> str:
        return f"{self.counter}@{self.replica}"


class Entity(msgspec.Struct, frozen=True):
    """An issue or a milestone.

    The sequences are tuples; of an entity with very many events they are made of those when somebody looks at them.
    """

    id: str
    kind: str
    title: str
    status: str
    description: str
    labels: tuple[str, ...]
    assignees: tuple[str, ...]
    milestone: str | None
    due: str | None
    links: tuple[Link, ...]
    comments: Sequence[Comment]
    claim: Claim | None
    lost_claims: Sequence[Claim]
    fields: dict[str, str]
    conflicts: Sequence[Conflict]
    deleted: bool
    author: str
    created: Stamp
    created_ts: str
    updated: Stamp
    updated_ts: str
    label_events: Sequence[LabelEvent]
    origin: str | None = None
    closed_ts: str | None = None
