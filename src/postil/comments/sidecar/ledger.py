"""What additions have to know of a sidecar: its ids and lines, and what its markers stand for. Pure.

An import adds tens of thousands of comments to one file, so nothing here is looked for in a list.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from msgspec import UnsetType

if TYPE_CHECKING:
    from postil.comments.sidecar import dialects

Spot: TypeAlias = tuple[int, int, str | None]
"""The first line, the last line and the text that a marker stands for."""


class Hung(NamedTuple):
    """A marker, and the comments that hang on it: a list that grows."""

    marker: str
    comments: list[str]


class Ledger:
    """What is there, with what was added since."""

    def __init__(self, comments: list[tuple[str, int]], markers: Sequence[dialects.AnyMarker]) -> None:
        self.known = {name for name, _ in comments}
        self._comments = _Lines([line for _, line in comments])
        self._markers = _Lines([each.line for each in markers])
        self.hung = [Hung(each.id, list(each.commentIds or ())) for each in markers]
        """In the file's order."""
        self._of: dict[Spot, Hung] = {}
        for each, hung in zip(markers, self.hung, strict=True):
            # A marker whose code was edited since takes in no new comment: what that is written about is the code now.
            end = -1 if _edited(each) else each.endLine or 0
            self._of.setdefault((each.line, end, each.lineText), hung)

    def holder(self, comment: str) -> str:
        """Returns the marker of a comment that is here."""
        return next((each.marker for each in self.hung if comment in each.comments), "")

    def find(self, spot: Spot) -> Hung | None:
        """Returns the marker for some lines."""
        return self._of.get(spot)

    def mark(self, spot: Spot, marker: str, comment: str) -> int:
        """Returns the place of a new marker."""
        at = self._markers.insert(spot[0])
        self._of[spot] = hung = Hung(marker, [comment])
        self.hung.insert(at, hung)
        return at

    def place(self, comment: str, line: int) -> int:
        """Returns the place of a new comment."""
        self.known.add(comment)
        return self._comments.insert(line)


class _Lines:
    """The lines of a list, sorted as the extension keeps them, or not: the place of one is that of `find_position`."""

    def __init__(self, lines: list[int]) -> None:
        self._least = [*accumulate(reversed(lines), min)][::-1]
        """For each line the least of it and all behind it, which is sorted in any case."""

    def insert(self, line: int) -> int:
        """Returns the place of a line that comes to them."""
        at = bisect_right(self._least, line)
        self._least.insert(at, line)  # those before have one behind them that is not greater
        return at


def find_position(lines: Sequence[int], line: int) -> int:
    """Returns where a line belongs in a list that the extension keeps sorted: after the last that is not greater."""
    for index in range(len(lines), 0, -1):
        if lines[index - 1] <= line:
            return index
    return 0


def _edited(marker: dialects.AnyMarker) -> bool:
    own = marker.read_own()
    return own is not None and not isinstance(own.wrote, UnsetType)
