"""Messages a page at a time, the newest first: all, or those about some files. What a page of many has to ask."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from postil.core import call
from postil.core.operation import reads
from postil.inbox.answers import Found, cut_page
from postil.inbox.message_records import OPEN
from postil.inbox.model import Message
from postil.inbox.part import Inbox

MOST = 200
MOST_FILES = 2_000


class FindTools:
    """Finding messages."""

    def __init__(self, inbox: Inbox) -> None:
        self._inbox = inbox

    @reads("inbox_find", shell="inbox find", positional=("files",), toolset="extra")
    def find(
        self,
        files: Annotated[tuple[str, ...], Meta(max_length=MOST_FILES, description="only about these files")] = (),
        besides: Annotated[tuple[str, ...], Meta(max_length=MOST_FILES, description="about none of these")] = (),
        all: Annotated[bool, Meta(description="also those addressed, declined or dismissed")] = False,
        before: Annotated[int, Meta(ge=0, description="only those with a lower number")] = 0,
        limit: Annotated[int, Meta(ge=1, le=MOST, description="how many")] = 50,
    ) -> Found:
        """Find messages about this repository, the newest first: about some files, or about none of them."""
        self._inbox.take_legacy()
        wanted, others, person = frozenset(files), frozenset(besides), call.current().person

        def keep(message: Message) -> bool:
            file = message.place.file
            return (not wanted or file in wanted) and file not in others and (not before or message.id < before)

        spaces = [*OPEN, *(["draft"] if person else []), *(["closed"] if all else [])]
        found, more, drafts = self._inbox.messages.find_page(spaces, keep, limit)
        shown = tuple(self._inbox.show(message) for message in found)
        page = shown if person else cut_page(shown)
        note = "" if page else self._inbox.warn_outside()
        return Found(page, more + len(shown) - len(page), drafts if person else 0, note)
