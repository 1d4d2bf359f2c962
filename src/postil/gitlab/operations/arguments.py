"""The types of arguments that several operations share, and with them their schemas."""

from __future__ import annotations

import re
from typing import Annotated, Literal, TypeAlias

from msgspec import Meta

from postil.gitlab.failures import invalid
from postil.gitlab.instance.identifiers import check_line

_UNLISTED = {"unlisted": True}  # taken, and in no published schema: core/arguments/schema.py

Project: TypeAlias = Annotated[int | str, Meta(description="id, path or address")]
Iid: TypeAlias = Annotated[int | str, Meta(description="number or address")]
Number: TypeAlias = Annotated[int, Meta(ge=1)]
Page: TypeAlias = Annotated[int, Meta(ge=1, description="from 1")]
PerPage: TypeAlias = Annotated[int, Meta(ge=1, description="at most 100")]
Visibility: TypeAlias = Annotated[Literal["public", "private", "internal"], Meta(description="only these")]
IssueState: TypeAlias = Annotated[Literal["opened", "closed", "all"], Meta(description="only these")]
MergeRequestState: TypeAlias = Annotated[
    Literal["opened", "closed", "merged", "locked", "all"], Meta(description="only these")
]
User: TypeAlias = Annotated[int | str, Meta(description="id, name or me")]
Users: TypeAlias = Annotated[list[int | str], Meta(description="ids or names")]
UserFilter: TypeAlias = Annotated[int | str, Meta(description="id, name, me, None, Any")]
Labels: TypeAlias = Annotated[list[str], Meta(description="names")]
Title: TypeAlias = Annotated[str, Meta(description="one line")]
Branch: TypeAlias = Annotated[str, Meta(description="name")]
StateEvent: TypeAlias = Annotated[Literal["close", "reopen"], Meta(description="new state")]
Flag: TypeAlias = Annotated[bool, Meta(description="set it")]
Milestone: TypeAlias = Annotated[str, Meta(description="title, None or Any")]
Search: TypeAlias = Annotated[str, Meta(description="in title and description")]
Since: TypeAlias = Annotated[str, Meta(description="date or time")]
OrderBy: TypeAlias = Annotated[
    Literal["created_at", "updated_at", "priority", "title"], Meta(description="order of the list")
]
Sort: TypeAlias = Annotated[Literal["asc", "desc"], Meta(description="direction")]
Lines: TypeAlias = Annotated[str, Meta(description="range of lines: 10-20 or 10-")]
MaxBytes: TypeAlias = Annotated[int, Meta(description="size of the answer")]
Cache: TypeAlias = Annotated[bool, Meta(extra_json_schema=_UNLISTED)]
CacheTtl: TypeAlias = Annotated[int, Meta(ge=0, extra_json_schema=_UNLISTED)]

LONGEST_TITLE = 255
_TIME = re.compile(r"\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:?\d\d)?)?", re.ASCII)


def join_labels(labels: Labels | None) -> str | None:
    """Return labels as GitLab takes them: separated by commas, so none may be inside one."""
    if labels is None:
        return None
    for label in labels:
        if "," in check_line("labels", label):
            raise invalid("labels", "must not contain commas: give each label by itself")
    return ",".join(labels)


def check_optional_line(name: str, given: str | None) -> str | None:
    """Return a line of text, or None where none was given."""
    return None if given is None else check_line(name, given)


def check_body(given: str) -> str:
    """Return the text of a note, which must say something."""
    if not given.strip():
        raise invalid("body", "must not be empty")
    return given


def check_time(name: str, given: str | None) -> str | None:
    """Return a date or a time as GitLab takes it."""
    if given is not None and not _TIME.fullmatch(given):
        raise invalid(name, "must be a date such as 2026-01-31, or a time such as 2026-01-31T12:00:00Z")
    return given
