"""What becomes of the lines of a message: a suggestion in their place, and what changed since. Writes nothing."""

from __future__ import annotations

from postil.core.others.short_diff import list_changed
from postil.inbox.anchoring import LARGEST_READ, anchor
from postil.inbox.failures import AppliedAlready, FitsNoMore, NoSuggestion
from postil.inbox.model import Message, parse_span
from postil.workspace.failures import FileMissing
from postil.workspace.files import read_file
from postil.workspace.paths import RelativePath
from postil.workspace.repository import Repository

AROUND = 3
MOST_COMPARED = 20_000
"""Lines of a file in which what replaced others is looked for."""


def apply_suggestion(repository: Repository, message: Message, kept: bytes | None) -> bytes:
    """Returns the file with the suggestion in it. Raises NoSuggestion, FitsNoMore."""
    place, span = message.place, parse_span(message.place.line)
    if message.suggestion is None or span is None:
        raise NoSuggestion(message.id)
    found = anchor(repository, message, kept)
    now = parse_span(found.line)
    if place.side == "old" or kept is None or now is None or found.state not in ("exact", "moved"):
        raise (
            AppliedAlready(message.id) if _is_applied(repository, message) else FitsNoMore(message.id, found.describe())
        )
    content = read_file(repository.root, RelativePath(place.file), LARGEST_READ)
    lines = content.split(b"\n")
    meant = kept.split(b"\n")[span[0] - 1 - place.start : span[1] - place.start]
    if lines[now[0] - 1 : now[1]] != meant:
        raise FitsNoMore(message.id, "changed")
    ending = b"\r" if meant and all(line.endswith(b"\r") for line in meant) else b""
    new = message.suggestion.encode().split(b"\n") if message.suggestion else []
    lines[now[0] - 1 : now[1]] = [line.rstrip(b"\r") + ending for line in new]
    return b"\n".join(lines)


def _is_applied(repository: Repository, message: Message) -> bool:
    """Returns whether the file holds what is suggested: somebody made the change."""
    if not message.suggestion:
        return False
    try:
        content = read_file(repository.root, RelativePath(message.place.file), LARGEST_READ)
    except FileMissing:
        return False
    wanted = [line.rstrip() for line in message.suggestion.split("\n")]
    lines = [line.rstrip() for line in _split(content)]
    return "\n".join(["", *wanted, ""]) in "\n".join(["", *lines, ""])  # linear, as comparing at every line is not


def describe_change(repository: Repository, message: Message, kept: bytes | None) -> str:
    """Returns what changed in and around the lines of a message since it was sent, as a diff; empty for nothing."""
    place, span = message.place, parse_span(message.place.line)
    if span is None or kept is None:
        return ""
    found = anchor(repository, message, kept)
    now = parse_span(found.line)
    try:
        content = read_file(repository.root, RelativePath(place.file), LARGEST_READ)
    except FileMissing:
        return "the lines are gone"
    first, last = span[0] - place.start, span[1] - place.start
    if found.state == "gone" or now is None:
        now = _find_between(_split(kept), _split(content), first, last)
    if now is None:
        return "the lines are gone"
    before = _cut(kept, first, last)
    after = _cut(content, *now)
    return "\n".join(list_changed(before, after, AROUND))


def _find_between(then: list[str], now: list[str], first: int, last: int) -> tuple[int, int] | None:
    """Returns which lines stand now between those that stood before and behind these: what replaced them.

    The first may be one behind the last: nothing stands there. None where neither neighbour is found.
    """
    from postil.anchor.model import Source
    from postil.anchor.page import Page
    from postil.anchor.side_by_side.alignment import Alignment  # bounded, as difflib is not

    if len(now) > MOST_COMPARED:
        return None
    above, below = 0, len(now) + 1
    is_found = False
    aligned = Alignment(Page(Source("\n".join(then))), Page(Source("\n".join(now))))
    for row, place in enumerate((at + 1 for at in aligned.forward[: len(then)]), 1):
        if not place or not then[row - 1].strip():  # an empty line says nothing of where it is
            continue
        if row < first:
            above, is_found = place, True
        elif row > last and below > len(now):
            below, is_found = place, True
    if not is_found:
        return None
    if not above:
        above = max(0, below - 2 - (last - first))
    if below > len(now):
        below = min(len(now) + 1, above + 2 + (last - first))
    return above + 1, below - 1


def _cut(content: bytes, first: int, last: int) -> list[str]:
    return _split(content)[max(0, first - 1 - AROUND) : last + AROUND]


def _split(content: bytes) -> list[str]:
    return content.decode("utf-8", "replace").split("\n")
