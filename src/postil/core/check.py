"""Checks: what a part can find wrong with its surroundings. `postil doctor` runs them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from msgspec import Struct

from postil.core.operation import F, attach


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
    return attach(CheckMark(name))
