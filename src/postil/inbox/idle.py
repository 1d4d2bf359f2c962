"""Waiting beside an idle assistant: a hook that runs in the background and ends when a remark comes.

One waits for each session, and none outlives the assistant that started it.
"""

from __future__ import annotations

import os
import select
import sys
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from postil.core.failure import NotFound
from postil.storage.holder import is_alive, this_process
from postil.workspace.disk import open_regular

if TYPE_CHECKING:
    from postil.core.ports import State
    from postil.inbox.part import Inbox

SPACE = "inbox/idle"
LONGEST = 12 * 3600.0
LOOK_AGAIN = 2.0
"""Seconds after which it is seen that the assistant has gone."""


class NothingCame(NotFound):
    """A wait that ended without a remark: nobody reads this, so it says little."""

    def __init__(self) -> None:
        super().__init__("No remark came", advice="")


def wait_for_remark(inbox: Inbox, client: str) -> None:
    """Wait until there is something for this client. Raises NothingCame, at once if another process waits for it."""
    if not _claim(inbox.state, client):
        raise NothingCame
    still_there = _watch_starter()
    news, deadline = threading.Event(), time.monotonic() + LONGEST
    stop = inbox.on_news(news.set)
    try:
        while not inbox.messages.waiting(client, 1):
            news.clear()
            left = deadline - time.monotonic()
            if left <= 0 or not still_there():
                raise NothingCame
            inbox.take_legacy()
            news.wait(min(left, LOOK_AGAIN))
        if not still_there():
            raise NothingCame
    finally:
        stop()
        with inbox.state.writing() as changes:
            changes.delete(SPACE, client)


def _claim(state: State, client: str) -> bool:
    """Returns whether no other living process waits for this client."""
    with state.writing() as changes:
        known = changes.get(SPACE, client)
        if known is not None and is_alive(known.decode(), 0, 0):
            return False
        changes.put(SPACE, client, this_process().encode(), time.time() + LONGEST)
    return True


def _watch_starter() -> Callable[[], bool]:
    """Returns a function that says whether the program that started us (through a shell) is still there and reads."""
    parents = _find_parents()
    output = select.poll()
    output.register(sys.stdout.fileno(), 0)  # only that nobody reads any more
    return lambda: _find_parents() == parents and not output.poll(0)


def _find_parents() -> tuple[int, ...]:
    """Returns the numbers of the process that started us and of the one that started that, where it can be read."""
    parent = os.getppid()
    try:
        with open_regular(f"/proc/{parent}/stat") as file:
            return parent, int(file.read(4096).rpartition(b")")[2].split()[1])
    except (OSError, IndexError, ValueError):
        return (parent,)
