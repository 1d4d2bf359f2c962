"""Announcers: parts that have something to say to whoever listens, outside of any call.

A client that sets a log level hears them; nobody else does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from msgspec import Struct

from postil.core.call import Level
from postil.core.operation import F, attach


class AnnouncerMark(Struct, frozen=True):
    """The name of an announcer."""

    name: str


class Announcement(Struct, frozen=True):
    """Something happened. Never a person's text or a secret."""

    level: Level
    message: str
    data: Mapping[str, object] = {}


Tell: TypeAlias = Callable[[Announcement], None]


def announcer(name: str) -> Callable[[F], F]:
    """Mark a method `(tell) -> stop`: it calls `tell` from any thread until `stop()` is called."""
    return attach(AnnouncerMark(name))
