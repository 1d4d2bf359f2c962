"""Where the code of a message is now, in the words of the inbox: exact, moved, drifted, gone."""

from __future__ import annotations

import os
from typing import Literal, TypeAlias

from msgspec import Struct

from postil.core import limits
from postil.core.failure import Failure
from postil.inbox.model import Message, Place, format_span, parse_span
from postil.workspace.files import read_file
from postil.workspace.paths import RelativePath
from postil.workspace.repository import Repository

Whereabouts: TypeAlias = Literal["exact", "moved", "drifted", "gone", "unknown"]
LARGEST_READ = limits.FILE


class Anchor(Struct, frozen=True, omit_defaults=True):
    """Where the lines are now. `line` is empty when they are gone or the message is about a whole file."""

    state: Whereabouts
    line: str = ""

    def describe(self) -> str:
        """Returns words for people: `moved to 57`."""
        if self.state == "moved":
            return f"moved to {self.line}"
        if self.state == "drifted" and self.line:
            return f"drifted, now about {self.line}"
        return {"gone": "gone", "unknown": "not anchored"}.get(self.state, self.state)


def anchor(repository: Repository, message: Message, kept: bytes | None) -> Anchor:
    """Returns where the message's lines are in the file as it is now."""
    return anchor_place(repository, message.place, kept)


def anchor_place(repository: Repository, place: Place, kept: bytes | None) -> Anchor:
    """Returns where the lines of a place are in the file as it is now; `kept` is the text that it was found in."""
    if not place.file:
        return Anchor("exact")
    span = parse_span(place.line)
    if span is None:  # a file, which may be too large to read, or a folder
        return Anchor("exact" if os.path.lexists(os.path.join(repository.root, place.file)) else "gone")
    try:
        now = read_file(repository.root, RelativePath(place.file), LARGEST_READ)
    except Failure:
        return Anchor("gone")
    if kept is None or max(kept.count(b"\n"), now.count(b"\n")) > limits.LINES:
        return Anchor("unknown", place.line)
    if place.start == 0 and kept == now:
        return Anchor("exact", place.line)
    from postil.anchor.model import Span  # the anchor's engine: only when the file has changed
    from postil.anchor.relocate import relocate
    from postil.anchor.syntax.languages import ask_slow_texts_of
    from postil.workspace.workers.parsing import ask

    ask_slow_texts_of(ask)
    old, new = kept.decode("utf-8", "replace"), now.decode("utf-8", "replace")
    found = relocate(old, new, Span(span[0] - place.start, span[1] - place.start), place.file)
    if found.span is None:
        return Anchor("gone")
    line = format_span((found.span.start, found.span.last))
    if found.state in ("exact", "moved"):
        return Anchor("exact" if line == place.line else "moved", line)
    return Anchor("drifted", line)
