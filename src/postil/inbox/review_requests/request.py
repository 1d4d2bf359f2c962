"""A review that an assistant asks for, and its life. Frozen structs; nothing is kept or read here.

open → answered (by the person, with a verdict) | dismissed (by the person) | withdrawn (by the assistant). Its number
is one of the inbox: when it is answered or dismissed, what the person says of the whole becomes the message of that
number, so it reaches an assistant that no longer waits as every remark does.
"""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

from msgspec import Struct

from postil.core.failure import Conflict, InvalidArguments, NotFound
from postil.inbox.model import Place, Side

Verdict: TypeAlias = Literal["approve", "comment", "request_changes"]
RequestState: TypeAlias = Literal["open", "answered", "dismissed", "withdrawn"]
SAID: dict[str, str] = {"approve": "approved", "comment": "commented", "request_changes": "changes requested"}
"""How a verdict reads."""
MOST_OPEN = 20
"""Reviews that one caller asks for at once."""
MOST_OF_ALL = 100
"""The same, of all; who has none yet may always ask for one."""
MOST_NOTES = 50
LONGEST_SUMMARY = 8_000
LONGEST_NOTE = 4_000


class Note(Struct, frozen=True):
    """What the assistant says about some lines, with the code as it was then."""

    place: Place
    text: str


class ReviewRequest(Struct, frozen=True, omit_defaults=True):
    """One review that is asked for."""

    id: int
    scope: str
    """What is to be reviewed, as `workspace_diff` takes it."""
    says: str
    """The same, for people."""
    summary: str
    time: str
    principal: str
    notes: tuple[Note, ...] = ()
    state: RequestState = "open"
    verdict: Verdict | Literal[""] = ""
    words: str = ""
    """What the person said of the whole, or why one side ended it."""
    by: str = ""
    """Who ended it, as messages are signed."""


class GivenNote(Struct, frozen=True):
    """A note as it was given."""

    file: str
    line: str
    side: Side
    text: str


_NOTE = re.compile(r"(?P<file>[^\n]+?)(?::(?P<side>-?)(?P<line>\d+(?:-\d+)?))?:\s+(?P<text>\S.*)", re.DOTALL)


def parse_note(given: str) -> GivenNote:
    """Returns a note of `FILE:LINE: text`, `FILE:3-5: text`, `FILE:-3: text` (a removed line) or `FILE: text`.

    Raises BadNote.
    """
    found = _NOTE.fullmatch(given.strip()) if len(given) <= LONGEST_NOTE else None
    if found is None:
        raise BadNote
    return GivenNote(found["file"], found["line"] or "", "old" if found["side"] else "new", found["text"])


class BadNote(InvalidArguments):
    """Not a note."""

    def __init__(self) -> None:
        advice = f"Write FILE:LINE: text, in at most {LONGEST_NOTE} characters: src/main.py:42: is this right?"
        super().__init__("it is no note", advice=advice)


class NoSuchRequest(NotFound):
    """No review of that number was asked for here."""

    def __init__(self, number: int) -> None:
        super().__init__(
            f"No review {number} was asked for in this repository",
            advice="`postil inbox requests` lists those that are open",
            id=number,
        )


class RequestEnded(Conflict):
    """It is not open any more."""

    def __init__(self, number: int, state: str) -> None:
        super().__init__(
            f"Review {number} is {state} already",
            advice="Drafts that you have written stay: `postil inbox submit` sends them",
            id=number,
            state=state,
        )


class TooManyRequests(Conflict):
    """The person has enough to do."""

    def __init__(self, count: int) -> None:
        super().__init__(
            f"{count} reviews are asked for and not answered yet",
            advice="Wait for one of them, or take it back with request_review and withdraw",
        )


class NothingToReview(InvalidArguments):
    """Nothing differs there."""

    def __init__(self, says: str) -> None:
        super().__init__(
            f"There is nothing to review: {says[:200]} has no changes",
            advice="Give the scope that holds your changes, for example branch or a commit",
        )


class NothingSaid(InvalidArguments):
    """A verdict that has to say why."""

    def __init__(self, verdict: str) -> None:
        super().__init__(
            f"The verdict {verdict!r} needs words or a remark",
            advice="Write a remark on a line first, or give --summary",
        )
