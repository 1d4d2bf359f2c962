"""The order of very many events whose clocks contradict what they knew: what `causality.py` finds, from arrays."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterator
from heapq import heapify, heappop, heappush
from itertools import accumulate, islice
from typing import TYPE_CHECKING

from postil.tracker.events import MAX_CLOCK
from postil.tracker.state.causality import prove

if TYPE_CHECKING:
    from postil.tracker.state.large_history import LargeHistory

_NONE = 0xFFFFFFFF


class LargeUntangling:
    """Sorts events: always the first in the order of their clocks that waits for nothing."""

    def __init__(self, seen: LargeHistory, count: int, writers: int) -> None:
        self._seen = seen
        self._writer, number = array("I"), array("q")
        for ref in range(count):
            ((writer, own),) = seen.places(ref)
            self._writer.append(writer)
            number.append(own)
        keys = [writer * MAX_CLOCK + own for writer, own in zip(self._writer, number, strict=True)]
        self._by_writer = array("I", sorted(range(count), key=keys.__getitem__))
        del keys
        self._numbers = array("q", map(number.__getitem__, self._by_writer))
        sizes = [0] * (writers + 1)
        for writer in self._writer:
            sizes[writer + 1] += 1
        self._starts = array("Q", accumulate(sizes))
        self._own = array("I", [_NONE]) * count
        """The event that its writer wrote before it."""
        for before, after in zip(self._by_writer, islice(self._by_writer, 1, None), strict=False):
            if self._writer[before] == self._writer[after]:
                self._own[after] = before
        self._done, self._freed = bytearray(count), bytearray(count)
        self._waits = array("I", bytes(4 * count))
        """For how many events it waits; which they are, the lists of those say."""
        self._ends = array("Q", bytes(8 * (count + 1)))
        self._awaited = self._list_awaited()

    def sort(self) -> array[int]:
        """Returns the events in their order."""
        found = array("I")
        ready = [ref for ref, waits in enumerate(self._waits) if not waits]
        for doubt in (None, self._has_exact_claims, self._is_proved):
            if doubt is not None:
                ready = [ref for ref, over in enumerate(self._done) if not over and self._is_free(ref, doubt)]
            heapify(ready)
            while ready:
                ref = heappop(ready)
                self._done[ref] = 1
                found.append(ref)
                for at in range(self._ends[ref], self._ends[ref + 1]):
                    after = self._awaited[at]
                    if self._own[after] == ref or not self._freed[after]:
                        self._waits[after] -= 1
                        if not self._waits[after]:
                            heappush(ready, after)
        # What still waits for itself is in nobody's order; its clocks decide.
        found.extend(ref for ref, over in enumerate(self._done) if not over)
        return found

    def _list_awaited(self) -> array[int]:
        """Returns those that wait for an event, for one event after the other; `_ends` says where each begins."""
        count = len(self._own)
        for ref in range(count):
            for target in self._targets(ref):
                self._ends[target + 1] += 1
                self._waits[ref] += 1
        for ref in range(count):
            self._ends[ref + 1] += self._ends[ref]
        found, filled = array("I", bytes(4 * self._ends[count])), array("Q", self._ends)
        for ref in range(count):
            for target in self._targets(ref):
                found[filled[target]] = ref
                filled[target] += 1
        return found

    def _targets(self, ref: int) -> Iterator[int]:
        if self._own[ref] != _NONE:
            yield self._own[ref]
        for target, _ in self._claims(ref):
            yield target

    def _is_free(self, ref: int, believed: Callable[[int], bool]) -> bool:
        """Returns whether an event of a circle may go on, once what it claims without good reason is set aside."""
        if self._waits[ref] and not believed(ref):
            self._freed[ref] = 1
            own = self._own[ref]
            self._waits[ref] = own != _NONE and not self._done[own]
        return not self._waits[ref]

    def _claims(self, ref: int) -> Iterator[tuple[int, bool]]:
        """Yields the last event of each other writer that this one knew, and whether it named just that one."""
        for replica, number in islice(self._seen.knowledge(ref), 1, None):
            if replica != self._writer[ref]:
                begin = self._starts[replica]
                upto = bisect_right(self._numbers, number, begin, self._starts[replica + 1])
                if upto > begin:
                    yield self._by_writer[upto - 1], self._numbers[upto - 1] == number

    def _has_exact_claims(self, ref: int) -> bool:
        return all(exact for _, exact in self._claims(ref))

    def _is_proved(self, ref: int) -> bool:
        named = [self._seen.read(target) for target, _ in self._claims(ref)]
        return self._seen.read(ref).proof == prove((one.r, one.n, one.id) for one in named)
