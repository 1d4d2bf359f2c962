"""Arguments that several operations take: their types, and what help and schemas say of them."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from postil.tracker.shell.columns import COLUMNS

EntityKind = Literal["milestone", "issue"]
Kind = Literal["milestone", "mile", "issue"]
Priority = Literal["critical", "high", "medium", "low", "none"]
IssueType = Annotated[Literal["bug", "feature", "task", "chore", "epic", "none"], Meta(description="kind of work")]
Id = Annotated[str, Meta(description="id or its beginning")]
Filter = Annotated[
    str, Meta(description='status == "open" and labels contains "x"; (= status open); status:open words')
]
Sort = Annotated[tuple[str, ...], Meta(description="field[:asc|desc]; may be repeated")]
Columns = Annotated[str, Meta(description="by comma: " + ",".join(COLUMNS))]
Format = Literal["table", "raw", "json"]
Message = Annotated[str, Meta(description="a note for the history")]
NoEditor = Annotated[bool, Meta(description="open no editor, whatever else is said")]
AllowEmpty = Annotated[bool, Meta(description="record the comment though it is empty")]


def full_kind(kind: Kind) -> str:
    """Returns the kind by its full name."""
    return "milestone" if kind == "mile" else kind
