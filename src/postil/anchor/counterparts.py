"""Where rows of an old page and their functions are in a new one, as far as the alignment and the layout tell."""

import re
from collections.abc import Sequence
from functools import cached_property

from rapidfuzz.distance import Indel

from postil.anchor.model import Ranked
from postil.anchor.page import Page, find_closing, find_opener, find_telling, is_bare, list_alike
from postil.anchor.side_by_side.alignment import Alignment, Drift, align, trace_range
from postil.anchor.side_by_side.proof import Proof
from postil.anchor.side_by_side.rewrap import Rewrap

_TELLING = 5  # characters of a row of a fragment that says something; longer ones do
_SHIFTED = 2  # rows by which neighbours may have come nearer or gone farther
_MOST_PLACES = 40
_LIKELY, _LIKELY_STEADY = 0.5, 0.3
_FEW_KNOWN = 8  # rows of a fragment that are still there: fewer do not tell where it is
_KEPT, _FEWEST = 5, 2  # of the rows that a function held a fifth, and two at least
_DOUBTFUL = 0.7  # how alike a row is at most that is one of several in its function: a person is asked
_LONE = 0.8  # how alike a bracket is taken to be that is the only one of its kind in its function
_CONTROL = re.compile(r"}?(?:else|finally|ensure)[:{]?")  # of rows that go on what is above them
_COMMON = 4  # rows of one kind: they tell nothing of where they are


