"""Files that the person has reviewed: a mark on the content, so that a file that changes again is not marked."""

from __future__ import annotations

import time
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from postil.core.answer import Answer
from postil.core.operation import reads, writes
from postil.inbox.part import Inbox
from postil.workspace.digest import sha256

KEPT = 90 * 24 * 3600.0
MOST = 5_000


class Mark(Struct, frozen=True):
    """A file, and git's name of the content that was reviewed."""

    file: str
    content: str


class Marks(Answer, frozen=True):
    """What is reviewed."""

    files: tuple[Mark, ...]

    def for_model(self) -> str:
        """One file a line."""
        return "\n".join(mark.file for mark in self.files) or "No file is marked as reviewed"


class ReviewedFiles:
    """Marks of reviewed files."""

    def __init__(self, inbox: Inbox) -> None:
        self._inbox = inbox

    def _space(self) -> str:
        return f"inbox/{self._inbox.name()}/reviewed"

    @reads("inbox_reviewed", shell="inbox reviewed", toolset="extra")
    def list_reviewed(self) -> Marks:
        """List the files that the person has marked as reviewed."""
        with self._inbox.state.reading() as records:
            rows = records.range(self._space(), limit=MOST)
        return Marks(tuple(mark for _, value in rows if (mark := _decode(value)) is not None))

    @writes("inbox_mark_reviewed", shell="inbox mark-reviewed", positional=("file",), tool=False)
    def mark_reviewed(
        self,
        file: Annotated[str, Meta(description="the file", min_length=1, max_length=4096)],
        content: Annotated[
            str, Meta(description="git's name of its content; nothing takes the mark away", max_length=64)
        ] = "",
    ) -> Marks:
        """Mark the present content of a file as reviewed, or take the mark away."""
        key = sha256(file.encode("utf-8", "surrogatepass"))[:40]
        with self._inbox.state.writing() as changes:
            if content:
                changes.put(self._space(), key, msgspec.json.encode(Mark(file, content)), time.time() + KEPT)
            else:
                changes.delete(self._space(), key)
        return self.list_reviewed()


def _decode(value: bytes) -> Mark | None:
    """Returns a mark; None for one that cannot be read: its file is then not called reviewed."""
    try:
        return msgspec.json.decode(value, type=Mark)
    except (ValueError, RecursionError):
        return None
