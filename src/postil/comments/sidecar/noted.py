"""What was done to one comment of a sidecar, as the log of what was written keeps it. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import msgspec
from msgspec import Struct

from postil.comments.model import EDITED_BY, REVISIONS
from postil.comments.sidecar.json_edit import JsonObject

SAID = ("text", "tag", "status", "resolvedBy", "resolvedAt", EDITED_BY, REVISIONS)
"""What an edit or a decision changes, and what can be taken back; a key that is not there counts as null."""

MOST_BYTES = 16 * 1024 * 1024
"""Bytes of one write that are noted: as many as a sidecar may have."""
LONGEST = 4 * 1024 * 1024
"""Bytes of one note. What is longer is not noted: only another program makes such a comment."""
LONG = 512 * 1024
"""Bytes of a comment of which a change notes no more than what it changed."""


class Noted(Struct, frozen=True, omit_defaults=True):
    """A comment that was added, changed or (without one) taken out."""

    id: str
    comment: object = None
    marker: object = None
    """Its marker, where that is new."""
    was: JsonObject | None = None
    """Of a change, what it replaced: those of `SAID` that are other now."""
    undoes: bool = False
    """Whether the change takes back the last one before it."""
    reply: str = ""
    """The reply that was added, or that is taken back."""
    part: bool = False
    """Whether `comment` holds only what a change of a long comment made other."""


def note_change(comment: str, raw: JsonObject, new: JsonObject, size: int, *, undoes: bool, reply: str) -> Noted:
    """Returns the note of a change; `size` is how many bytes the comment had before."""
    was = {key: raw.get(key) for key in SAID if raw.get(key) != new.get(key)} or None
    if size < LONG:
        return Noted(comment, new, was=was, undoes=undoes, reply=reply)
    changed = {key: value for key, value in new.items() if key in ("id", "line") or raw.get(key) != value}
    return Noted(comment, changed, was=was, undoes=undoes, reply=reply, part=True)


class Steps(list[Noted]):
    """What was done to the comments of a large sidecar, as far as the log keeps it: no more is held until then."""

    def __init__(self, steps: list[Noted]) -> None:
        super().__init__(steps)
        self.missed: list[str] = []
        """The comments of which something is not noted: it is too long, or too much."""
        self._left = MOST_BYTES

    def append(self, step: Noted) -> None:
        """Note one more."""
        size = len(msgspec.json.encode(step))
        if size <= min(LONGEST, self._left):
            self._left -= size
            super().append(step)
        else:
            self.missed.append(step.id)

    def clear(self) -> None:
        """Forget all of them: they are in the log."""
        self.missed, self._left = [], MOST_BYTES
        super().clear()


class LostReply(Struct, frozen=True):
    """A reply that is not in its comment any more."""

    path: str
    comment: str
    reply: JsonObject
    at: str


def list_replies(comment: JsonObject) -> Iterator[tuple[str, JsonObject]]:
    """Yields the replies of a comment that have an id, with these."""
    replies = comment.get("replies")
    for each in cast("list[object]", replies) if isinstance(replies, list) else ():
        if isinstance(each, dict) and isinstance(name := cast(JsonObject, each).get("id"), str):
            yield name, cast(JsonObject, each)
