"""Where the messages of a repository belong after it was renamed or moved: found again, and taken over.

Messages are kept by the real path of a repository. With the first of them its path and the mark of its git folder
(device and inode, which survive a rename) are noted. Adoption moves every record; the numbers stay.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from postil.core.others.unreadable import UNREADABLE
from postil.inbox.message_records import CLOSED_KEPT_SECONDS, HOMES, OPEN, REQUESTS, REQUESTS_ENDED, SPACES
from postil.workspace.repository import Repository

if TYPE_CHECKING:
    from postil.core.ports import Changes, State

_KEPT_WITH = ("texts", "replies", "answers", "about", REQUESTS, REQUESTS_ENDED)


class Home(Struct, frozen=True):
    """A repository that has messages."""

    root: str
    mark: str
    key: str = ""
    waiting: int = 0
    """How many of its messages are not closed."""


def mark_of(repository: Repository) -> str:
    """Returns what tells a git folder from others also after it was renamed."""
    try:
        found = os.stat(repository.common_dir)
    except OSError:
        return ""
    # A work tree beside the first one shares the git folder, so its own name joins in.
    own = "" if repository.git_dir == repository.common_dir else os.path.basename(repository.git_dir)
    return f"{found.st_dev}:{found.st_ino}:{own}"


def note_home(changes: Changes, repository: Repository) -> None:
    """Note where a repository is."""
    changes.put(HOMES, repository.key, msgspec.json.encode(Home(repository.root, mark_of(repository))))


def list_orphans(state: State, repository: Repository | None) -> list[Home]:
    """Returns the repositories that are not where they were and still have open messages or drafts."""
    found: list[Home] = []
    with state.reading() as records:
        for key, value in records.range(HOMES):
            try:
                home = msgspec.json.decode(value, type=Home)
            except UNREADABLE:
                continue
            if os.path.isdir(home.root) or (repository is not None and key == repository.key):
                continue
            waiting = sum(records.count(f"inbox/{key}/{space}") for space in (*OPEN, "draft"))
            if waiting:
                found.append(msgspec.structs.replace(home, key=key, waiting=waiting))
    return found


def adopt(state: State, home: Home, repository: Repository) -> int:
    """Move the messages of a repository that is gone to this one. Returns how many were not closed."""
    old, new = f"inbox/{home.key}/", f"inbox/{repository.key}/"
    expires = time.time() + CLOSED_KEPT_SECONDS
    with state.writing() as changes:
        for space in (*SPACES, *_KEPT_WITH):
            for key, value in changes.range(old + space):
                changes.put(new + space, key, value, expires if space in ("closed", REQUESTS_ENDED) else None)
                changes.delete(old + space, key)
        changes.delete(HOMES, home.key)
        note_home(changes, repository)
    return home.waiting