class Counterparts:
    """The alignment of two pages, and what follows from it for rows that have no counterpart of their own.

    For a fragment of a file `shift` is how many rows of the file came before it, and `symbol` the path of its symbol.
    """

    def __init__(
        self,
        old: Page,
        new: Page,
        shift: int | None = None,
        symbol: tuple[str, ...] = (),
        aligned: Alignment | None = None,
    ) -> None:
        self.old, self.new = old, new
        self.symbol = symbol
        self.shift = shift or 0
        self.partial = shift is not None
        self.aligned = aligned or align(old, new)
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
        if at < 0 or aligned not in (-1, at):  # where words and lines differ, nothing is settled
            return -1
        return at if self.aligned.documents_same(row, at) and self.aligned.is_at_home(row, at) else -1

    def find_single(self, row: int, home: Ranked) -> int:
        """Returns where a row is that is the only one of its kind in both pages, under the same row as before, or -1.

        `home` is where its parent row may be. At the outermost level it may be of another file: `package main`.
        """
        at = self.aligned.find_single(row)
        if at < 0 or self.partial:
            return -1
        up, over = self.old.parents[row], self.new.parents[at]
        if up < 0 or over < 0:
            return -1
        same = self.aligned.forward[up] == over or any(chance >= _LIKELY and place == over for chance, place in home)
        return at if same else -1

    def find_namesake(self, row: int) -> int:
        """Returns where a function or a type is that is the only one of its name in both pages, and alike; or -1."""
        path = self.old.owners.get(row, ())
        at = self.new.singles.get(path, -1)
        if at < 0 or self.old.singles.get(path) != row or self.partial:
            return -1
        return at if Indel.normalized_similarity(self.old.keys[row], self.new.keys[at], score_cutoff=0.5) else -1

    def was_copied(self, row: int) -> bool:
        """Returns whether such a row stands there several times, and more often than it did."""
        key = self.old.keys[row]
        return max(1, len(self.old.places[key])) < len(self.new.places.get(key, ()))

    def find_in_function(self, row: int, place: int) -> tuple[float, int]:
        """Returns the row most like an old one in its own function, and how alike, where `place` is in another one.

        Of a function that was copied, and edited where it was, the copy may be the liker of the two. Its name tells
        them apart. What has another counterpart is not asked; (0.0, -1) where there is none, or no doubt.
        """
        nothing = (0.0, -1)
        if self.partial or not self.aligned.may_be_copy(row, place):
            return nothing
        if (at := self.find_namesake(row)) not in (-1, place):  # of a function or a type it is the first row
            return Indel.normalized_similarity(self.old.keys[row], self.new.keys[at]), at
        home = self._find_home(row, place)
        if is_bare(self.old.keys[row]):
            found = self._find_bare(row, home)
            return found if found[1] != place else nothing
        return self._find_alike(row, home) if home >= 0 else nothing

    def find_in_block(self, row: int, place: int) -> int:
        """Returns where a diff leaves a row unchanged in its own block, where `place` is in another one; or -1.

        The head of its block is beyond doubt: a copy of the block has another one.
        """
        at, head = self.aligned.forward[row], self.old.parents[row]
        if self.partial or at in (-1, place) or head < 0 or is_bare(self.old.keys[row]):
            return -1
        now = self.find_settled(head)
        return at if now >= 0 and self.new.parents[at] == now != self.new.parents[place] else -1

    def _find_alike(self, row: int, home: int) -> tuple[float, int]:
        """Returns the row most like an old one in its function, and how alike; of equal ones the same in order."""
        key, keys, backward = self.old.keys[row], self.new.keys, self.aligned.backward
        free = [at for at in range(home, self.new.frame_end(home) + 1) if keys[at] and backward[at] in (-1, row)]
        alike = ((Indel.normalized_similarity(key, keys[at]), at) for at in free)
        likeness, best = max(alike, default=(0.0, -1))
        same = [at for at in free if keys[at] == keys[best]]
        if len(same) < 2:
            return likeness, best
        head = self.old.frames[row]
        before = list_alike(self.old, head, key)
        if len(before) == len(same) and row in before:  # a decorator stands above its function
            return likeness, same[before.index(row)]
        return min(likeness, _DOUBTFUL), min(same, key=lambda at: abs((at - home) - (row - head)))

    def _find_bare(self, row: int, home: int) -> tuple[float, int]:
        """Returns the bracket that closes what an old one closed, or the blank row below the row that it was below."""
        key, head = self.old.keys[row], self.old.frames[row]
        near = find_opener(self.old, row) if key else find_telling(self.old, row, -1)
        likeness, at = 1.0, self.find_namesake(near) if near >= 0 else -1
        if at < 0 and near >= 0 and home >= 0 and self.old.frames[near] == head:
            likeness, at = self._find_alike(near, home)
        if at >= 0:
            at = find_closing(self.new, at, key[:1]) if key else at + row - near
        if 0 <= at < len(self.new) and self.new.keys[at] == key and likeness >= _LIKELY:
            return likeness, at
        if home < 0 or not key:
            return 0.0, -1
        before, same = list_alike(self.old, head, key), list_alike(self.new, home, key)
        if len(before) != len(same) or row not in before:
            return 0.0, -1
        return _LONE if len(same) == 1 else _DOUBTFUL, same[before.index(row)]

    def leaves_function(self, row: int, place: int, settled: bool) -> bool:
        """Returns whether a row would leave its function, which is still there, without good reason.

        It may where it is not like many others and its function was emptied: what holds much of what it held was
        copied, and the place is in the copy.
        """
        home = -1 if self.partial else self._find_home(row, place)
        if home < 0:
            return False
        key = self.old.keys[row]
        many = not is_bare(key) and max(len(self.old.places[key]), len(self.new.places.get(key, ()))) >= _COMMON
        return (many and not settled) or (self.aligned.may_be_copy(row, place) and self._is_kept(row, home))

    def leaves_statement(self, row: int, place: int, heads: Ranked) -> bool:
        """Returns whether a row such as `else:` would go to another function than its own and to another statement.

        `heads` is where its function may be. Such a row stands in every function: what it goes on tells which it is.
        """
        head, now = self.old.frames[row], self.new.frames[place]
        if self.partial or head < 0 or head == row or not _CONTROL.fullmatch(self.old.keys[row]):
            return False
        if self.aligned.forward[head] == now or any(at == now and chance >= _LIKELY for chance, at in heads[:1]):
            return False
        if now >= 0 and self.old.name(head) == self.new.name(now):
            return False
        before, there = self.old.before(row), self.new.before(place)
        return before < 0 or there < 0 or self.old.keys[before] != self.new.keys[there]

    def _is_kept(self, row: int, home: int) -> bool:
        """Returns whether the function of a row still holds some of the rows that it held."""
        head = self.old.frames[row]
        held = {key for key in self.old.keys[head + 1 : self.old.frame_end(head) + 1] if len(key) > _TELLING}
        kept = held.intersection(self.new.keys[home + 1 : self.new.frame_end(home) + 1])
        return len(kept) >= max(_FEWEST, len(held) // _KEPT)

    def _find_home(self, row: int, place: int) -> int:
        """Returns where the function of a row is, by its name, if `place` is in another one; else -1."""
        head, now = self.old.frames[row], self.new.frames[place]
        path = self.old.owners.get(head, ())
        home = self.new.singles.get(path, -1)
        return -1 if head < 0 or now < 0 or home == now or self.old.singles.get(path) != head else home

    def _find_fragment(self, row: int) -> int:
        """Returns where a row of a fragment is that stands among its neighbours: at its old place, or at one other.

        A row that was edited is where it would be between its neighbours, when both are there and it begins alike.
        """
        keys, count = self.old.keys, len(self.old)
        if not keys[row]:
            return -1
        starts = [at - row for at in self._keep_own(self.new.places.get(keys[row], ()))]
        whole = [start for start in starts if start >= 0 and self.new.keys[start : start + count] == keys]
        if self.shift in whole:
            return row + self.shift
        if whole:
            return row + whole[0] if len(whole) == 1 and count > 1 else -1
        at = self._find_among(row)
        return at if at >= 0 else self._find_between(row)

    def _keep_own(self, places: Sequence[int]) -> Sequence[int]:
        """Returns those of some places that are in the symbol that the fragment was in; all if that is not there."""
        if self.new.singles.get(self.symbol, -1) < 0:
            return places
        return [at for at in places if self.new.owners.get(at, ()) == self.symbol]

    def leaves_symbol(self, row: int, place: int) -> bool:
        """Returns whether a row of a fragment would go to another symbol than its own, without good reason.

        It may where its own is gone, between the rows that it stood between, in the place of no other.
        """
        if not self.symbol or self.new.owners.get(place, ()) == self.symbol:
            return False
        if self.new.singles.get(self.symbol, -1) >= 0:
            return True
        if self.aligned.backward[place] not in (-1, row):
            return True
        above, below = self.aligned.around(row)
        forward = self.aligned.forward
        return (above >= 0 and place <= forward[above]) or (below < len(forward) and place >= forward[below])

    def find_proven(self, row: int, place: int) -> int:
        """Returns where a row of a fragment is that says little by itself, beyond doubt, if not at a place; or -1."""
        if self.proof.proves(row, place):
            return -1
        return self.proof.find_proven(row, self._keep_own(self.new.places.get(self.old.keys[row], ())))

    def is_at_home(self, row: int, place: int, chance: float) -> bool:
        """Returns whether a row of a fragment is where it was: in its symbol, and between the rows it stood between.

        What is less likely has to be as far from one of them as it was. (Of 190 such rows in releases 183 were right.)
        """
        if is_bare(self.old.keys[row]) or len(self.aligned.known) < _FEW_KNOWN:
            return False
        above, below = self.aligned.around(row)
        forward = self.aligned.forward
        after = forward[above] if above >= 0 else -1
        before = forward[below] if below < len(forward) else len(self.new)
        if not after < place < before or self.new.owners.get(place, ()) != self.symbol:
            return False
        is_steady = place - after == row - above or before - place == below - row
        return chance >= (_LIKELY_STEADY if is_steady else _LIKELY)

    def _find_among(self, row: int) -> int:
        """Returns the one place of a row that has most of its neighbours around it, or -1."""
        places = self._keep_own(self.new.places.get(self.old.keys[row], ()))
        if not 0 < len(places) <= _MOST_PLACES:
            return -1
        near = [at for at in range(len(self.old)) if at != row and len(self.old.keys[at]) > _TELLING]
        best = sorted(((self._count_near(near, row, at), at) for at in places), reverse=True)
        support = best[0][0]
        if support < max(2, (len(near) + 1) // 2) or (len(best) > 1 and best[1][0] >= support):
            return -1
        return best[0][1]

    def _count_near(self, near: list[int], row: int, at: int) -> int:
        """Returns how many rows of the fragment stand about as far from a place as they stood from the row."""
        keys = self.new.keys
        found = 0
        for each in near:
            expected, key = at + each - row, self.old.keys[each]
            found += any(
                keys[place] == key
                for place in range(max(0, expected - _SHIFTED), min(len(keys), expected + _SHIFTED + 1))
            )
        return found

    def _find_between(self, row: int) -> int:
        """Returns the row between the neighbours of an edited one, where they are still as far apart, or -1."""
        above = next((at for at in range(row - 1, -1, -1) if len(self.old.keys[at]) > _TELLING), -1)
        below = next((at for at in range(row + 1, len(self.old)) if len(self.old.keys[at]) > _TELLING), -1)
        if above < 0 or below < 0:
            return -1
        over, under = self._find_among(above), self._find_among(below)
        at = over + row - above
        if over < 0 or under - over != below - above or self.new.opening(at) != self.old.opening(row):
            return -1
        return at if Indel.normalized_similarity(self.old.keys[row], self.new.keys[at], score_cutoff=0.5) else -1

    @cached_property
    def proof(self) -> Proof:
        """What proves where the rows of a fragment are that say little by themselves."""
        return Proof(self.old, self.new)

    @cached_property
    def _rewrap(self) -> Rewrap:
        return Rewrap(self.old, self.new)

    def expect(self, row: int) -> int:
        """Returns where a row would be if only its neighbours were known."""
        above, below = self.aligned.around(row)
        forward = self.aligned.forward
        if above >= 0 and (below >= len(forward) or row - above <= below - row):
            return forward[above] + row - above
        if below < len(forward):
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
