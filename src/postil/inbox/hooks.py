"""Hooks: programs that some assistants run when a session starts, a prompt is sent or a turn ends.

What a hook prints becomes part of the conversation, in the shape that its client documents. It says nothing when there
is nothing to say; and it never makes a turn go on that is going on because of a hook already, so it cannot loop.
"""

from __future__ import annotations

import os
import re
import select
import sys
import time
from collections.abc import Sequence
from typing import Literal, TypeAlias

import msgspec
from msgspec import Struct

from postil.core import limits
from postil.inbox.answers import Shown
from postil.inbox.message_records import HOOK

Event: TypeAlias = Literal["prompt", "stop", "start", "idle"]
Client: TypeAlias = Literal["claude", "codex", "gemini", "cursor", "copilot"]
LARGEST = limits.SMALL_FILE
PATIENCE = 2.0
MOST_TEXT = 9000
"""Characters: clients cut what is longer, or put it into a file that nobody reads."""
ROOM = 400
"""Kept for the sentences around the messages."""

_CONTEXT_EVENTS: dict[Client, dict[Event, str]] = {
    "codex": {"start": "SessionStart", "prompt": "UserPromptSubmit"},
    "gemini": {"start": "SessionStart", "prompt": "BeforeAgent"},
}
_MUTE: tuple[tuple[Client, Event], ...] = (("cursor", "prompt"), ("copilot", "prompt"))
"""Clients that take nothing from this event: a message given there would be lost."""


class Payload(Struct, frozen=True):
    """What the client tells its hook on standard input. Other keys are ignored."""

    session_id: str = ""
    sessionId: str = ""  # Copilot's spelling
    conversation_id: str = ""
    stop_hook_active: bool = False
    loop_count: int = 0

    @property
    def client(self) -> str:
        """A name for the session that runs the hook."""
        named = self.session_id or self.sessionId or self.conversation_id
        return HOOK + (re.sub(r"[^\w.-]", "", named)[:80] or "session")

    @property
    def goes_on(self) -> bool:
        """Whether the turn is going on because of a hook already."""
        return self.stop_hook_active or self.loop_count > 0


def read_payload() -> Payload:
    """Returns what came on standard input; an empty payload where a person tries the command by hand."""
    try:
        content = _read_bounded(sys.stdin.fileno()) if not sys.stdin.isatty() else b""
        return msgspec.json.decode(content, type=Payload) if content.strip() else Payload()
    except (OSError, ValueError, RecursionError):
        return Payload()


def _read_bounded(source: int) -> bytes:
    """Read to the end, but never longer than a moment: a hook must not hold up a conversation."""
    deadline = time.monotonic() + PATIENCE
    chunks: list[bytes] = []
    while sum(map(len, chunks)) < LARGEST:
        ready, _, _ = select.select([source], [], [], max(0, deadline - time.monotonic()))
        chunk = os.read(source, 65536) if ready else b""
        if not chunk:
            break
        chunks.append(chunk)
    return b"".join(chunks)


def is_mute(client: Client, event: Event) -> bool:
    """Returns whether this client takes nothing from this event."""
    return (client, event) in _MUTE


def count_fitting(messages: Sequence[Shown]) -> int:
    """Returns how many of these fit into what a hook may say; the first always does, cut if need be."""
    size = 0
    for number, message in enumerate(messages):
        size += len(message.for_model()) + 2
        if number and size > MOST_TEXT - ROOM:
            return number
    return len(messages)


def format_text(new: Sequence[Shown], more: int = 0, open_before: Sequence[Shown] = ()) -> str:
    """Returns what is said of messages: the new ones whole, then those that were read and are not resolved."""
    pieces = _format_messages(new)
    if pieces and len("\n\n".join(pieces)) > MOST_TEXT - ROOM:
        rest = f"\n… cut: call inbox_show, or run `postil inbox show {new[0].id}`, for all of it"
        pieces = ["\n\n".join(pieces)[: MOST_TEXT - ROOM - len(rest)] + rest]
    if more:
        pieces.append(f"{more} more: call check_lazygit_messages (or run `postil inbox check`).")
    if open_before:
        pieces.append("Given to an assistant before and not resolved yet:")
        left = MOST_TEXT - ROOM - sum(len(piece) + 2 for piece in pieces)
        for number, message in enumerate(open_before):
            piece = f"{message.headline()}\n    {' '.join(message.comment.split())[:300]}"
            left -= len(piece) + 2
            if left < 0:
                pieces.append(f"{len(open_before) - number} more: call inbox_list (or run `postil inbox list`).")
                break
            pieces.append(piece)
    if not pieces:
        return ""
    pieces.append("When one is done, call inbox_resolve with its number (or run `postil inbox resolve NUMBER`).")
    return "\n\n".join(pieces)


def format_output(client: Client, event: Event, text: str) -> str:
    """Returns the text in the shape that this client reads after this event."""
    if event == "idle" or (client == "claude" and event != "stop"):
        return text
    if not text:
        return "" if client in ("claude", "codex") else "{}"
    if event == "stop":
        shape: object = {"decision": "deny" if client == "gemini" else "block", "reason": text}
        if client == "cursor":
            shape = {"followup_message": text}
    elif client in _CONTEXT_EVENTS:
        name = _CONTEXT_EVENTS[client][event]
        shape = {"hookSpecificOutput": {"hookEventName": name, "additionalContext": text}}
    else:
        shape = {"additional_context" if client == "cursor" else "additionalContext": text}
    return msgspec.json.encode(shape).decode()


def _format_messages(messages: Sequence[Shown]) -> list[str]:
    """Returns their words, those of the person apart from what another system reported."""
    remarks = [message.for_model() for message in messages if not message.source]
    reports = [message.for_model() for message in messages if message.source]
    if remarks:
        remarks.insert(0, f"The person reviewing this repository left {_describe_count(len(remarks))} about this code:")
    if reports:
        reports.insert(0, "Other systems reported, for your information:")
    return [*remarks, *reports]


def _describe_count(number: int) -> str:
    return "a remark" if number == 1 else f"{number} remarks"
