"""What becomes of the lines of a message: a suggestion in their place, and what changed since. Writes nothing."""

from __future__ import annotations

from postil.inbox.anchoring import LARGEST_READ, anchor
from postil.inbox.failures import FitsNoMore, NoSuggestion
from postil.inbox.model import Message, parse_span
from postil.workspace.files import read_file
from postil.workspace.paths import RelativePath
from postil.workspace.repository import Repository

AROUND = 3


def apply_suggestion(repository: Repository, message: Message, kept: bytes | None) -> bytes:
    """Returns the file with the suggestion in it. Raises NoSuggestion, FitsNoMore."""
    place, span = message.place, parse_span(message.place.line)
    if message.suggestion is None or span is None:
        raise NoSuggestion(message.id)
    found = anchor(repository, message, kept)
    now = parse_span(found.line)
    if place.side == "old" or kept is None or now is None or found.state not in ("exact", "moved"):
        raise FitsNoMore(message.id, found.describe())
    content = read_file(repository.root, RelativePath(place.file), LARGEST_READ)
    lines = content.split(b"\n")
    meant = kept.split(b"\n")[span[0] - 1 - place.start : span[1] - place.start]
    if lines[now[0] - 1 : now[1]] != meant:
        raise FitsNoMore(message.id, "changed")
    ending = b"\r" if meant and all(line.endswith(b"\r") for line in meant) else b""
    new = message.suggestion.encode().split(b"\n") if message.suggestion else []
    lines[now[0] - 1 : now[1]] = [line.rstrip(b"\r") + ending for line in new]
    return b"\n".join(lines)


def describe_change(repository: Repository, message: Message, kept: bytes | None) -> str:
    """Returns what changed in and around the lines of a message since it was sent, as a diff; empty for nothing."""
    import difflib  # only for those who compare

    place, span = message.place, parse_span(message.place.line)
    if span is None or kept is None:
        return ""
    found = anchor(repository, message, kept)
    now = parse_span(found.line)
    if found.state == "gone" or now is None:
        return "the lines are gone"
    content = read_file(repository.root, RelativePath(place.file), LARGEST_READ)
    before = _cut(kept, span[0] - place.start, span[1] - place.start)
    after = _cut(content, *now)
    rows = [*difflib.unified_diff(before, after, lineterm="", n=AROUND)][2:]
    return "\n".join(rows)


def _cut(content: bytes, first: int, last: int) -> list[str]:
    lines = content.decode("utf-8", "replace").split("\n")
    return lines[max(0, first - 1 - AROUND) : last + AROUND]
