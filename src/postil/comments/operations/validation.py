"""The arguments of operations: their types, the schemas that the contract publishes, and what types cannot refuse.

msgspec sorts the values of a Literal, and the contract's order is part of it; so an enum here is a string with the
values in its published schema, and the other values are refused by a function. A struct's docstring is published too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, TypeAlias

import msgspec
from msgspec import Meta, Struct

from postil.comments.failures import CommentNotFound
from postil.comments.model import (
    ALL_TAGS,
    LONGEST_AUTHOR,
    LONGEST_PATH,
    LONGEST_TEXT,
    TAGS,
    AiMeta,
    Comment,
    State,
    Status,
)
from postil.comments.sidecar.format import is_comment_id
from postil.comments.sidecar.short_ids import is_named, is_short, split_file
from postil.core import call
from postil.core.failure import InvalidArguments

if TYPE_CHECKING:
    from postil.comments.sidecar.document import Sidecar

ASSISTANT = "ai"
"""Who writes where an assistant of this machine does, which has no other name."""
FORMATS = ("json", "markdown", "jsonl", "parquet")
"""The formats of the contract, in its order."""
_ID = {"pattern": r"^c_\d+$"}  # published and not enforced: the extension's comments have UUIDs
_UNLISTED = {"unlisted": True}
"""Taken, and not published: the contract does not have it."""
BY_CONTRACT = "by contract"
"""How a comment is anchored on the contract's face, which has no such argument."""

Id: TypeAlias = Annotated[str, Meta(description="The comment's id", min_length=1, max_length=200)]
AnyTag: TypeAlias = Annotated[str, Meta(description="Only this tag", extra_json_schema={"enum": list(ALL_TAGS)})]
Where: TypeAlias = Annotated[str, Meta(description="Only this file, folder or glob", max_length=LONGEST_PATH)]
AnyState: TypeAlias = Annotated[State, Meta(description="Only with code in this state")]
AnyStatus: TypeAlias = Annotated[Status, Meta(description="Only of this status")]
MOST_AT_ONCE = 1000
Limit: TypeAlias = Annotated[int, Meta(ge=1, le=MOST_AT_ONCE, description="At most so many")]
Skip: TypeAlias = Annotated[int, Meta(ge=0, description="Without the first")]
EndLine: TypeAlias = Annotated[int, Meta(ge=0, description="The last line, for a range")]
FilePath: TypeAlias = Annotated[
    str,
    Meta(description="Relative path to source file from workspace root", extra_json_schema={"example": "src/app.ts"}),
]
Line: TypeAlias = Annotated[int, Meta(ge=1, description="Line number where comment should be added (1-indexed)")]
Text: TypeAlias = Annotated[str, Meta(min_length=1, max_length=LONGEST_TEXT, description="Comment text content")]
NewText: TypeAlias = Annotated[str, Meta(min_length=1, max_length=LONGEST_TEXT, description="New comment text")]
Moment: TypeAlias = Annotated[str, Meta(extra_json_schema={"format": "date-time"})]
GivenAiMeta: TypeAlias = Annotated[
    AiMeta,
    Meta(
        description="Optional AI metadata",
        extra_json_schema={
            "properties": {
                "model": {"type": "string"},
                "confidence": {"type": "number", "minimum": 0, "maximum": 1},
                "reasoning": {"type": "string"},
            }
        },
    ),
]


