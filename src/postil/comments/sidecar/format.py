"""Ids, times and tags as sidecars write them. Pure."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from postil.comments.model import ALL_TAGS

_ID = re.compile(r"c_\d{1,40}|[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}")
_TAG = re.compile(rf"({'|'.join((*ALL_TAGS, 'WARN'))})(?::\s*|\s+)", re.IGNORECASE)


def is_comment_id(text: str) -> bool:
    """Whether this could be the id of a comment: ours, the contract's, or a UUID of the extension."""
    return _ID.fullmatch(text) is not None


def format_time(moment: datetime) -> str:
    """Returns a moment as JavaScript writes it."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z"


def parse_time(text: str) -> datetime | None:
    """Returns the moment that a text names, in UTC; a date alone is its beginning. None when it names none."""
    try:
        found = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)


def detect_tag(text: str) -> str | None:
    """Returns the tag that a text begins with, as the extension detects it."""
    found = _TAG.match(text)
    if found:
        word = found[1].upper()
        return "WARNING" if word == "WARN" else word
    if text.startswith("?"):
        return "QUESTION"
    return "STAR" if text.startswith("⭐") else None


def strip_tag(text: str, tag: str | None) -> str:
    """Returns the text without a leading `TAG: `."""
    head = f"{tag}:"
    return text[len(head) :].lstrip() if tag and text[: len(head)].upper() == head else text
