"""Other files that code may have moved to: an index of their lines, made once and asked for many spans.

It only says which files hold the block that a row was in; where in the file the row is, the search decides.
"""

from collections import Counter
from collections.abc import Iterable
from functools import cached_property
from itertools import takewhile

from postil.anchor.model import Source
from postil.anchor.page import Page

_SHORTEST = 6  # characters of a line that says something about where it is from
_MOST_FILES = 2
_LEAST_SHARE = 0.3  # of the weight of a block that a file must hold
_AROUND = 6  # rows on each side that stand for a block where there is none


class OtherFiles:
    """Files to look in for code that left its own. Making one costs nothing until it is asked.

    A place in one is told by its path: a file without a path is not looked at, of two with the same the last one is.
    """

    def __init__(self, sources: Iterable[Source]) -> None:
        self._sources = list({each.path: each for each in sources if each.path}.values())
        self._pages: dict[int, Page] = {}

    def __bool__(self) -> bool:
        return bool(self._sources)

    def find_likely(self, old: Page, row: int) -> list[tuple[float, Page]]:
        """Returns the files that hold most of what was around an old row, with the share of it that they hold."""
        first, last = _find_block(old, row)
        keys = {old.keys[at] for at in range(first, last + 1) if len(old.keys[at]) >= _SHORTEST}
        votes: Counter[int] = Counter()
        total = 0.0
        for key in sorted(keys):
            files = self._index.get(key, ())
            weight = len(key) / (1.0 + len(files))
            total += weight
            for file in files:
                votes[file] += weight  # pyright: ignore[reportArgumentType] - a Counter of floats counts as well
        way = {file: measure_way(old.source.path, self._sources[file].path) for file in votes}
        best = sorted(votes.items(), key=lambda each: (-each[1], way[each[0]], each[0]))[:_MOST_FILES]
        return [(weight / total, self._page(file)) for file, weight in best if weight >= _LEAST_SHARE * total]

    @cached_property
    def _index(self) -> dict[str, tuple[int, ...]]:
        found: dict[str, set[int]] = {}
        for file, source in enumerate(self._sources):
            for row in source.text.split("\n"):
                key = "".join(row.split())
                if len(key) >= _SHORTEST:
                    found.setdefault(key, set()).add(file)
        return {key: tuple(sorted(files)) for key, files in found.items()}

    def _page(self, file: int) -> Page:
        if file not in self._pages:
            self._pages[file] = Page(self._sources[file])
        return self._pages[file]


def measure_way(origin: str, path: str) -> tuple[int, bool]:
    """Returns how far a file is from another: the steps between their folders, then whether they are of other kinds."""
    (here, own), (there, other) = (each.rpartition("/")[::2] for each in (origin, path))
    folders, others = (each.split("/") if each else [] for each in (here, there))
    shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(folders, others, strict=False)))
    return len(folders) + len(others) - 2 * shared, own.rpartition(".")[2] != other.rpartition(".")[2]


def _find_block(page: Page, row: int) -> tuple[int, int]:
    """Returns the function a row is in, or the rows around it."""
    head = page.frames[row]
    if head >= 0:
        return min(head, row), page.frame_end(head)
    return max(0, row - _AROUND), min(len(page) - 1, max(row + _AROUND, page.ends[row]))
