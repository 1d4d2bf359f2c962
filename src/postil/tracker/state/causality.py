"""In which order events count, and which of them knew of which. Pure, and linear in what it is given.

An event knows its writer's earlier ones and what its `dep` names. Whatever knew another counts after it; clocks only
decide between events that did not know of each other. Events of honest writers come out in the order of their clocks.
A writer can lie: with a clock that no number of events explains, or with a `dep` that names what was not written yet.
The first only wins ties. The second shows as a circle, because whoever answers such an event knows it; a claim that is
not backed by the id of what it names (`proof`) is then not believed.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, MutableSequence, Sequence
from heapq import heapify, heappop, heappush
from itertools import pairwise
from operator import attrgetter
from typing import TYPE_CHECKING, Protocol, TypeVar
from zlib import crc32

import msgspec

if TYPE_CHECKING:
    from postil.tracker.events import Event

_order = attrgetter("l", "r", "n", "id")
_PLACE = {"r": "", "n": 1, "l": 1, "dep": None, "ts": "", "a": "", "m": "", "proof": "", "v": 1}
"""What differs between copies of an event."""


Replica = TypeVar("Replica", str, int)
T = TypeVar("T")


class History(Protocol[Replica]):  # pyright: ignore[reportInvalidTypeVarUse] - two kinds, and no kind between them
    """A set of events, each once and in order; each is known by its place in that order.

    Replicas are names, or numbers that stand for them.
    """

    def stream(self) -> Iterator[Event]:
        """Yields all events in their order."""
        ...

    def read(self, ref: int) -> Event:
        """Returns one of the events."""
        ...

    def read_many(self, refs: Iterable[int]) -> Iterator[Event]:
        """Yields some of the events."""
        ...

    def places(self, ref: int) -> Iterable[tuple[Replica, int]]:
        """Returns where an event is written: (replica, number)."""
        ...

    def knowledge(self, ref: int) -> Iterator[tuple[Replica, int]]:
        """Yields what the writer had seen: (replica, its last number). The writer's own earlier events included."""
        ...

    def count_first_knowing(self, refs: Sequence[int]) -> list[int]:
        """Returns for each of some events how many writers knew it, or wrote it, with the first thing they wrote."""
        ...

    def make_refs(self) -> MutableSequence[int]:
        """Returns a list for places of events."""
        ...

    def gather(self, count: int, make: Callable[[int], T]) -> Sequence[T]:
        """Returns so many things that are made of events."""
        ...


def find_heads(seen: History[Replica], refs: Sequence[int]) -> MutableSequence[int]:
    """Returns the events that no later one of them knew, in order; the last is the one that holds."""
    known: dict[Replica, int] = {}
    found = seen.make_refs()
    for ref in reversed(refs):
        if not any(known.get(replica, 0) >= number for replica, number in seen.places(ref)):
            found.append(ref)
        for replica, number in seen.knowledge(ref):
            if number > known.get(replica, 0):
                known[replica] = number
    found.reverse()
    return found


