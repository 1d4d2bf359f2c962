"""Where rows of an old page and their functions are in a new one, as far as the alignment and the layout tell."""

from functools import cached_property

from postil.anchor.model import Ranked
from postil.anchor.page import Page
from postil.anchor.side_by_side.alignment import Drift, align, trace_range
from postil.anchor.side_by_side.rewrap import Rewrap


class Counterparts:
    """The alignment of two pages, and what follows from it for rows that have no counterpart of their own.

    For a fragment of a file `shift` is how many rows of the file came before it, and `symbol` the path of its symbol.
    """

    def __init__(self, old: Page, new: Page, shift: int | None = None, symbol: tuple[str, ...] = ()) -> None:
        self.old, self.new = old, new
        self.symbol = symbol
        self.shift = shift or 0
        self.partial = shift is not None
        self.aligned = align(old, new)
        self._locals: dict[int, dict[int, Drift]] = {}
        self._firm: dict[int, dict[int, int]] = {}

    def find_settled(self, row: int) -> int:
        """Returns the new row when nothing near the old one has changed but the layout, else -1."""
        if self.partial:
            return self._find_fragment(row)
        at = self.aligned.find_settled(row)
        if at >= 0:
            return at
        at, aligned = self._rewrap.find_row(row), self.aligned.forward[row]
        return at if aligned in (-1, at) else -1  # where words and lines differ, nothing is settled

    def _find_fragment(self, row: int) -> int:
        """Returns where a row of a fragment is that stands as it was: at its old place, or at the only other one."""
        keys, count = self.old.keys, len(self.old)
        starts = [at - row for at in self.new.places.get(keys[row], ()) if keys[row]]
        whole = [start for start in starts if start >= 0 and self.new.keys[start : start + count] == keys]
        if self.shift in whole:
            return row + self.shift
        return row + whole[0] if len(whole) == 1 and count > 1 else -1

    @cached_property
    def _rewrap(self) -> Rewrap:
        return Rewrap(self.old, self.new)

    def expect(self, row: int) -> int:
        """Returns where a row would be if only its neighbours were known."""
        above, below = self.aligned.around(row)
        forward = self.aligned.forward
        if above >= 0 and (below >= len(self.old) or row - above <= below - row):
            return forward[above] + row - above
        if below < len(self.old):
            return forward[below] - (below - row)
        return row + self.shift

    def trace_tokens(self, row: int, heads: Ranked) -> Drift | None:
        """Returns where the tokens of a row went inside its function, wherever the function went."""
        head = self.old.frames[row]
        if head < 0 or not heads or heads[0][0] < 0.2:
            return self.aligned.drift(row)
        if head not in self._locals:
            now = heads[0][1]
            gap = (head, self.old.frame_end(head) + 1, now, self.new.frame_end(now) + 1)
            found = self._locals[head] = trace_range(self.old, self.new, gap)
            self._firm[head] = {
                near: drift.most
                for near, drift in found.items()
                if len(self.old.tokens(near)) > 2 and 3 * drift.votes[drift.most] >= 2 * len(self.old.tokens(near))
            }
        return self._locals[head].get(row)

    def bound_rows(self, row: int, heads: Ranked) -> tuple[int, int]:
        """Returns the rows of the function, as it is now, between which the row should be."""
        head = self.old.frames[row]
        if head < 0 or head == row or not heads or heads[0][0] < 0.2:
            return 0, 1 << 30
        self.trace_tokens(row, heads)
        firm = self._firm[head]
        low = next((firm[near] for near in range(row - 1, head - 1, -1) if near in firm), heads[0][1])
        end = self.old.frame_end(head)
        after = self.new.frame_end(heads[0][1]) + 1
        high = next((firm[near] for near in range(row + 1, end + 1) if near in firm), after)
        return low, high
