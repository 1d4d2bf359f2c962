"""Regular expressions that take time linear in the text, whatever the pattern: RE2, and nothing else behind it."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, cast

if TYPE_CHECKING:
    from mmap import mmap

Bytes: TypeAlias = "bytes | mmap"
Spans: TypeAlias = "Callable[[Bytes, int], tuple[int, int]]"
"""The first match at or after an offset and where it ends; -1 and -1 where there is none."""


LARGEST_PROGRAM = 1 << 20
"""Bytes of memory in which a compiled pattern must fit: some 30,000 steps. Larger ones, as `\\pL{900}`, take hundred
megabytes, and a minute for eight megabytes of text."""
LARGEST_TABLES = 64 << 20
"""Bytes for what is learnt while searching, without which it is slow."""


class NotAPattern(ValueError):
    """RE2 does not take this pattern; the sentence is its own."""


class Match(Protocol):
    def start(self) -> int: ...
    def end(self) -> int: ...


class Linear(Protocol):
    """A compiled pattern over bytes."""

    def search(self, text: Bytes, pos: int = 0) -> Match | None: ...
    def fullmatch(self, text: bytes) -> Match | None: ...


def compile_linear(pattern: str, *, ignore_case: bool, literal: bool = False) -> Linear:
    """Returns the pattern, ready for UTF-8 text; a literal one means its characters."""
    re2 = cast(Any, import_module("re2"))  # 9 ms, and only a search needs it
    options = re2.Options()
    options.log_errors = False  # it would write to stderr
    options.max_mem = LARGEST_PROGRAM
    options.case_sensitive = not ignore_case
    options.literal = literal
    options.never_capture = True  # nobody asks for groups, and finding them takes another pass
    try:
        re2.compile(pattern.encode("utf-8", "replace"), options)
        options.max_mem = LARGEST_TABLES
        return re2.compile(pattern.encode("utf-8", "replace"), options)
    except re2.error as fault:
        said: object = fault.args[0] if fault.args else "not a pattern"
        raise NotAPattern(said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)) from None


def spans(pattern: Linear) -> Spans:
    """Returns the matches of a pattern one by one, as offsets: a match object for each costs more than finding it."""
    inner = cast(Any, getattr(pattern, "_regexp", None))
    if inner is None:
        return lambda text, at: _span(pattern, text, at)
    find: Any = inner.Match
    anywhere: Any = cast(Any, import_module("re2"))._re2.RE2.Anchor.UNANCHORED
    return lambda text, at: find(anywhere, text, at, len(text))[0]


def _span(pattern: Linear, text: Bytes, at: int) -> tuple[int, int]:
    found = pattern.search(text, at)
    return (found.start(), found.end()) if found else (-1, -1)
