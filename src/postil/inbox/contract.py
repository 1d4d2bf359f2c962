"""The texts of the lazygit bridge's contract, to the letter. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from postil.inbox.answers import Shown

NOTHING = "No new messages from lazygit"
MOST_SHOWN = 10
SEPARATOR = "\n\n" + "-" * 50 + "\n\n"


def format_view(messages: Sequence[Shown]) -> str:
    """Returns the messages as the contract shows them, or its sentence for none."""
    if not messages:
        return NOTHING
    return SEPARATOR.join(_format_message(number, message) for number, message in enumerate(messages, 1))


def _format_message(number: int, message: Shown) -> str:
    if message.source:  # no person wrote it and no code is meant: the contract's request makes no sense
        return f"Message {number}:\nFrom: {message.source}\nComment: {message.comment}\nTime: {message.time}"
    rows = [f"Message {number}:", f"File: {file_row(message.file, message.commit)}"]
    if message.line:
        rows.append(f"Line: {message.line}")
    replies = [f"{reply.author}: {reply.text}" for reply in message.replies]
    comment = "\n\n".join([message.comment, *replies])
    rows += [f"Comment: {comment}", f"Time: {message.time}", "", "Please improve this code."]
    return "\n".join(rows)


def file_row(file: str, commit: str) -> str:
    """Returns the file, or the commit where a message is about a whole commit."""
    return file or (f"commit {commit}" if commit else ".")
