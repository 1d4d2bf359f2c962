"""Regular expressions that take time linear in the text, whatever the pattern: RE2, and nothing else behind it."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, cast

from postil.comments.failures import PatternRefused

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


LONGEST = 2.0
"""Seconds of CPU for a search; plain words take a hundredth for eight megabytes."""
SURE_STEPS, MOST_STEPS = 20_000_000, 200_000_000
"""Steps of a pattern times bytes of a text that are searched in one call, which nothing stops: 0.2 s at most, and 2 s
where the text is one comment."""
SMALLEST_PIECE, FEW = 4096, 512
"""Bytes of a piece, and of one that is not measured."""
LARGE = 8 << 20
"""Bytes of texts that are searched in LONGEST; more take longer."""


_WORDS = re.compile(r"[A-Za-z0-9_ |]*|\(\?:[A-Za-z0-9_ |]*\)")


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
        if not _is_small(pattern):
            re2.compile(pattern.encode("utf-8", "replace"), options)
        options.max_mem = LARGEST_TABLES
        return re2.compile(pattern.encode("utf-8", "replace"), options)
    except re2.error as fault:
        said: object = fault.args[0] if fault.args else "not a pattern"
        raise NotAPattern(said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)) from None


def _is_small(pattern: str) -> bool:
    """Returns whether a pattern cannot be a large program: a few words."""
    return len(pattern) <= FEW and _WORDS.fullmatch(pattern) is not None


class Meter:
    """What a search may take. RE2 is linear in the text, but by the pattern a byte takes 10 ns or 20 µs."""

    def __init__(self, query: str) -> None:
        self._query = query
        self._begun: float | None = None

    def look(self, size: int, steps: int, text: Bytes) -> None:
        """Called before so many bytes are searched for a pattern of so many steps. Raises PatternRefused."""
        if size * steps > MOST_STEPS:
            raise PatternRefused(self._query, f"it is too large for a text of {size} bytes that is searched")
        now = time.thread_time()
        if self._begun is None:
            self._begun = now
        elif now - self._begun > LONGEST * max(1, len(text) / LARGE):
            raise PatternRefused(self._query, "it takes too long over the texts here")


def spans(pattern: Linear, meter: Meter, boundary: bytes) -> Spans:
    """Returns the matches of a pattern one by one, as offsets: a match object for each costs more than finding it.

    Nothing that matches holds a boundary. A text is searched piece by piece from one to another, and before each the
    meter is read. Offsets only grow.
    """
    find, steps, end = _find(pattern), _count_steps(pattern), 0
    piece = max(SMALLEST_PIECE, SURE_STEPS // steps)

    def find_piecewise(text: Bytes, at: int) -> tuple[int, int]:
        nonlocal end
        while True:
            if at >= end:
                size = len(text)
                end = text.find(boundary, at + piece) + 1 or size if size - at > piece else size
                meter.look(end - at, steps, text)
            found = find(text, at, end)
            if found[0] >= 0 or end == len(text):
                return found
            at = end

    return find_piecewise


def search_one(pattern: Linear, meter: Meter) -> Callable[[bytes], bool]:
    """Returns what says whether one text has a match."""
    find, steps = _find(pattern), _count_steps(pattern)

    def has_match(text: bytes) -> bool:
        if len(text) > FEW:  # sooner done than measured
            meter.look(len(text), steps, text)
        return find(text, 0, len(text))[0] >= 0

    return has_match


def _count_steps(pattern: Linear) -> int:
    """Returns of how many steps a pattern is: so many may be looked at for each byte."""
    inner = cast(Any, getattr(pattern, "_regexp", None))
    return max(1, inner.ProgramSize(), inner.ReverseProgramSize()) if inner is not None else 1


def _find(pattern: Linear) -> Callable[[Bytes, int, int], tuple[int, int]]:
    inner = cast(Any, getattr(pattern, "_regexp", None))
    if inner is None:
        return lambda text, at, end: _span(pattern, text, at)
    find: Any = inner.Match
    anywhere: Any = cast(Any, import_module("re2"))._re2.RE2.Anchor.UNANCHORED
    return lambda text, at, end: find(anywhere, text, at, end)[0]


def _span(pattern: Linear, text: Bytes, at: int) -> tuple[int, int]:
    found = pattern.search(text, at)
    return (found.start(), found.end()) if found else (-1, -1)