class Causality:
    """A set of events, each once and in order."""

    def __init__(self, events: Iterable[Event]) -> None:
        self._copies: dict[int, list[Event]] = {}
        """The places of an event that is in several, by the identity of the one that counts."""
        self.order = _sort(self._unite(events))

    def stream(self) -> Iterator[Event]:
        """Yields all events in their order."""
        return iter(self.order)

    def read(self, ref: int) -> Event:
        """Returns one of the events."""
        return self.order[ref]

    def read_many(self, refs: Iterable[int]) -> Iterator[Event]:
        """Yields some of the events."""
        return map(self.order.__getitem__, refs)

    def places(self, ref: int) -> Iterable[tuple[str, int]]:
        """Returns where an event is written: (replica, number)."""
        event = self.order[ref]
        copies = self._copies.get(id(event)) if self._copies else None
        return [(one.r, one.n) for one in copies] if copies else ((event.r, event.n),)

    def knowledge(self, ref: int) -> Iterator[tuple[str, int]]:
        """Yields what the writer had seen: (replica, its last number). The writer's own earlier events included."""
        event = self.order[ref]
        for one in self._copies.get(id(event)) or (event,):
            yield one.r, one.n - 1
            if one.dep:
                yield from one.dep.items()

    def count_first_knowing(self, refs: Sequence[int]) -> list[int]:
        """Returns for each of some events how many writers knew it, or wrote it, with the first thing they wrote."""
        candidates = [self.order[ref] for ref in refs]
        claims: dict[str, list[int]] = {event.r: [] for event in candidates}
        came: set[str] = set()
        for event in self.order:
            if event.r not in came:
                came.add(event.r)
                for replica, number in ((event.r, event.n), *(event.dep or {}).items()):
                    if replica in claims:
                        claims[replica].append(number)
        for numbers in claims.values():
            numbers.sort()
        return [len(claims[one.r]) - bisect_right(claims[one.r], one.n - 1) for one in candidates]

    def make_refs(self) -> MutableSequence[int]:
        """Returns a list for places of events."""
        return []

    def gather(self, count: int, make: Callable[[int], T]) -> Sequence[T]:
        """Returns so many things that are made of events."""
        return tuple(map(make, range(count)))

    def _unite(self, events: Iterable[Event]) -> list[Event]:
        """Returns each event once. Of copies (a log absorbed, or imported twice) the first in the order counts.

        Only what says the same is a copy: nobody replaces another's event by writing one with its id.
        """
        first: dict[str, Event] = {}
        more: dict[str, list[Event]] = {}
        for event in events:
            other = first.setdefault(event.id, event)
            if other is not event and other != event:
                more.setdefault(event.id, [other]).append(event)
        for id_, copies in more.items():
            del first[id_]
            alike: dict[bytes, dict[tuple[str, int, int], Event]] = {}
            for event in sorted(copies, key=_order_surely):
                alike.setdefault(_read_content(event), {}).setdefault((event.r, event.n, event.l), event)
            for number, places in enumerate(alike.values()):
                same = list(places.values())
                first[f"{id_} {number}"] = same[0]
                if len(same) > 1:
                    self._copies[id(same[0])] = same
        return list(first.values())


def _order_surely(event: Event) -> tuple[tuple[int, str, int, str], bytes]:
    """Returns a key that no two different events share, also those of a log that somebody rewrote."""
    return _order(event), msgspec.json.encode(event)


def prove(seen: Iterable[tuple[str, int, str]]) -> str:
    """Returns the proof of having seen events (replica, number, id): nobody can make it before they are written."""
    return f"{crc32(' '.join(f'{r}:{n}:{id_}' for r, n, id_ in sorted(seen)).encode()):08x}"


def _read_content(event: Event) -> bytes:
    place = {name: value for name, value in _PLACE.items() if name in event.__struct_fields__}
    return msgspec.json.encode(msgspec.structs.replace(event, **place))


def _sort(events: list[Event]) -> list[Event]:
    # By one attribute after the other: tuples as keys would cost more memory than the events.
    for name in ("n", "r", "l"):
        events.sort(key=attrgetter(name))
    return events if _is_causal(events) else _Untangling(events).sort()


def _is_causal(events: Sequence[Event]) -> bool:
    """Returns whether nothing comes before what it knew, and no place is taken twice."""
    return _find_last(events, {}, {})


def _find_last(events: Iterable[Event], last: dict[str, int], claimed: dict[str, int]) -> bool:
    """Note the last numbers of writers, and those that others knew, in turn. Returns whether they allow each event."""
    for event in events:
        r, n = event.r, event.n
        if n <= last.get(r, 0) or n <= claimed.get(r, 0):
            return False
        last[r] = n
        if event.dep:
            for replica, number in event.dep.items():
                if number > claimed.get(replica, 0) and replica != r:
                    claimed[replica] = number
    return True


