"""The events of one entity where they are too many to hold: their places in memory, their words where they are stored.

Answers what `Causality` answers, from arrays of numbers: about seventy bytes an event instead of a thousand. Where one
id says two things, or is in two places, `Tangled` is raised and the events have to be held after all.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, MutableSequence, Sequence
from itertools import islice, pairwise
from typing import Protocol, TypeVar, cast, overload

from postil.tracker.events import MAX_CLOCK, Event, decode, decode_lines

T = TypeVar("T")
_CHUNK = 1 << 18
"""Bytes decoded at a time: names may take fifty times as much when they are understood."""
_MOST_NAMED = 10_000
"""Writers whose names are held before only those are that wrote something here: of others no event can be known."""
_NEAR = 4096
"""Bytes between lines that are read with them: less than what another read costs."""
_TOGETHER = 4096
"""Events decoded at a time where they are not in the order in which they are stored."""


class StoredLines(Protocol):
    """Lines in memory, or in a file that is read piece by piece."""

    def __len__(self) -> int: ...

    def __getitem__(self, part: slice, /) -> bytes: ...


class Tangled(Exception):
    """One id stands for several events."""


class _NamesMany(Exception):
    """The events name more writers than are held before it is known which of them wrote."""


class MadeOnDemand(Sequence[T]):
    """A sequence whose items are made of events when somebody looks at them."""

    def __init__(self, count: int, make: Callable[[int], T]) -> None:
        self._at, self._make = range(count), make

    def __len__(self) -> int:
        return len(self._at)

    @overload
    def __getitem__(self, at: int) -> T: ...

    @overload
    def __getitem__(self, at: slice) -> tuple[T, ...]: ...

    def __getitem__(self, at: int | slice) -> T | tuple[T, ...]:
        if isinstance(at, slice):
            return tuple(map(self._make, self._at[at]))
        return self._make(self._at[at])

    def __iter__(self) -> Iterator[T]:
        return map(self._make, self._at)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, (MadeOnDemand, tuple)):
            return NotImplemented
        return tuple(self) == tuple(cast("Sequence[object]", other))

    __hash__ = None  # pyright: ignore[reportAssignmentType]


class LargeHistory:
    """A set of events, each once and in order, known by their places in it."""

    def __init__(self, lines: StoredLines) -> None:
        self._lines = lines
        self._begin, self._size = array("q"), array("I")
        self._writer, self._number = array("I"), array("q")
        self._known_end, self._known_writer, self._known_number = array("q"), array("I"), array("q")
        """What an event knew lies before its end, and after that of the event before it."""
        self._last: tuple[int, Event] | None = None
        clocks, self._writers = array("q"), 0
        try:
            repeated, ranks, is_sorted = self._take_in(clocks, {}, _MOST_NAMED)
        except _NamesMany:
            noted = (clocks, self._begin, self._size, self._writer, self._number)
            for numbers in (*noted, self._known_end, self._known_writer, self._known_number):
                del numbers[:]
            writers = dict.fromkeys(event.r for _, _, events in self._chunks() for event in events)
            repeated, ranks, is_sorted = self._take_in(clocks, {name: at for at, name in enumerate(writers)}, 0)
        self._order: Sequence[int] = range(len(clocks))
        if repeated or not is_sorted:
            self._order = self._sort(clocks, ranks, self._find_repeats(repeated))
        if not self._is_causal():
            self._untangle()

    def read(self, ref: int) -> Event:
        """Returns one of the events."""
        if self._last is None or self._last[0] != ref:
            event = decode(self._line(self._order[ref]))
            assert event is not None
            self._last = ref, event
        return self._last[1]

    def stream(self) -> Iterator[Event]:
        """Yields all events in their order."""
        if isinstance(self._order, range):
            return (event for _, _, events in self._chunks() for event in events)
        return self.read_many(range(len(self._order)))

    def read_many(self, refs: Iterable[int]) -> Iterator[Event]:
        """Yields some of the events."""
        places = iter(refs)
        while some := [self._order[ref] for ref in islice(places, _TOGETHER)]:
            yield from decode_lines(b"\n".join(self._read_lines(some)))

    def places(self, ref: int) -> Iterable[tuple[int, int]]:
        """Returns where an event is written: here always in one place."""
        at = self._order[ref]
        return ((self._writer[at], self._number[at]),)

    def knowledge(self, ref: int) -> Iterator[tuple[int, int]]:
        """Yields what the writer had seen: (replica, its last number). The writer's own earlier events included."""
        at = self._order[ref]
        yield self._writer[at], self._number[at] - 1
        for known in range(self._known_end[at - 1] if at else 0, self._known_end[at]):
            yield self._known_writer[known], self._known_number[known]

    def count_first_knowing(self, refs: Sequence[int]) -> list[int]:
        """Returns for each of some events how many writers knew it, or wrote it, with the first thing they wrote."""
        asked, came = bytearray(self._writers), bytearray(self._writers)
        for ref in refs:
            asked[self._writer[self._order[ref]]] = 1
        claims: list[int] = []
        for ref in range(len(self._order)):
            at = self._order[ref]
            writer = self._writer[at]
            if not came[writer]:
                came[writer] = 1
                known = islice(self.knowledge(ref), 1, None)
                claims += [
                    replica * MAX_CLOCK + number
                    for replica, number in ((writer, self._number[at]), *known)
                    if asked[replica]
                ]
        claims.sort()
        found: list[int] = []
        for ref in refs:
            at = self._order[ref]
            own = self._writer[at] * MAX_CLOCK
            found.append(bisect_left(claims, own + MAX_CLOCK) - bisect_left(claims, own + self._number[at]))
        return found

    def make_refs(self) -> MutableSequence[int]:
        """Returns a list for places of events."""
        return array("I")

    def gather(self, count: int, make: Callable[[int], T]) -> Sequence[T]:
        """Returns so many things that are made of events."""
        return MadeOnDemand(count, make)

    def _line(self, at: int) -> bytes:
        begin = self._begin[at]
        return self._lines[begin : begin + self._size[at]]

    def _read_lines(self, some: Sequence[int]) -> Iterable[bytes]:
        """Returns lines in the order asked for. Those that are stored near each other are read together."""
        found = dict.fromkeys(some, b"")
        near: list[int] = []
        end = 0
        for at in sorted(some):
            begin = self._begin[at]
            if near and not (begin - end < _NEAR and begin - self._begin[near[0]] < _CHUNK):
                self._read_near(near, end, found)
                near = []
            near.append(at)
            end = begin + self._size[at]
        self._read_near(near, end, found)
        return [found[at] for at in some]

    def _read_near(self, near: Sequence[int], end: int, found: dict[int, bytes]) -> None:
        first = self._begin[near[0]]
        block = self._lines[first:end]
        for at in near:
            begin = self._begin[at] - first
            found[at] = block[begin : begin + self._size[at]]

    def _chunks(self) -> Iterator[tuple[int, list[bytes], list[Event]]]:
        """Yields some lines after the other: where they begin, the lines, and the events that they are."""
        at = 0
        while at < len(self._lines):
            size = _CHUNK
            while (end := (some := self._lines[at : at + size]).rfind(b"\n")) < 0 and at + size < len(self._lines):
                size *= 2
            if at + size < len(self._lines):
                some = some[:end]
            yield at, some.split(b"\n"), decode_lines(some)
            at += len(some) + 1

    def _take_in(self, clocks: array[int], writers: dict[str, int], most: int) -> tuple[set[int], array[int], bool]:
        """Read all events once. Raises _NamesMany where they name more than `most` writers.

        If `most` is 0, those that are not among `writers` are left out.

        Returns the hashes of ids that come more than once, the rank of each writer by name, and whether all are sorted.
        """
        hashes = array("q")
        is_sorted, last = True, (0, "", 0)
        for begin, lines, events in self._chunks():
            self._note_places(begin, lines, events)
            for event in events:
                hashes.append(hash(event.id))
                clocks.append(event.l)
                self._number.append(event.n)
                self._writer.append(writers.setdefault(event.r, len(writers)))
                for replica, number in event.dep.items() if event.dep else ():
                    writer = writers.get(replica)
                    if writer is None:
                        if not most:
                            continue
                        if len(writers) >= most:
                            raise _NamesMany
                        writer = writers[replica] = len(writers)
                    self._known_writer.append(writer)
                    self._known_number.append(min(max(number, 0), MAX_CLOCK - 1))
                self._known_end.append(len(self._known_number))
                if is_sorted:
                    place = event.l, event.r, event.n
                    is_sorted, last = last < place, place
        self._writers = len(writers)
        names = list(writers)
        del writers
        ranks = array("I", bytes(4 * len(names)))
        if not is_sorted:
            for rank, writer in enumerate(sorted(range(len(names)), key=names.__getitem__)):
                ranks[writer] = rank
        del names
        return {one for one, two in pairwise(sorted(hashes)) if one == two}, ranks, is_sorted

    def _note_places(self, begin: int, lines: list[bytes], events: list[Event]) -> None:
        whole = len(lines) - (not lines[-1]) == len(events) and all(lines[:-1])
        for line in lines:
            if line if whole else decode(line):
                self._begin.append(begin)
                self._size.append(len(line))
            begin += len(line) + 1

    def _find_repeats(self, hashes: set[int]) -> set[int]:
        """Returns the events that say again what one before them says. Raises Tangled if they say something else."""
        found: set[int] = set()
        first: dict[str, Event] = {}
        if hashes:
            every = (event for _, _, events in self._chunks() for event in events)
            for at, event in enumerate(every):
                if hash(event.id) in hashes:
                    if event != first.setdefault(event.id, event):
                        raise Tangled
                    if event is not first[event.id]:
                        found.add(at)
        return found

    def _sort(self, clocks: array[int], ranks: array[int], left_out: set[int]) -> array[int]:
        """Returns the events by clock, name of the writer and number."""
        # One number for all that decides, so that only numbers are sorted.
        by_number = max(self._number) + 1
        by_rank = len(ranks)
        by_place = len(clocks)
        keys = [
            ((clock * by_rank + ranks[writer]) * by_number + number) * by_place + at
            for at, (clock, writer, number) in enumerate(zip(clocks, self._writer, self._number, strict=True))
            if at not in left_out
        ]
        keys.sort()
        return array("I", (key % by_place for key in keys))

    def _untangle(self) -> None:
        """Let the order be that of `causality.py` where clocks contradict what writers knew."""
        from postil.tracker.state.large_untangling import LargeUntangling  # hardly anybody lies so often

        order = array("I", self._order)
        alike: list[int] = []
        for ref, at in enumerate(order):  # those that claim one place stand by their ids
            before = order[ref - 1]
            same = ref and (self._writer[at], self._number[at]) == (self._writer[before], self._number[before])
            if not same:
                self._order_alike(order, alike)
                alike = []
            alike.append(ref)
        self._order_alike(order, alike)
        self._order = order
        found = LargeUntangling(self, len(order), self._writers).sort()
        self._order = array("I", map(order.__getitem__, found))

    def _order_alike(self, order: array[int], alike: Sequence[int]) -> None:
        if len(alike) > 1:
            keys = {order[ref]: (event.l, event.id) for ref, event in zip(alike, self.read_many(alike), strict=True)}
            for ref, at in zip(alike, sorted(keys, key=keys.__getitem__), strict=True):
                order[ref] = at

    def _is_causal(self) -> bool:
        """Returns whether nothing comes before what it knew, and no place is taken twice."""
        nothing = bytes(8 * self._writers)
        last, claimed = array("q", nothing), array("q", nothing)
        for ref in range(len(self._order)):
            at = self._order[ref]
            writer, number = self._writer[at], self._number[at]
            if number <= last[writer] or number <= claimed[writer]:
                return False
            last[writer] = number
            for known in range(self._known_end[at - 1] if at else 0, self._known_end[at]):
                replica, upto = self._known_writer[known], self._known_number[known]
                if upto > claimed[replica] and replica != writer:
                    claimed[replica] = upto
        return True