class _Arguments(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    pass


class AddArguments(_Arguments, frozen=True, kw_only=True):
    filePath: FilePath
    line: Line
    text: Text
    tag: Annotated[str, Meta(description="Comment tag category", extra_json_schema={"enum": list(TAGS)})]
    author: Annotated[str, Meta(description="Author name (e.g., 'claude', 'gpt-4', 'user')")] = ASSISTANT
    aiMeta: GivenAiMeta | None = None
    anchor: Annotated[str, Meta(extra_json_schema=_UNLISTED)] = BY_CONTRACT

    def __post_init__(self) -> None:
        if self.anchor != BY_CONTRACT:
            raise InvalidArguments("Invalid arguments: Object contains unknown field `anchor`", path="anchor")
        check_tag(self.tag, TAGS)
        check_author(self.author)


class EditArguments(_Arguments, frozen=True, kw_only=True):
    filePath: Annotated[str, Meta(description="Path to source file containing the comment")]
    commentId: Annotated[str, Meta(description="Unique comment ID (e.g., 'c_1730000000000')", extra_json_schema=_ID)]
    text: NewText


class DeleteArguments(_Arguments, frozen=True, kw_only=True):
    filePath: Annotated[str, Meta(description="Path to source file")]
    commentId: Annotated[str, Meta(description="Comment ID to delete", extra_json_schema=_ID)]


class DateRange(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    start: Moment | None = None
    end: Moment | None = None


class Filters(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Optional filters to narrow results"""

    tag: Annotated[str, Meta(extra_json_schema={"enum": list(TAGS)})] | None = None
    author: str | None = None
    filePath: Annotated[str, Meta(description="Filter by specific file or glob pattern")] | None = None
    hasAIMetadata: Annotated[bool, Meta(description="Only return AI-enriched comments")] | None = None
    dateRange: DateRange | None = None
    state: Annotated[State | None, Meta(extra_json_schema=_UNLISTED)] = None
    status: Annotated[Status | None, Meta(extra_json_schema=_UNLISTED)] = None


class SearchArguments(_Arguments, frozen=True, kw_only=True):
    query: Annotated[str, Meta(min_length=1, description="Search query (supports regex)")]
    filters: Filters | None = None
    limit: Annotated[int, Meta(le=1000, description="Max results to return")] = 100
    replies: Annotated[bool, Meta(extra_json_schema=_UNLISTED)] = False

    def __post_init__(self) -> None:
        for name in ("state", "status"):  # which the contract's filters do not have
            if self.filters and getattr(self.filters, name):
                said = f"Invalid arguments: Object contains unknown field `{name}` at filters"
                raise InvalidArguments(said, path="filters")


class MoveArguments(_Arguments, frozen=True, kw_only=True):
    sourceFile: Annotated[str, Meta(description="Current file containing the comment")]
    targetFile: Annotated[str, Meta(description="Destination file (can be same as source)")]
    commentId: Annotated[str, Meta(extra_json_schema=_ID)]
    targetLine: Annotated[int, Meta(ge=1, description="New line number in target file")]


class ExportOptions(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    includeSourceContext: Annotated[bool, Meta(description="Include surrounding code lines")] = False
    contextLines: Annotated[int, Meta(description="Lines of context before/after", ge=0, le=20)] = 3


class ExportArguments(_Arguments, frozen=True, kw_only=True):
    format: Annotated[str, Meta(description="Export format", extra_json_schema={"enum": list(FORMATS)})]
    filePath: Annotated[str, Meta(description="Optional: Export only specific file (omit for all files)")] | None = None
    options: ExportOptions | None = None

    def __post_init__(self) -> None:
        check_format(self.format, FORMATS)


class KnownAiMeta(Struct, frozen=True):
    """What the contract knows of an assistant's metadata; other keys are kept as they come."""

    model: str | None = None
    confidence: Annotated[float, Meta(ge=0, le=1)] | None = None
    reasoning: str | None = None


def find_comment(sidecar: Sidecar, comment: str) -> Comment:
    """Returns the comment that a caller names. Raises CommentNotFound, or InvalidArguments when that is no id."""
    comment = split_file(comment)[1]
    found = sidecar.comment(comment)
    if found:
        return found
    named = [each for each in sidecar.comments if is_named(each.id, comment)] if is_short(comment) else []
    if len(named) == 1:
        return named[0]
    if not is_comment_id(comment):
        raise InvalidArguments(
            "Invalid arguments: commentId is not the id of a comment",
            advice="Use get_file_comments to list valid comment IDs",
            path="commentId",
        )
    raise CommentNotFound(sidecar.path, comment)


def sign(author: str, person: Callable[[], str]) -> str:
    """Returns who writes: the name given, else the person at the shell, else an assistant. Raises InvalidArguments."""
    author = author or (person() if call.current().person else ASSISTANT)
    check_author(author)
    return call.current().sign(author, LONGEST_AUTHOR)


def check_author(author: str) -> None:
    """Raises InvalidArguments for a name that is empty, too long or not on one line."""
    if not 1 <= len(author) <= LONGEST_AUTHOR or not author.isprintable():
        raise InvalidArguments(
            f"Invalid arguments: author is a name of 1 to {LONGEST_AUTHOR} characters on one line", path="author"
        )


def check_text(text: str) -> None:
    """Raises InvalidArguments for a text that is empty or too long."""
    if not 1 <= len(text) <= LONGEST_TEXT:
        raise InvalidArguments(f"Invalid arguments: text has 1 to {LONGEST_TEXT} characters", path="text")


def check_tag(tag: str | None, known: tuple[str, ...] = ALL_TAGS) -> None:
    """Raises InvalidArguments for a tag that is not known."""
    if tag is not None and tag not in known:
        raise InvalidArguments(
            f"Invalid arguments: unknown tag {tag[:50]!r}", advice=f"Use one of {', '.join(known)}", path="tag"
        )


def name_tag(tag: str | None) -> str | None:
    """Returns a tag as it is written, however it was typed. Raises InvalidArguments for one that is not known."""
    named = tag.upper() if tag else tag
    check_tag(named)
    return named


def check_format(name: str, known: tuple[str, ...]) -> None:
    """Raises InvalidArguments for a format that is not known."""
    if name not in known:
        raise InvalidArguments(
            f"Invalid arguments: unknown format {name[:50]!r}", advice=f"Use one of {', '.join(known)}", path="format"
        )


def check_ai(given: AiMeta) -> None:
    """Raises InvalidArguments for metadata whose known keys have other types or values."""
    try:
        msgspec.convert(given, KnownAiMeta)
    except msgspec.ValidationError as fault:
        reason, _, where = str(fault).partition(" - at `$")
        path = f"aiMeta{where.rstrip('`')}"
        raise InvalidArguments(f"Invalid arguments: {reason} at {path}", path=path) from None
