"""The lines of a source. Those of a large one are cut out when asked for: held apart they take more than its text."""

from __future__ import annotations

import re
from array import array
from collections.abc import Sequence
from functools import lru_cache
from typing import overload

from postil.core import limits

_NEWLINE = re.compile("\n")


def split_lines(text: str) -> Sequence[str]:
    """Returns the lines of a text. The piece after the last newline is none; lone carriage returns end lines, too."""
    return list(_split(text)) if len(text) <= limits.HERE else LazyLines.of(text)


@lru_cache(2)  # adding a comment asks for the same ones several times
def _split(text: str) -> tuple[str, ...]:
    if "\n" not in text and "\r" in text:
        text = text.replace("\r", "\n")
    found = text.split("\n")
    if len(found) > 1 and not found[-1]:
        found.pop()
    return tuple(line.removesuffix("\r") for line in found) if "\r" in text else tuple(found)


class LazyLines(Sequence[str]):
    """The lines of a large text: the text, and where each line ends."""

    _last: LazyLines | None = None
    """The one made last: whoever adds a comment asks several times. It goes before another is made."""

    def __init__(self, text: str) -> None:
        self._given = text
        if "\n" not in text and "\r" in text:
            text = text.replace("\r", "\n")
        self._text = text
        self._ends = array("I", (found.start() for found in _NEWLINE.finditer(text)))
        if not text.endswith("\n"):
            self._ends.append(len(text))

    @classmethod
    def of(cls, text: str) -> LazyLines:
        """Returns the lines of a text, perhaps as they were made before."""
        last = cls._last
        if last is None or (last._given is not text and last._given != text):
            last = cls._last = None
            last = cls._last = cls(text)
        return last

    def __len__(self) -> int:
        return len(self._ends)

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> list[str]: ...
    def __getitem__(self, at: int | slice) -> str | list[str]:
        if isinstance(at, slice):
            return [self._cut(place) for place in range(*at.indices(len(self)))]
        place = at + len(self) if at < 0 else at
        if not 0 <= place < len(self):
            raise IndexError(at)
        return self._cut(place)

    def _cut(self, place: int) -> str:
        return self._text[self._ends[place - 1] + 1 if place else 0 : self._ends[place]].removesuffix("\r")
