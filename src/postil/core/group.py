"""What a group may have besides operations, resources and prompts: checks, announcers, a line of the status.

Nobody calls them by name: `postil doctor`, the log of a connection and `postil status` find them by their marks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, TypeAlias, TypeVar

from msgspec import Struct

from postil.core.call import Level
from postil.core.operation import F, attach

G = TypeVar("G", bound=Callable[..., str])


class CheckMark(Struct, frozen=True):
    """The name of a check."""

    name: str


class Finding(Struct, frozen=True):
    """What a check saw: its status, what was seen, and the fix when one is needed."""

    status: Literal["ok", "warning", "error"]
    seen: str
    fix: str = ""


def check(name: str) -> Callable[[F], F]:
    """Mark a method `() -> Finding | list[Finding]` as a check of the doctor: what the part finds wrong around it."""
    return attach(CheckMark(name))


class AnnouncerMark(Struct, frozen=True):
    """The name of an announcer."""

    name: str


class Announcement(Struct, frozen=True):
    """Something happened, outside of any call. Only clients that set a log level hear it.

    Never a person's text or a secret.
    """

    level: Level
    message: str
    data: Mapping[str, object] = {}


Tell: TypeAlias = Callable[[Announcement], None]


def announcer(name: str) -> Callable[[F], F]:
    """Mark a method `(tell) -> stop`: it calls `tell` from any thread until `stop()` is called."""
    return attach(AnnouncerMark(name))


MOST_OFFERED = 50
"""How many values a completer returns at most."""


class CompleterMark(Struct, frozen=True):
    """The arguments whose values a method knows."""

    arguments: tuple[str, ...]


def completer(*arguments: str) -> Callable[[F], F]:
    """Mark a method `(typed, given) -> {value: what it is}`: values of these arguments of the part's commands.

    `given` has the arguments that stand before it, those that the words of the command settle, and `command`.
    """
    return attach(CompleterMark(arguments))


class GlanceMark(Struct, frozen=True):
    """Marks the method that says a part's line of the status."""


def glance(function: G) -> G:
    """Mark a method `() -> str` as the part's line of `postil status`."""
    function.__postil__ = GlanceMark()  # type: ignore[attr-defined]
    return function
