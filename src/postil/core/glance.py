"""Glances: one line of a part for `postil status`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from msgspec import Struct

F = TypeVar("F", bound=Callable[..., str])


class GlanceMark(Struct, frozen=True):
    """Marks the method that says a part's line of the status."""


def glance(function: F) -> F:
    """Mark a method `() -> str` as the part's line of `postil status`."""
    function.__postil__ = GlanceMark()  # type: ignore[attr-defined]
    return function
