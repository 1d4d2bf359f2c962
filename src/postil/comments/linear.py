"""Regular expressions that take time linear in the text, whatever the pattern: RE2, and nothing else behind it."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any, Protocol, cast


class NotAPattern(ValueError):
    """RE2 does not take this pattern; the sentence is its own."""


class Match(Protocol):
    def start(self) -> int: ...
    def end(self) -> int: ...


class Linear(Protocol):
    """A compiled pattern over bytes."""

    def search(self, text: bytes) -> Match | None: ...
    def fullmatch(self, text: bytes) -> Match | None: ...
    def finditer(self, text: bytes) -> Iterator[Match]: ...


def compiled(pattern: str, *, ignore_case: bool) -> Linear:
    """The pattern, ready for UTF-8 text."""
    re2 = cast(Any, import_module("re2"))  # 9 ms, and only a search needs it
    options = re2.Options()
    options.log_errors = False  # it would write to stderr
    options.max_mem = 64 << 20
    options.case_sensitive = not ignore_case
    try:
        return re2.compile(pattern.encode("utf-8", "replace"), options)
    except re2.error as fault:
        said: object = fault.args[0] if fault.args else "not a pattern"
        raise NotAPattern(said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)) from None
