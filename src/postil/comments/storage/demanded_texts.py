"""What markers that lack it are given of their lines: a long line is looked at once.

Another program's markers may be 40,000 on one line of 15 MB. Not here: which of them lack something, and how much
they are given (`Items` says when it is too much for a file).
"""

from __future__ import annotations

from collections.abc import Sequence

from postil.anchor.fingerprint import line_hash
from postil.comments.sidecar.dialects import LONGEST_LINE
from postil.comments.sidecar.document import LineTexts


class DemandedTexts:
    """The texts of the lines of one source."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self._long: dict[int, tuple[str, str]] = {}

    def at(self, line: int) -> LineTexts:
        """Returns what is kept of a line."""
        (_, before), (hashed, there), (_, after) = (self._look(at) for at in (line - 2, line - 1, line))
        return LineTexts(hashed, there, before, after)

    def _look(self, at: int) -> tuple[str, str]:
        """Returns the hash of a line and what is kept of its text."""
        if at in self._long:
            return self._long[at]
        text = self._lines[at].strip() if 0 <= at < len(self._lines) else ""
        found = line_hash(text), text[:LONGEST_LINE]
        if len(text) > LONGEST_LINE:
            self._long[at] = found
        return found
