"""The arguments of the contract's tools: types that publish exactly its schemas.

msgspec sorts the values of a Literal, and the contract's order is part of it; so an enum here is a string with the
values in its published schema, and the operation refuses the others itself. A struct's docstring is published too.
"""

from __future__ import annotations

from typing import Annotated, TypeAlias

from msgspec import Meta, Struct

from postil.comments.model import LONGEST_TEXT, TAGS, AiMeta, State, Status

FilePath: TypeAlias = Annotated[
    str,
    Meta(description="Relative path to source file from workspace root", extra_json_schema={"example": "src/app.ts"}),
]
Line: TypeAlias = Annotated[int, Meta(ge=1, description="Line number where comment should be added (1-indexed)")]
Text: TypeAlias = Annotated[str, Meta(min_length=1, max_length=LONGEST_TEXT, description="Comment text content")]
Tag: TypeAlias = Annotated[str, Meta(description="Comment tag category", extra_json_schema={"enum": list(TAGS)})]
Author: TypeAlias = Annotated[str, Meta(description="Author name (e.g., 'claude', 'gpt-4', 'user')")]
_UNLISTED = {"unlisted": True}
"""Taken, and not published: the contract does not have it."""
_ID = {"pattern": r"^c_\d+$"}
# The pattern is published and not enforced: the extension's comments have UUIDs.
EditedId: TypeAlias = Annotated[
    str, Meta(description="Unique comment ID (e.g., 'c_1730000000000')", extra_json_schema=_ID)
]
DeletedId: TypeAlias = Annotated[str, Meta(description="Comment ID to delete", extra_json_schema=_ID)]
MovedId: TypeAlias = Annotated[str, Meta(extra_json_schema=_ID)]
Format: TypeAlias = Annotated[
    str, Meta(description="Export format", extra_json_schema={"enum": ["json", "markdown", "jsonl", "parquet"]})
]
Moment: TypeAlias = Annotated[str, Meta(extra_json_schema={"format": "date-time"})]


class KnownAiMeta(Struct, frozen=True):
    """What the contract knows of an assistant's metadata; other keys are kept as they come."""

    model: str | None = None
    confidence: Annotated[float, Meta(ge=0, le=1)] | None = None
    reasoning: str | None = None


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


class DateRange(Struct, frozen=True, omit_defaults=True):
    start: Moment | None = None
    end: Moment | None = None


class Filters(Struct, frozen=True, omit_defaults=True):
    """Optional filters to narrow results"""

    tag: Annotated[str, Meta(extra_json_schema={"enum": list(TAGS)})] | None = None
    author: str | None = None
    filePath: Annotated[str, Meta(description="Filter by specific file or glob pattern")] | None = None
    hasAIMetadata: Annotated[bool, Meta(description="Only return AI-enriched comments")] | None = None
    dateRange: DateRange | None = None
    state: Annotated[State | None, Meta(extra_json_schema=_UNLISTED)] = None
    status: Annotated[Status | None, Meta(extra_json_schema=_UNLISTED)] = None


class ExportOptions(Struct, frozen=True, omit_defaults=True):
    includeSourceContext: Annotated[bool, Meta(description="Include surrounding code lines")] = False
    contextLines: Annotated[int, Meta(description="Lines of context before/after", ge=0, le=20)] = 3
