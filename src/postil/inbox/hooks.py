"""Hooks: programs that some assistants run when a session starts, a prompt is sent or a turn ends.

What a hook prints becomes part of the conversation. It says nothing when there is nothing to say; and it never makes a
turn go on that is going on because of a hook already, so it cannot loop.
"""

from __future__ import annotations

import os
import re
import select
import sys
import time
from collections.abc import Sequence

import msgspec
from msgspec import Struct

from postil.core import limits
from postil.inbox.answers import Shown

LARGEST = limits.SMALL_FILE
PATIENCE = 2.0


class Payload(Struct, frozen=True):
    """What the client tells its hook on standard input. Other keys are ignored."""

    session_id: str = ""
    stop_hook_active: bool = False

    def client(self) -> str:
        """Returns a name for the session that runs the hook."""
        return "hook-" + (re.sub(r"[^\w.-]", "", self.session_id)[:80] or "session")


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


def format_output(event: str, messages: Sequence[Shown]) -> str:
    """Returns what the client wants to read: plain text, or, to go on instead of stopping, a decision as JSON."""
    if not messages:
        return ""
    said = "\n\n".join(_format_messages(messages))
    said += "\n\nWhen one is done, call inbox_resolve with its number (or run `postil inbox resolve NUMBER`)."
    if event == "stop":
        return msgspec.json.encode({"decision": "block", "reason": said}).decode()
    return said


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
