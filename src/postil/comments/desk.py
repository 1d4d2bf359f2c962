"""What every operation on comments works with: the ground, the sidecars, the readings, and how they are written.

The part's operations are spread over several classes, one a file; this is what they share.
"""

from __future__ import annotations

import os
from functools import cached_property
from typing import TYPE_CHECKING

from postil.anchor.languages import language_of
from postil.anchor.symbols import Symbol, symbols
from postil.comments.anchoring import marker_for, renewed
from postil.comments.failures import CommentNotFound, InvalidLine
from postil.comments.ground import Ground, Source
from postil.comments.jsontext import JsonObject
from postil.comments.model import ALL_TAGS, LONGEST_AUTHOR, LONGEST_TEXT, TAGS, Comment
from postil.comments.oldtexts import OldTexts
from postil.comments.reading import Reading
from postil.comments.sidecar import Sidecar
from postil.comments.store import Store
from postil.comments.words import is_comment_id
from postil.core import call
from postil.core.failure import InvalidArguments, NotAllowed

if TYPE_CHECKING:
    from postil.comments.overview import Overview


class Desk:
    """One workspace's comments. `start` is any folder in it; `author` signs what people write in the shell."""

    def __init__(self, start: str = "", *, cache_home: str = "", author: str = "") -> None:
        self.ground = Ground(start or os.getcwd(), cache_home)
        self.store = Store(self.ground)
        self.texts = OldTexts(self.ground)
        self.reading = Reading(self.ground, self.store, self.texts)
        self.author = author

    @cached_property
    def overview(self) -> Overview:
        """All comments of the workspace, through the cache."""
        from postil.comments.overview import Overview  # brings in SQLite, which one comment of one file does not need

        return Overview(self.reading)

    def source_with_line(self, path: str, line: int, end: int = 0) -> Source:
        """A source that has these lines."""
        source = self.ground.source(self.ground.path(path))
        count = len(source.lines)
        for number in (line, end or line):
            if not 1 <= number <= count:
                raise InvalidLine(source.path, number, count)
        if end and end < line:
            raise InvalidArguments("endLine is before line", path="endLine", line=line, endLine=end)
        return source

    def settle(self, sidecar: Sidecar, source: Source | None) -> None:
        """Write the places that are sure into a sidecar that is being changed anyway."""
        if source is None:
            return
        named: list[Symbol] | None = None
        for marker, place in self.reading.places(sidecar, source):
            if place.state in ("moved", "modified") and place.path == sidecar.path:
                named = named if named is not None else symbols(source.text, language_of(source.path))
                sidecar.change_marker(marker.id, renewed(marker, place, source, named))
        if named is not None:
            self.texts.keep(source)

    def marker_at(self, sidecar: Sidecar, source: Source, line: int, end: int = 0) -> JsonObject:
        """The marker for these lines: one that is already there, or a new one."""
        for raw in sidecar.raw_markers:
            if raw.line == line and (raw.endLine or 0) == end and raw.lineText == source.lines[line - 1].strip():
                return {"id": raw.id, "line": line}
        return marker_for(source, symbols(source.text, language_of(source.path)), line, end)


def wanted(sidecar: Sidecar, comment: str) -> Comment:
    """The comment a caller names; CommentNotFound, or InvalidArguments when that cannot be an id."""
    found = sidecar.comment(comment)
    if found:
        return found
    if not is_comment_id(comment):
        raise InvalidArguments(
            "Invalid arguments: commentId is not the id of a comment",
            advice="Use get_file_comments to list valid comment IDs",
            path="commentId",
        )
    raise CommentNotFound(sidecar.path, comment)


def check_tag(tag: str | None, *, every: bool = False) -> None:
    """Refuse a tag that there is none of."""
    known = ALL_TAGS if every else TAGS
    if tag is not None and tag not in known:
        raise InvalidArguments(
            f"Invalid arguments: unknown tag {tag[:50]!r}", advice=f"Use one of {', '.join(known)}", path="tag"
        )


def check_author(author: str) -> None:
    """Refuse a name that is empty or too long."""
    if not 1 <= len(author) <= LONGEST_AUTHOR:
        raise InvalidArguments(f"Invalid arguments: author has 1 to {LONGEST_AUTHOR} characters", path="author")


def check_text(text: str) -> None:
    """Refuse a text that is empty or too long."""
    if not 1 <= len(text) <= LONGEST_TEXT:
        raise InvalidArguments(f"Invalid arguments: text has 1 to {LONGEST_TEXT} characters", path="text")


def only_in_the_shell() -> None:
    """Refuse a caller from elsewhere: these commands read and write files that the person at the shell names."""
    if call.current().caller.surface not in ("shell", "library"):
        raise NotAllowed("This is a command of the shell", advice="Run it with `postil comments` in the workspace")