class End:
    """The end of some events: whatever has a later clock, and a number that nobody claimed, comes after all of them."""

    def __init__(self) -> None:
        self._clock = 0
        self._last: dict[str, int] = {}
        self._claimed: dict[str, int] = {}

    @classmethod
    def of(cls, events: Iterable[Event]) -> End | None:
        """Returns the end of events in any order; None where their clocks contradict what they knew."""
        found, order = cls(), sorted(events, key=_order)
        if not order or not _find_last(order, found._last, found._claimed):
            return None
        found._clock = order[-1].l
        return found

    def add(self, event: Event) -> bool:
        """Take in one more. Returns whether it comes after all others; if not, nothing is known of the end any more."""
        if event.l <= self._clock or not _find_last((event,), self._last, self._claimed):
            return False
        self._clock = event.l
        return True


class _Untangling:
    """Sorts events whose clocks contradict what they knew: always the first in the order that waits for nothing."""

    def __init__(self, events: list[Event]) -> None:
        self._events = sorted(events, key=_order_surely)
        self._by_writer: dict[str, list[int]] = {}
        for at in sorted(range(len(events)), key=lambda at: (self._events[at].r, self._events[at].n)):
            self._by_writer.setdefault(self._events[at].r, []).append(at)
        self._numbers = {r: [self._events[at].n for at in own] for r, own in self._by_writer.items()}
        self._waits: list[set[int]] = [set() for _ in events]
        self._awaited: dict[int, list[int]] = {}
        self._own: list[int] = [-1] * len(events)
        """The event that its writer wrote before it."""
        for own in self._by_writer.values():
            for before, after in pairwise(own):
                self._own[after] = before
                self._wait(after, before)
        for at, event in enumerate(self._events):
            for target, _ in self._claims(event):
                self._wait(at, target)

    def sort(self) -> list[Event]:
        """Returns the events in their order."""
        ready = [at for at, waits in enumerate(self._waits) if not waits]
        found: list[Event] = []
        done = [False] * len(self._events)
        for doubt in (None, self._has_exact_claims, self._is_proved):
            if doubt is not None:
                ready = [at for at, over in enumerate(done) if not over and self._is_freed(at, doubt)]
            heapify(ready)
            while ready:
                at = heappop(ready)
                if done[at]:  # freed, and then what it did not wait for any more came
                    continue
                done[at] = True
                found.append(self._events[at])
                for after in self._awaited.pop(at, ()):
                    self._waits[after].discard(at)
                    if not self._waits[after] and not done[after]:
                        heappush(ready, after)
        # What still waits for itself is in nobody's order; its clocks decide.
        return [*found, *(event for event, over in zip(self._events, done, strict=True) if not over)]

    def _is_freed(self, at: int, believed: Callable[[Event], bool]) -> bool:
        """Returns whether an event of a circle may go on, once what it claims without good reason is set aside."""
        if self._waits[at] and not believed(self._events[at]):
            self._waits[at] &= {self._own[at]}
        return not self._waits[at]

    def _has_exact_claims(self, event: Event) -> bool:
        return all(exact for _, exact in self._claims(event))

    def _wait(self, after: int, before: int) -> None:
        if before != after and before not in self._waits[after]:
            self._waits[after].add(before)
            self._awaited.setdefault(before, []).append(after)

    def _claims(self, event: Event) -> Iterator[tuple[int, bool]]:
        """Yields the last event of each other writer that this one knew, and whether it named just that one."""
        for replica, number in (event.dep or {}).items():
            own = self._by_writer.get(replica)
            if own is not None and replica != event.r:
                upto = bisect_right(self._numbers[replica], number)
                if upto:
                    yield own[upto - 1], self._numbers[replica][upto - 1] == number

    def _is_proved(self, event: Event) -> bool:
        named = [self._events[at] for at, _ in self._claims(event)]
        return event.proof == prove((one.r, one.n, one.id) for one in named)
