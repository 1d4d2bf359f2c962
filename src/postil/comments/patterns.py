"""Searching many texts at once with a pattern that cannot hang: RE2, linear in the text, over one blob of bytes.

Patterns are case-insensitive unless they say `(?-i)`. What RE2 does not take (look-around, back-references) is refused;
there is no other engine behind it.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right

from postil.comments.failures import PatternRefused
from postil.comments.linear import Linear, NotAPattern, compiled

LONGEST_PATTERN = 4000
_OPERATORS = re.compile(r"[\\^$.|?*+()\[\]{}]")


class Pattern:
    """A compiled pattern, or a plain text when `plain`. A pattern without any operator is a plain text, too."""

    def __init__(self, query: str, *, plain: bool = False) -> None:
        if len(query) > LONGEST_PATTERN:
            raise PatternRefused(query, f"it is longer than {LONGEST_PATTERN} characters")
        self.literal = query.lower() if plain or not _OPERATORS.search(query) else None
        self._query = query
        # `\\A` and `\\z` speak of the whole text, which a blob of many texts cannot tell.
        self.whole_text = any(edge in query for edge in (r"\A", r"\z", "(?-", r"\C"))
        # Inside a text of several lines `^` and `$` mean another thing than in a blob of texts.
        self.anchored = any(edge in query for edge in "^$")
        self._one = None if self.literal is not None else _compiled(query, "(?:%s)")

    def matches(self, text: str) -> bool:
        """Whether one text has a match."""
        if self._one is None:
            return (self.literal or "") in text.lower()
        return self._one.search(text.encode("utf-8", "replace")) is not None

    def over_lines(self) -> Linear:
        """The same pattern for a blob of texts: `^` and `$` are the edges of lines."""
        return _compiled(self._query, "(?m:%s)")


class Corpus:
    """Texts by number. Texts are only added: one that is gone is left out by whoever asks."""

    def __init__(self) -> None:
        self.numbers = array("Q")
        self._texts: list[str] = []
        self._lowered: list[str] = []
        self._blob = b""
        self._starts = array("Q", [0])

    @property
    def last(self) -> int:
        """The highest number there is."""
        return self.numbers[-1] if self.numbers else 0

    def add(self, number: int, text: str) -> None:
        """Add a text; numbers only grow."""
        self.numbers.append(number)
        self._texts.append(text)

    def search(self, pattern: Pattern) -> list[int]:
        """The numbers of the texts that match, in order."""
        numbers = self.numbers
        if pattern.literal is not None:
            self._lowered.extend(text.lower() for text in self._texts[len(self._lowered) :])
            wanted = pattern.literal
            return [numbers[i] for i, text in enumerate(self._lowered) if wanted in text]
        if pattern.matches(""):
            return list(numbers)
        if pattern.whole_text:
            return [numbers[i] for i, text in enumerate(self._texts) if pattern.matches(text)]
        return [numbers[i] for i in self._in_blob(pattern)]

    def _in_blob(self, pattern: Pattern) -> list[int]:
        """The places of the texts that match, by one pass over all of them.

        A match may reach over the end of a text into the next ones; each text it touches is then asked by itself. No
        text that matches is missed: a match inside it begins where the pass is, or in what an earlier match covered.
        """
        blob, starts, texts = self._whole(), self._starts, self._texts
        found: list[int] = []
        settled = 0  # up to here every text is decided
        for match in pattern.over_lines().finditer(blob):
            start = match.start()
            if start < settled and match.end() <= settled:
                continue
            index = bisect_right(starts, max(start, settled)) - 1
            end = match.end()
            alone = start >= starts[index] and end < starts[index + 1]
            if alone and not (pattern.anchored and "\n" in texts[index]):
                found.append(index)
                settled = starts[index + 1]
                continue
            while index < len(texts) and starts[index] < max(end, start + 1):
                if pattern.matches(texts[index]):
                    found.append(index)
                settled = starts[index + 1]
                index += 1
        return found

    def _whole(self) -> bytes:
        done = len(self._starts) - 1
        if done < len(self._texts):
            pieces = [text.encode("utf-8", "replace") + b"\n" for text in self._texts[done:]]
            self._blob = b"".join((self._blob, *pieces))
            at = self._starts[-1]
            for piece in pieces:
                at += len(piece)
                self._starts.append(at)
        return self._blob


def _compiled(query: str, frame: str) -> Linear:
    try:
        compiled(query, ignore_case=True)  # by itself first: `)(` must not become `(?:)()`
        return compiled(frame % query, ignore_case=True)
    except NotAPattern as fault:
        raise PatternRefused(query, str(fault)) from None
