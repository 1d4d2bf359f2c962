"""Messages as Markdown, to be pasted into another program. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from postil.core.answer import in_rows
from postil.inbox.answers import Shown


def format_markdown(messages: Sequence[Shown]) -> str:
    """Returns the messages, by file and in the order of their lines."""
    if not messages:
        return "No open messages"
    files: dict[str, list[Shown]] = {}
    for message in map(in_rows, messages):
        files.setdefault(message.file or (f"commit {message.commit[:12]}" if message.commit else "General"), []).append(
            message
        )
    pieces: list[str] = []
    for file in sorted(files):
        pieces.append(f"## {file}")
        pieces += [_format_one(message) for message in sorted(files[file], key=_position)]
    return "\n\n".join(pieces)


def _position(message: Shown) -> tuple[int, int]:
    return int(message.line.partition("-")[0] or 0), message.id


def _format_one(message: Shown) -> str:
    where = f"line {message.line}" if message.line else "the whole"
    if message.line and message.side == "old":
        where = f"deleted line {message.line}"
    rows = [f"**#{message.id}** {message.kind}, {where}, {message.state}", "", message.comment]
    code = message.code if message.suggestion is None else ""
    fence = "`" * max(3, *(len(run) + 1 for run in _runs(code + (message.suggestion or ""))))
    if code:
        rows += ["", fence, code, fence]
    if message.suggestion is not None:
        rows += ["", f"{fence}suggestion", message.suggestion, fence]
    for reply in message.replies:
        rows += ["", f"> **{reply.author}**: {reply.text.replace(chr(10), chr(10) + '> ')}"]
    return "\n".join(rows)


def _runs(text: str) -> list[str]:
    """Returns the runs of backticks: a fence has to be longer."""
    import re

    return re.findall("`+", text) or [""]
