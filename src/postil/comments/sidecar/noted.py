"""What was done to one comment of a sidecar, as the log of what was written keeps it. Pure."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from postil.comments.model import EDITED_BY
from postil.comments.sidecar.json_edit import JsonObject

SAID = ("text", "tag", "status", "resolvedBy", "resolvedAt", EDITED_BY)
"""What an edit or a decision changes, and what can be taken back; a key that is not there counts as null."""

LONGEST = 512 * 1024
"""Bytes of one of them. A comment that another program made larger is not noted, and a change of it not taken back."""
MOST_STEPS = 200
"""Comments of one write that are noted; an import writes thousands, and has its own file."""


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


class Steps(list[Noted]):
    """What was done to the comments of a large sidecar, as far as the log keeps it: no more is held until then."""

    def append(self, step: Noted) -> None:
        """Note one more."""
        if len(self) < MOST_STEPS and len(msgspec.json.encode(step)) < LONGEST:
            super().append(step)
