"""What the inbox answers: structs for programs, each with the text that people and models read. Pure."""

from __future__ import annotations

import time
from typing import Any

from postil.core.answer import Answer
from postil.inbox import contract
from postil.inbox.anchoring import Anchor
from postil.inbox.model import Kind, Message, Reply, Side, State


class Shown(Answer, frozen=True, omit_defaults=True):
    """A message as others see it."""

    id: int
    state: State
    file: str
    comment: str
    time: str
    kind: Kind = "fix"
    line: str = ""
    anchor: Anchor | None = None
    attempt: int = 0
    lease: str = ""
    """Name this to acknowledge or resolve: only the client that was given the message knows it."""
    side: Side = "new"
    commit: str = ""
    blob: str = ""
    code: str = ""
    hunk: str = ""
    broadcast: bool = False
    edited: bool = False
    replies: tuple[Reply, ...] = ()
    earlier_replies: int = 0
    """How many more were said before these; `postil inbox show` has all."""
    source: str = ""
    """The system that reported it; empty for a person's remark."""

    def for_model(self) -> str:
        """The message in full, for people."""
        lines = [self.headline(), *_indent(self.comment)]
        if self.hunk:
            lines += ["", *_indent(self.hunk)]
        elif self.code:
            lines += ["", *_indent(self.code)]
        if self.earlier_replies:
            lines += ["", f"    {self.earlier_replies} earlier replies"]
        for reply in self.replies:
            lines += ["", f"    {reply.author}, {reply.time}:", *_indent(reply.text)]
        return "\n".join(lines)

    def headline(self) -> str:
        """`#12 queued  src/main.go:42 (moved to 57)  question`."""
        where = self.file or self.source or f"commit {self.commit[:12]}"
        where += f":{self.line}" if self.line else ""
        if self.anchor is not None and self.anchor.state not in ("exact", "unknown"):
            where += f" ({self.anchor.describe()})"
        notes = [note for note in (self.kind if self.kind != "fix" else "", "edited" if self.edited else "") if note]
        if self.attempt > 1:
            notes.append(f"attempt {self.attempt}")
        return "  ".join([f"#{self.id} {self.state}", where, *notes])


def show(message: Message, anchor: Anchor | None, *, own: bool = False) -> Shown:
    """Returns what others see of a message: its lease only if it is their own, and never who holds it."""
    place = message.place
    return Shown(
        id=message.id,
        state=message.state,
        file=place.file,
        comment=message.comment,
        time=message.time,
        kind=message.kind,
        line=place.line,
        anchor=anchor,
        attempt=message.attempt,
        lease=message.lease.id if own and message.lease is not None else "",
        side=place.side,
        commit=place.commit,
        blob=place.blob,
        code=place.code,
        hunk=place.hunk,
        broadcast=message.broadcast,
        edited=message.edited,
        replies=message.replies,
        earlier_replies=max(0, message.said - len(message.replies)),
        source=message.source,
    )


class Checked(Answer, frozen=True):
    """What `check_lazygit_messages` gives: the contract's text, and everything else beside it."""

    messages: tuple[Shown, ...]

    def for_model(self) -> str:
        """The contract's text and nothing more."""
        return contract.format_view(self.messages)

    def meta(self) -> dict[str, Any]:
        """Id, attempt, lease, anchor and hunk, for clients of every era."""
        return {"postil/messages": self.messages} if self.messages else {}


class Listed(Answer, frozen=True):
    """The messages of this repository."""

    messages: tuple[Shown, ...]
    sequence: int = 0

    def for_model(self) -> str:
        """All of them, each with its words."""
        if not self.messages:
            return "No open messages"
        return "\n\n".join("\n".join([one.headline(), *_indent(one.comment)]) for one in self.messages)


class Waited(Answer, frozen=True):
    """What a wait ended with; `sequence` is where the next one begins."""

    messages: tuple[Shown, ...]
    sequence: int

    def for_model(self) -> str:
        """The messages as the contract shows them, and how to go on."""
        return f"{contract.format_view(self.messages)}\n\nTo wait for the next one: after={self.sequence}"


class Receipt(Answer, frozen=True, omit_defaults=True):
    """What the sender sees."""

    id: int
    file: str
    line: str = ""
    waiting: int = 0
    last_read: float = 0.0
    note: str = ""
    quiet: bool = False

    def for_model(self) -> str:
        """`#12 queued, 3 waiting, read 2 min ago`; quiet is the sentence of the old contract."""
        if self.quiet:
            return f"Message sent successfully for {self.file}"
        said = f"#{self.id} queued, {self.waiting} waiting, {describe_age(self.last_read, time.time())}"
        return f"{said}\n{self.note}" if self.note else said

    def plain(self) -> object:
        """The receipt; of the old contract's, what it always had."""
        return {"file": self.file, "id": self.id} if self.quiet else self


class Changed(Answer, frozen=True):
    """A message after a change."""

    message: Shown
    said: str

    def for_model(self) -> str:
        """What happened, in one line."""
        return self.said


class Picked(Answer, frozen=True):
    """The places of a file to choose from, for lazygit's menu."""

    places: tuple[tuple[str, str], ...]

    def for_model(self) -> str:
        """One a line: `12-15|the text there`."""
        return "\n".join(f"{line}|{label}" for line, label in self.places)


class Printed(Answer, frozen=True):
    """What a hook or a set-up prints: nothing at all when there is nothing to say."""

    output: str = ""

    def for_model(self) -> str:
        """As the program that reads it wants it."""
        return self.output


def describe_overflow(waiting: int) -> str:
    """Returns the sentence for more messages than the view holds."""
    return f"{waiting} messages wait: the assistant gets {contract.MOST_SHOWN} at a time, none is dropped"


def describe_age(then: float, now: float) -> str:
    """Returns when an assistant last looked, in words."""
    if not then:
        return "no assistant has read yet"
    seconds = max(0, int(now - then))
    if seconds < 60:
        return "read just now" if seconds < 5 else f"read {seconds} s ago"
    if seconds < 3600:
        return f"read {seconds // 60} min ago"
    return f"read {seconds // 3600} h ago" if seconds < 48 * 3600 else f"read {seconds // 86400} days ago"


def _indent(text: str) -> list[str]:
    return [f"    {line}".rstrip() for line in text.split("\n")]
