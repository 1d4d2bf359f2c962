"""The message file of the original bridge: one JSON object that lazygit's old command writes over and over.

Input only. It is taken in when it appears or changes, and when an assistant asks; it is deleted only by the tool call,
as the contract says, and only when what it holds has been taken in. A half-written file is left for the next look.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import msgspec
from msgspec import Struct

from postil.core import limits
from postil.core.failure import Failure
from postil.core.others.unreadable import UNREADABLE
from postil.inbox.model import LONGEST_COMMENT, format_span, parse_span
from postil.workspace.digest import sha256
from postil.workspace.disk import read_regular
from postil.workspace.repository import Repository, locate

LARGEST = limits.SMALL_FILE


class LegacyMessage(Struct, frozen=True):
    """What the file holds. Other keys are ignored."""

    file: str = ""
    comment: str = ""
    project_root: str = ""
    time: str = ""
    line: str | int | None = None

    def span(self) -> str:
        """Returns the line in our spelling; one that makes no sense is left out rather than the message."""
        try:
            return format_span(parse_span(str(self.line or "")))
        except Failure:
            return ""

    def digest(self) -> str:
        """Returns the contract's SHA-256 over file, comment and time; the line joins in when there is one."""
        parts = [self.file, self.comment, self.time] + ([self.span()] if self.span() else [])
        return sha256("".join(parts).encode("utf-8", "surrogatepass"))


def read_message(path: str) -> LegacyMessage | None:
    """Returns the message in the file, or None: no file, half-written, or not a message."""
    content = read_regular(path, LARGEST)
    return None if content is None else parse(content)


def parse(content: bytes) -> LegacyMessage | None:
    """Returns the message of a file's content, or None while it cannot be understood."""
    if len(content) > LARGEST:
        return None
    try:
        message = msgspec.json.decode(content, type=LegacyMessage)
    except UNREADABLE:
        return None
    if not message.comment.strip() or len(message.comment.encode()) > LONGEST_COMMENT:
        return None
    return message


def is_for(message: LegacyMessage, repository: Repository) -> bool:
    """Returns whether the message is about this repository. No root at all means any."""
    if not message.project_root.strip():
        return True
    try:
        theirs = locate(message.project_root)
    except Failure:
        theirs = None
    if theirs is None:
        return os.path.realpath(message.project_root) == repository.root
    return (theirs.root, theirs.common_dir) == (repository.root, repository.common_dir)


def delete_if_unchanged(path: str, taken: LegacyMessage) -> None:
    """Delete the file, unless another message has come into it since."""
    aside = f"{path}.{os.getpid():x}.taken"
    try:
        os.link(path, aside)  # hold on to what is there while it is compared
    except OSError:
        return
    try:
        if read_message(aside) == taken and os.path.samefile(path, aside):
            os.unlink(path)
    except OSError:
        pass
    finally:
        os.unlink(aside)


def watch(path: str, changed: Callable[[], None]) -> Callable[[], None]:
    """Call `changed` when the file may have changed, even in a new folder. Returns a function that stops this."""
    from postil.workspace.watch import EVERYTHING, call_on_change  # ctypes: only servers wait

    folders = [os.path.dirname(path)]
    while not os.path.isdir(folders[-1]) and os.path.dirname(folders[-1]) != folders[-1]:
        folders.append(os.path.dirname(folders[-1]))

    interesting = {path, EVERYTHING, *folders}

    def look(names: frozenset[str]) -> None:
        if names & interesting:
            changed()

    return call_on_change(folders, look)
