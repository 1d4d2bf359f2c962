"""What the inbox answers: structs for programs, each with the text that people and models read. Pure."""

from __future__ import annotations

import time
from typing import Any

from msgspec import Struct

from postil.inbox import contract
from postil.inbox.anchoring import Anchor
from postil.inbox.model import Kind, Message, Reply, Side, State


class Shown(Struct, frozen=True, omit_defaults=True):
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
    """Name this to acknowledge or resolve: only whoever was given the message knows it."""
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

    def text(self) -> str:
        """The message in full, for people."""
        lines = [self.headline(), *_indented(self.comment)]
        if self.hunk:
            lines += ["", *_indented(self.hunk)]
        elif self.code:
            lines += ["", *_indented(self.code)]
        if self.earlier_replies:
            lines += ["", f"    {self.earlier_replies} earlier replies"]
        for reply in self.replies:
            lines += ["", f"    {reply.author}, {reply.time}:", *_indented(reply.text)]
        return "\n".join(lines)

    def headline(self) -> str:
        """`#12 queued  src/main.go:42 (moved to 57)  question`."""
        where = self.file or self.source or f"commit {self.commit[:12]}"
        where += f":{self.line}" if self.line else ""
        if self.anchor is not None and self.anchor.state not in ("exact", "unknown"):
            where += f" ({self.anchor.text()})"
        notes = [note for note in (self.kind if self.kind != "fix" else "", "edited" if self.edited else "") if note]
        if self.attempt > 1:
            notes.append(f"attempt {self.attempt}")
        return "  ".join([f"#{self.id} {self.state}", where, *notes])


def shown(message: Message, anchor: Anchor | None) -> Shown:
    """What others see of a message. Never the holder of its lease."""
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
        lease=message.lease.id if message.lease is not None else "",
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


class Checked(Struct, frozen=True):
    """What `check_lazygit_messages` gives: the contract's text, and everything else beside it."""

    messages: tuple[Shown, ...]

    def text(self) -> str:
        """The contract's text and nothing more."""
        return contract.view(self.messages)

    def meta(self) -> dict[str, Any]:
        """Id, attempt, lease, anchor and hunk, for clients of every era."""
        return {"postil/messages": self.messages} if self.messages else {}


class Listed(Struct, frozen=True):
    """The messages of this repository."""

    messages: tuple[Shown, ...]
    sequence: int = 0

    def text(self) -> str:
        """All of them, each with its words."""
        if not self.messages:
            return "No open messages"
        return "\n\n".join("\n".join([one.headline(), *_indented(one.comment)]) for one in self.messages)


class Waited(Struct, frozen=True):
    """What a wait ended with; `sequence` is where the next one begins."""

    messages: tuple[Shown, ...]
    sequence: int

    def text(self) -> str:
        """The messages as the contract shows them, and how to go on."""
        return f"{contract.view(self.messages)}\n\nTo wait for the next one: after={self.sequence}"


class Receipt(Struct, frozen=True, omit_defaults=True):
    """What the sender sees."""

    id: int
    file: str
    line: str = ""
    waiting: int = 0
    last_read: float = 0.0
    note: str = ""

    def text(self) -> str:
        """`#12 queued, 3 waiting, read 2 min ago`."""
        said = f"#{self.id} queued, {self.waiting} waiting, {read_ago(self.last_read, time.time())}"
        return f"{said}\n{self.note}" if self.note else said


class Sent(Struct, frozen=True):
    """What the old executable prints."""

    file: str
    id: int

    def text(self) -> str:
        """The contract's sentence."""
        return f"Message sent successfully for {self.file}"


class Changed(Struct, frozen=True):
    """A message after a change."""

    message: Shown
    said: str

    def text(self) -> str:
        """What happened, in one line."""
        return self.said


class Picked(Struct, frozen=True):
    """The places of a file to choose from, for lazygit's menu."""

    places: tuple[tuple[str, str], ...]

    def text(self) -> str:
        """One a line: `12-15|the text there`."""
        return "\n".join(f"{line}|{label}" for line, label in self.places)


class Hooked(Struct, frozen=True):
    """What a hook prints: nothing at all when there is nothing to say."""

    output: str = ""

    def text(self) -> str:
        """As the client that runs the hook wants it."""
        return self.output


def overflow(waiting: int) -> str:
    """The sentence for more messages than the view holds."""
    return f"{waiting} messages wait: the assistant gets {contract.MOST_SHOWN} at a time, none is dropped"


def read_ago(then: float, now: float) -> str:
    """When an assistant last looked, in words."""
    if not then:
        return "no assistant has read yet"
    seconds = max(0, int(now - then))
    if seconds < 60:
        return "read just now" if seconds < 5 else f"read {seconds} s ago"
    if seconds < 3600:
        return f"read {seconds // 60} min ago"
    return f"read {seconds // 3600} h ago" if seconds < 48 * 3600 else f"read {seconds // 86400} days ago"


def _indented(text: str) -> list[str]:
    return [f"    {line}".rstrip() for line in text.split("\n")]
