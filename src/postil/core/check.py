"""Checks: what a part can find wrong with its surroundings. `postil doctor` runs them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeVar

from msgspec import Struct

F = TypeVar("F", bound=Callable[..., object])


class CheckMark(Struct, frozen=True):
    """The name of a check."""

    name: str


class Finding(Struct, frozen=True):
    """What a check saw: its status, what was seen, and the fix when one is needed."""

    status: Literal["ok", "warning", "error"]
    seen: str
    fix: str = ""


def check(name: str) -> Callable[[F], F]:
    """Mark a method `() -> Finding | list[Finding]` as a check of the doctor."""
    mark = CheckMark(name)

    def apply(function: F) -> F:
        function.__postil__ = mark  # type: ignore[attr-defined]
        return function

    return apply
