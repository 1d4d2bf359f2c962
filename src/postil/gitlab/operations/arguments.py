"""The types of arguments that several operations share, and with them their schemas."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from msgspec import Meta

from postil.gitlab.failures import invalid
from postil.gitlab.instance.connection import Caching
from postil.gitlab.instance.identifiers import line

_UNLISTED = {"unlisted": True}  # taken, and in no published schema: core/schema.py

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


def caching(cache: bool, cache_ttl: int) -> Caching:
    """The contract's two parameters as one."""
    return Caching(cache, cache_ttl)


def joined(labels: Labels | None) -> str | None:
    """Labels as GitLab takes them: separated by commas, so none may be inside one."""
    if labels is None:
        return None
    for label in labels:
        if "," in line("labels", label):
            raise invalid("labels", "must not contain commas: give each label by itself")
    return ",".join(labels)


def word(name: str, given: str | None) -> str | None:
    """An optional line of text."""
    return None if given is None else line(name, given)
