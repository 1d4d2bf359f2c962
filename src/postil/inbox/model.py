"""What the inbox speaks of: a message and its life. Frozen structs and pure functions; nothing is kept or read here.

draft → queued → leased → seen → addressed | declined | dismissed. A draft waits for the rest of its review. Reading a
message leases it; only when the answer has surely reached the assistant is it seen. A lost answer queues it again, with
the same id and a higher attempt.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, Struct

from postil.inbox.failures import BadLine, CommentTooLong, EmptyComment

State: TypeAlias = Literal["draft", "queued", "leased", "seen", "addressed", "declined", "dismissed"]
Outcome: TypeAlias = Literal["addressed", "declined", "dismissed"]
Kind: TypeAlias = Literal["fix", "question", "note"]
Side: TypeAlias = Literal["new", "old"]
Context: TypeAlias = Literal[
    "",
    "files",
    "staging",
    "stagingSecondary",
    "commitFiles",
    "patchBuilding",
    "commits",
    "subCommits",
    "reflogCommits",
    "stash",
    "normal",
    "normalSecondary",
]
Number = Annotated[int, Meta(ge=1, description="the number of a message, as in #12")]
CLOSED: tuple[Outcome, ...] = ("addressed", "declined", "dismissed")
LONGEST_COMMENT = 64 * 1024
ASSISTANT = "assistant"
"""Who says what the person has not heard yet."""
PERSON = "you"
"""Who says what the person whose machine this is answers."""


class Lease(Struct, frozen=True):
    """Who has the message: a process (`holder`, empty when only time ends the lease) and its connection (`client`)."""

    id: str
    client: str
    holder: str
    since: float
    until: float


class Reply(Struct, frozen=True):
    """What somebody said to a message."""

    author: str
    text: str
    time: str


class Place(Struct, frozen=True, omit_defaults=True):
    """The code a message is about, as it was when the message was sent."""

    file: str
    """Relative to the repository."""
    line: str = ""
    """`42`, `42-45`, or empty for the whole file."""
    side: Side = "new"
    context: Context = ""
    commit: str = ""
    base: str = ""
    """Of a range of commits: what it is compared with."""
    branch: str = ""
    blob: str = ""
    """git's name of the version of the file that was commented on."""
    code: str = ""
    hunk: str = ""
    start: int = 0
    """The first line of the kept text in the file, less one: not 0 only for files too large to keep whole."""


class Message(Struct, frozen=True, omit_defaults=True):
    """One remark of a person, or what another system reported."""

    id: int
    place: Place
    comment: str
    time: str
    kind: Kind = "fix"
    state: State = "queued"
    sequence: int = 0
    """Grows each time a message is queued, first or again: what `wait` counts by."""
    attempt: int = 0
    """How many times it was handed to an assistant."""
    lease: Lease | None = None
    broadcast: bool = False
    readers: tuple[str, ...] = ()
    """Of a broadcast message: the clients that have it."""
    replies: tuple[Reply, ...] = ()
    """What was said. Of a stored message only what older versions kept inside it: the rest has records of its own."""
    said: int = 0
    """How many replies are kept beside the message, so that one more costs the same as the first."""
    edited: bool = False
    suggestion: str | None = None
    """What the person would put in place of the lines; empty to delete them."""
    review: int = 0
    """The first message of the review that it was sent with; 0 for one sent alone."""
    summary: str = ""
    """Of the first message of a review: what the person says of the whole."""
    source: str = ""
    """Which system reported it, about no code; empty for what a person wrote."""
    author: str = ""
    """Who wrote it, as the gateway knows them; empty for the person whose machine this is."""
    unsent: bool = False
    """Whether it was thrown away as a draft: nobody but its author ever saw it."""


def check_comment(comment: str) -> str:
    """Returns the comment unchanged. Raises EmptyComment, CommentTooLong."""
    if not comment.strip():
        raise EmptyComment
    size = len(comment.encode("utf-8", "surrogatepass"))
    if size > LONGEST_COMMENT:
        raise CommentTooLong(size, LONGEST_COMMENT)
    return comment


def parse_span(line: str) -> tuple[int, int] | None:
    """Returns the first and last line of `42` or `42-45`; None for the whole file (empty, or the word `file`)."""
    text = line.strip()
    if text in ("", "file"):
        return None
    first, dash, last = text.partition("-")
    try:
        start = _parse_number(first)
        end = _parse_number(last) if dash else start
    except ValueError:
        raise BadLine(line) from None
    if start < 1 or end < start:
        raise BadLine(line)
    return start, end


def _parse_number(text: str) -> int:
    text = text.strip()
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        raise ValueError(text)
    return int(text)


def format_span(span: tuple[int, int] | None) -> str:
    """Returns the canonical spelling of a span of lines."""
    if span is None:
        return ""
    start, end = span
    return str(start) if start == end else f"{start}-{end}"
