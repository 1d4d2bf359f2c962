"""The types of arguments that several operations share, and with them their schemas."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from msgspec import Meta

from postil.gitlab.failures import invalid
from postil.gitlab.instance.identifiers import check_line, check_number

_UNLISTED = {"unlisted": True}  # taken, and in no published schema: core/arguments/schema.py

Project: TypeAlias = Annotated[int | str, Meta(description="id or group/path")]
Iid: TypeAlias = Annotated[int, Meta(ge=1)]
Page: TypeAlias = Annotated[int, Meta(ge=1)]
PerPage: TypeAlias = Annotated[int, Meta(ge=1)]
Visibility: TypeAlias = Literal["public", "private", "internal"]
IssueState: TypeAlias = Literal["opened", "closed", "all"]
MergeRequestState: TypeAlias = Literal["opened", "closed", "merged", "locked", "all"]
Assignee: TypeAlias = int | Literal["None", "Any"]
Labels: TypeAlias = list[str]
Cache: TypeAlias = Annotated[bool, Meta(extra_json_schema=_UNLISTED)]
CacheTtl: TypeAlias = Annotated[int, Meta(ge=0, extra_json_schema=_UNLISTED)]

LONGEST_TITLE = 255


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


def list_assignees(assignee_id: int | None) -> list[int] | None:
    """Return the one assignee as the list that GitLab takes; None leaves the assignees as they are."""
    return None if assignee_id is None else [check_number("assignee_id", assignee_id)]
