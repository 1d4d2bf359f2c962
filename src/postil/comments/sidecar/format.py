"""Ids, times, tags and hashes as sidecars write them."""

from __future__ import annotations

import hashlib
import re
import secrets
import time
from datetime import UTC, datetime

from postil.comments.model import ALL_TAGS

_ID = re.compile(r"c_\d{1,40}|[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}")
_TAG = re.compile(rf"({'|'.join((*ALL_TAGS, 'WARN'))})(?::\s*|\s+)", re.IGNORECASE)
BLANK_LINE = "[blank line]"
LONGEST_LINE = 2000
"""So much of a line is kept beside its hash: a minified file must not be copied into its sidecar."""


def new_id(prefix: str) -> str:
    """`c_` or `gm_` and 19 digits: milliseconds, then six random ones, so that parallel writers do not collide."""
    return f"{prefix}{time.time_ns() // 1_000_000:013d}{secrets.randbelow(1_000_000):06d}"


def is_comment_id(text: str) -> bool:
    """Whether this could be the id of a comment: ours, the contract's, or a UUID of the extension."""
    return _ID.fullmatch(text) is not None


def now() -> str:
    """The present as JavaScript writes it: UTC, milliseconds, `Z`."""
    return stamp(datetime.now(UTC))


def stamp(moment: datetime) -> str:
    """A moment as JavaScript writes it."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z"


def moment(text: str) -> datetime | None:
    """The moment a text names, in UTC; a date alone is its beginning; None when it names none."""
    try:
        found = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)


def kept_of(line: str) -> str:
    """What a marker keeps of a line."""
    return line.strip()[:LONGEST_LINE]


def line_hash(line: str) -> str:
    """The extension's hash of a line: sha256 of the trimmed text, 16 hex digits."""
    return hashlib.sha256((line.strip() or BLANK_LINE).encode("utf-8", "replace")).hexdigest()[:16]


def blob_id(content: bytes, width: int = 40) -> str:
    """The id git gives this content; `width` 64 for repositories that use SHA-256."""
    made = hashlib.sha256() if width == 64 else hashlib.sha1(usedforsecurity=False)
    made.update(b"blob %d\0" % len(content))
    made.update(content)
    return made.hexdigest()


def detect_tag(text: str) -> str | None:
    """The tag a text begins with, as the extension detects it."""
    found = _TAG.match(text)
    if found:
        word = found[1].upper()
        return "WARNING" if word == "WARN" else word
    if text.startswith("?"):
        return "QUESTION"
    return "STAR" if text.startswith("⭐") else None


def without_tag(text: str, tag: str | None) -> str:
    """The text without a leading `TAG: `."""
    head = f"{tag}:"
    return text[len(head) :].lstrip() if tag and text.upper().startswith(head) else text
