"""Two pages aligned: line by line as a diff does, and token by token where lines were rewrapped.

Unique lines common to both pages are anchored first (patience), the gaps between them are filled with a longest common
subsequence. The work for one gap is bounded, so a page of any size costs near-linear time; a gap too big is left open.
"""

from bisect import bisect_left, bisect_right
from functools import cached_property, lru_cache

from rapidfuzz.distance import Indel, LCSseq

from postil.anchor.model import MOST_CELLS
from postil.anchor.page import Page, find_opener, is_bare, is_remark
from postil.anchor.side_by_side.alike_rows import find_lost_words
from postil.anchor.side_by_side.slide import slide_insertions

_TELLING = 3  # rows on a side that must be where they were, lone brackets and blank ones not counted
_ALIKE = 0.55  # of the characters of a row that was edited in its place
_NEAR = 4  # rows on each side of which it is asked whether they stand there more often now
_FEW = 4  # rows from one to the next that were side by side
_TELLTALE = 3  # rows under a row that are the only ones of their kind: so many tell where it went
_MOST_ASKED = 32  # of them
_RARE = 6  # characters of a row that is not unique by chance

Range = tuple[int, int, int, int]  # old rows from, to (excluded), new rows from, to (excluded)


class Alignment:
    """`forward[old row]` is the new row with the same code, or -1; `backward` is its inverse."""

    def __init__(self, old: Page, new: Page) -> None:
        self.old, self.new = old, new
        self.forward = [-1] * len(old)
        self.backward = [-1] * len(new)
        self.pins: list[tuple[int, int]] = []  # pairs of rows whose code is unique in both pages, in order
        self._drifts: dict[int, dict[int, Drift]] = {}
        self._left: dict[tuple[int, int], bool] = {}
        self._align()

    def turn(self) -> "Alignment":
        """Returns the same pairs for the way back."""
        turned = Alignment.__new__(Alignment)
        turned.old, turned.new = self.new, self.old
        turned.forward, turned.backward = self.backward, self.forward
        turned.pins = [(at, row) for row, at in self.pins]
        turned._pinned = [at for _, at in self.pins]
        turned._drifts, turned._left = {}, {}
        return turned

    def drift(self, row: int) -> "Drift | None":
        """Returns where the tokens of an old row went, within the gap between the nearest unique lines."""
        gap = bisect_right(self._pinned, row)
        if gap not in self._drifts:
            self._drifts[gap] = self._align_tokens(gap)
        return self._drifts[gap].get(row)

    def find_settled(self, row: int) -> int:
        """Returns the new row when the rows around an old one leave no doubt about it, else -1.

        Nothing near it changed; or nothing on one side of it, or next to it, and it is the only row of its kind; or
        nothing on one side, and what is on the other goes on where it would if lines were only edited in between. A row
        that was itself edited is settled when nothing else near it changed, and little of it.
        """
        at = self.forward[row]
        if at < 0:
            return self._find_edited(row)
        if not self.documents_same(row, at) or not self.is_at_home(row, at):
            return -1
        above, below = self._is_unmoved(row, at, -1), self._is_unmoved(row, at, 1)
        if above and below:
            return at
        single = len(self.old.keys[row]) > 2 and self._is_pin[row]
        if not above and not below:
            rare = single and len(self.old.keys[row]) >= _RARE
            return at if rare and self._is_beside(row, at, -1) and self._is_beside(row, at, 1) else -1
        if single:
            return at
        near = self.around(row)[above]
        return at if 0 <= near < len(self.old) and self.forward[near] - near == at - row else -1

    def find_single(self, row: int) -> int:
        """Returns the counterpart of a row that is the only one of its kind in both pages, and telling; else -1."""
        return self.forward[row] if self._is_pin[row] and len(self.old.keys[row]) >= _RARE else -1

    def documents_same(self, row: int, at: int) -> bool:
        """Returns whether a row of a comment that stands there more than once is above the same declaration as it was.

        True of all other rows.
        """
        if self._is_pin[row] or not is_remark(self.old.keys[row]):
            return True
        declared, now = self.old.documented(row), self.new.documented(at)
        if declared < 0 or now < 0:
            return declared == now
        if self.forward[declared] >= 0:
            return self.forward[declared] == now
        return self.backward[now] < 0 and self.old.name(declared) == self.new.name(now)

    def is_at_home(self, row: int, at: int) -> bool:
        """Returns whether what a row is under is what it was under, where copies of the row have appeared.

        Of a function that was copied, and edited where it was, the copy may be the liker of the two. True of all other
        rows.
        """
        key = self.old.keys[row]
        if self._is_pin[row] or not key or len(self.new.places.get(key, ())) <= len(self.old.places[key]):
            return True
        if self._is_left(row, at):
            return False
        up, over = self._find_above(row, at)
        while up >= 0 and over >= 0:
            if self._is_left(up, over):
                return False
            if self.forward[up] != over and (
                self.forward[up] >= 0
                or (self.old.opening(up) == self.new.opening(over) and self.old.name(up) != self.new.name(over))
            ):
                return False
            up, over = self.old.parents[up], self.new.parents[over]
        return True

    def may_be_copy(self, row: int, at: int) -> bool:
        """Returns whether a place may be in a copy of what is around a row, as far as texts tell. Asks no syntax."""
        old, new = self.old, self.new
        up, over = self._find_closed(row, at) or (row, at)
        while up >= 0 and over >= 0 and old.keys[up] == new.keys[over]:
            up, over = old.parents[up], new.parents[over]
        if up < 0 or over < 0:
            return False
        above, below = self.around(row)
        low = self.forward[above] if above >= 0 else -1
        high = self.forward[below] if below < len(old) else len(new)
        if not low < at < high:
            return True
        near = [key for key in old.keys[max(0, row - _NEAR) : row + _NEAR + 1] if len(key) > 2]
        return any(len(new.places.get(key, ())) > len(old.places[key]) for key in near)

    def _find_above(self, row: int, at: int) -> tuple[int, int]:
        """Returns the rows that an old row and a new one are under."""
        return self._find_closed(row, at) or (self.old.parents[row], self.new.parents[at])

    def _find_closed(self, row: int, at: int) -> tuple[int, int] | None:
        """Returns the rows that brackets close, which they are under. Nothing for other rows, or where none is near."""
        if not self.old.keys[row] or not is_bare(self.old.keys[row]):
            return None
        opener, opens = find_opener(self.old, row), find_opener(self.new, at)
        return (opener, opens) if opener >= 0 and opens >= 0 else None

    def _is_left(self, row: int, at: int) -> bool:
        """Returns whether most of what is under an old row, as far as it can be told, is not under the new one."""
        found = self._left.get((row, at))
        if found is None:
            first, last = bisect_right(self._pinned, row), bisect_right(self._pinned, self.old.ends[row])
            asked = self._pinned[first : last : (last - first) // _MOST_ASKED + 1]
            inside = sum(at < self.forward[each] <= self.new.ends[at] for each in asked)
            found = self._left[row, at] = len(asked) >= _TELLTALE and 2 * inside < len(asked)
        return found

    def _find_edited(self, row: int) -> int:
        """Returns the new row in the place of an old one, when both begin alike and are much alike, else -1."""
        at = self.forward[row - 1] + 1 if row else 0
        if (row and not at) or at >= len(self.backward) or self.backward[at] >= 0:
            return -1
        if at != (self.forward[row + 1] if row + 1 < len(self.forward) else len(self.backward)) - 1:
            return -1
        if not self._is_unmoved(row, at, -1) or not self._is_unmoved(row, at, 1):
            return -1
        key, now = self.old.keys[row], self.new.keys[at]
        if self.old.tokens(row)[:1] != self.new.tokens(at)[:1] or len(key) < _RARE:
            return -1
        if not Indel.normalized_similarity(key, now, score_cutoff=_ALIKE):
            return -1
        return -1 if find_lost_words(self.old, row, self.new, at) else at

    def _is_unmoved(self, row: int, at: int, step: int) -> bool:
        """Returns whether the telling rows beside a row are beside its counterpart, too. Blank rows do not count."""
        forward, keys, now = self.forward, self.old.keys, self.new.keys
        count, seen = len(keys), 0
        while seen < _TELLING:
            row += step
            while 0 <= row < count and not keys[row]:
                row += step
            if not 0 <= row < count:
                break
            if forward[row] < 0:
                return False
            at += step
            while 0 <= at < len(now) and at != forward[row] and not now[at]:
                at += step
            if forward[row] != at:
                return False
            seen += len(keys[row]) > 2
        return True

    def _is_beside(self, row: int, at: int, step: int) -> bool:
        """Returns whether the row next to an old one is still on that side of its counterpart, few new ones between."""
        row += step
        while 0 <= row < len(self.forward) and not self.old.keys[row]:
            row += step
        return not 0 <= row < len(self.forward) or (
            self.forward[row] >= 0 and 0 < (self.forward[row] - at) * step <= _FEW
        )

    @cached_property
    def _is_pin(self) -> bytearray:
        found = bytearray(len(self.old))
        for row in self._pinned:
            found[row] = 1
        return found

    @cached_property
    def known(self) -> list[int]:
        """Old rows that have a counterpart and say something: no lone bracket, no blank."""
        pairs = enumerate(zip(self.forward, self.old.keys, strict=True))
        return [row for row, (at, key) in pairs if at >= 0 and len(key) > 2]

    def around(self, row: int) -> tuple[int, int]:
        """Returns the nearest known rows above and below an old row; -1 and len(old) where there is none."""
        at = bisect_left(self.known, row)
        above = self.known[at - 1] if at else -1
        if at < len(self.known) and self.known[at] == row:
            at += 1
        return above, self.known[at] if at < len(self.known) else len(self.forward)

    def _pair(self, row: int, at: int) -> None:
        self.forward[row], self.backward[at] = at, row

    def _align(self) -> None:
        ids: dict[str, int] = {"": -1}
        self._a = [ids.setdefault(key, len(ids)) for key in self.old.keys]
        self._b = [ids.setdefault(key, len(ids)) for key in self.new.keys]
        whole = (0, len(self._a), 0, len(self._b))
        self.pins = self._find_unique(whole)
        self._pinned = [row for row, _ in self.pins]
        todo = self._between(whole, self.pins)
        while todo:
            gap = self._trim(todo.pop())
            if gap[0] == gap[1] or gap[2] == gap[3]:
                continue
            pins = self._find_unique(gap)
            if pins:
                todo.extend(self._between(gap, pins))
            else:
                self._fill(gap)
        self._pair_blanks()
        slide_insertions(self.old, self.new, self.forward, self.backward)

    def _between(self, gap: Range, pins: list[tuple[int, int]]) -> list[Range]:
        found: list[Range] = []
        a, b = gap[0], gap[2]
        for row, at in pins:
            self._pair(row, at)
            found.append((a, row, b, at))
            a, b = row + 1, at + 1
        return [*found, (a, gap[1], b, gap[3])]

    def _trim(self, gap: Range) -> Range:
        a0, a1, b0, b1 = gap
        a, b = self._a, self._b
        while a0 < a1 and b0 < b1 and a[a0] == b[b0]:
            self._pair(a0, b0)
            a0, b0 = a0 + 1, b0 + 1
        while a0 < a1 and b0 < b1 and a[a1 - 1] == b[b1 - 1]:
            a1, b1 = a1 - 1, b1 - 1
            self._pair(a1, b1)
        return a0, a1, b0, b1

    def _find_unique(self, gap: Range) -> list[tuple[int, int]]:
        """Returns pairs of rows unique on both sides of the gap, the longest run of them that keeps its order."""
        a0, a1, b0, b1 = gap
        mine = _find_singles(self._a, a0, a1)
        theirs = _find_singles(self._b, b0, b1)
        pairs = [(row, theirs[key]) for key, row in mine.items() if key in theirs]
        pairs.sort()
        return _longest_rising(pairs)

    def _fill(self, gap: Range) -> None:
        a0, a1, b0, b1 = gap
        rows = [row for row in range(a0, a1) if self._a[row] >= 0]
        ats = [at for at in range(b0, b1) if self._b[at] >= 0]
        if len(rows) * len(ats) > MOST_CELLS:
            return
        for block in LCSseq.opcodes([self._a[row] for row in rows], [self._b[at] for at in ats]):
            if block.tag == "equal":
                for step in range(block.src_end - block.src_start):
                    self._pair(rows[block.src_start + step], ats[block.dest_start + step])

    def _pair_blanks(self) -> None:
        """A blank line goes with the line above it."""
        for row, key in enumerate(self.old.keys):
            if not key and row and self.forward[row] < 0:
                at = self.forward[row - 1] + 1
                if 0 < at < len(self.new) and not self.new.keys[at] and self.backward[at] < 0:
                    self._pair(row, at)

    def _align_tokens(self, gap: int) -> dict[int, "Drift"]:
        a0, b0 = self.pins[gap - 1] if gap else (0, 0)
        a1, b1 = self.pins[gap] if gap < len(self.pins) else (len(self.old), len(self.new))
        return trace_range(self.old, self.new, (a0, a1, b0, b1))


@lru_cache(2)
def align(old: Page, new: Page) -> Alignment:
    """Returns two pages aligned; the last ones are kept, since what the lines do not settle is searched afterwards."""
    return Alignment(old, new)


class Drift:
    """Where the tokens of one row went: the row of the first of them, and how many to each row."""

    __slots__ = ("first", "votes", "word")

    def __init__(self, first: int) -> None:
        self.first = first
        self.word = False  # whether `first` was decided by a word and not by a bracket
        self.votes: dict[int, int] = {}

    @property
    def most(self) -> int:
        """The row that most tokens went to."""
        return max(self.votes, key=lambda at: (self.votes[at], -at))


def trace_range(old: Page, new: Page, gap: Range) -> dict[int, Drift]:
    """Returns where the tokens of each old row of a range went, by their longest common subsequence."""
    a0, a1, b0, b1 = gap
    (a, rows), (b, ats) = _list_tokens(old, a0, a1), _list_tokens(new, b0, b1)
    if not a or not b or len(a) * len(b) > MOST_CELLS:
        return {}
    found: dict[int, Drift] = {}
    for block in LCSseq.opcodes(a, b):
        if block.tag != "equal":
            continue
        first, last, shift = block.src_start, block.src_end, block.dest_start - block.src_start
        for place in range(first, last):
            row, at = rows[place], ats[place + shift]
            drift = found.get(row)
            if drift is None:
                drift = found[row] = Drift(at)
            drift.votes[at] = drift.votes.get(at, 0) + 1
            if not drift.word:
                letter = a[place][0]
                if letter.isalnum() or letter == "_":
                    drift.first, drift.word = at, True
    return found


def _list_tokens(page: Page, start: int, stop: int) -> tuple[list[str], list[int]]:
    """Returns the tokens of a range of rows, and the row of each."""
    found: list[str] = []
    rows: list[int] = []
    for row in range(start, stop):
        tokens = page.tokens(row)
        found += tokens
        rows += [row] * len(tokens)
    return found, rows


def _find_singles(keys: list[int], start: int, stop: int) -> dict[int, int]:
    found: dict[int, int] = {}
    twice: set[int] = {-1}
    for row in range(start, stop):
        key = keys[row]
        if key in found:
            twice.add(key)
        found[key] = row
    for key in twice:
        found.pop(key, None)
    return found


def _longest_rising(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Returns the longest subsequence of pairs, sorted by their first, whose second rises too."""
    tails: list[int] = []
    ends: list[int] = []
    before: list[int] = []
    for index, (_, at) in enumerate(pairs):
        place = bisect_left(tails, at)
        before.append(ends[place - 1] if place else -1)
        if place == len(tails):
            tails.append(at)
            ends.append(index)
        else:
            tails[place], ends[place] = at, index
    found: list[tuple[int, int]] = []
    index = ends[-1] if ends else -1
    while index >= 0:
        found.append(pairs[index])
        index = before[index]
    return found[::-1]
