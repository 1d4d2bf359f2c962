"""Sets that many writers add to and remove from: labels, people, links. A removal removes what its writer had seen."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from postil.tracker.state.causality import History

MOST = 10_000
"""Members of one set. What a log adds beyond them has no effect, for everybody alike."""
MOST_ADDITIONS = 50_000
"""Additions that keep the members of one set in, together. Further ones have no effect either."""
K = TypeVar("K", bound=Hashable)
Replica = TypeVar("Replica", str, int)


class Members(Generic[K, Replica]):
    """The members so far, each with the additions that no removal has seen."""

    def __init__(self, seen: History[Replica]) -> None:
        self._seen = seen
        self._additions: dict[K, dict[int, None]] = {}
        """The events that keep a member in, in order."""
        self._places: dict[K, dict[Replica, int | _Written]] = {}
        """Where those are written: for each writer the event, or several. Mostly one, and then a list is too large."""
        self._held = 0
        """How many additions there are."""

    def __iter__(self) -> Iterator[K]:
        return iter(self._additions)

    def first(self, member: K) -> int:
        """Returns the oldest addition of a member that still holds."""
        return next(iter(self._additions[member]))

    def update(self, ref: int, add: Sequence[K] = (), rm: Sequence[K] = ()) -> None:
        """Take in one event; they must come in their order."""
        known: dict[Replica, int] = {}
        for member in rm:
            if member in self._additions:
                known = known or self._find_known(ref)
                self._remove(member, known)
        for member in dict.fromkeys(add):
            if self._held >= MOST_ADDITIONS:
                break
            if len(self._additions) >= MOST and member not in self._additions:
                continue
            self._held += 1
            self._additions.setdefault(member, {})[ref] = None
            by_writer = self._places.setdefault(member, {})
            for replica, number in self._seen.places(ref):
                written = by_writer.setdefault(replica, ref)
                if isinstance(written, _Written):
                    written.add(number, ref)
                elif written != ref:
                    by_writer[replica] = both = _Written()
                    both.add(self._find_number(written, replica), written)
                    both.add(number, ref)

    def _find_known(self, ref: int) -> dict[Replica, int]:
        """Returns the last number of each writer that the writer of an event had seen."""
        known: dict[Replica, int] = {}
        for replica, number in self._seen.knowledge(ref):
            known[replica] = max(number, known.get(replica, 0))
        return known

    def _remove(self, member: K, known: dict[Replica, int]) -> None:
        additions, by_writer = self._additions[member], self._places[member]
        self._held -= len(additions)
        for replica in [*by_writer] if len(by_writer) < len(known) else [one for one in known if one in by_writer]:
            number, written = known.get(replica, 0), by_writer[replica]
            if isinstance(written, _Written):
                for one in written.take(number):
                    additions.pop(one, None)
            elif self._find_number(written, replica) <= number:
                additions.pop(written, None)
                del by_writer[replica]
        self._held += len(additions)
        if not additions:
            del self._additions[member], self._places[member]

    def _find_number(self, ref: int, replica: Replica) -> int:
        return min(number for writer, number in self._seen.places(ref) if writer == replica)


class _Written:
    """The additions of one writer, by their numbers."""

    def __init__(self) -> None:
        self._rising: list[tuple[int, int]] = []
        self._taken = 0

    def add(self, number: int, ref: int) -> None:
        rising = self._rising
        rising.append((number, ref))
        if len(rising) - self._taken > 1 and rising[-2][0] > number:
            rising[self._taken :] = sorted(rising[self._taken :])

    def take(self, upto: int) -> Iterator[int]:
        """Yields, once, the additions up to a number."""
        rising = self._rising
        while self._taken < len(rising) and rising[self._taken][0] <= upto:
            yield rising[self._taken][1]
            self._taken += 1
            if self._taken > 64 and self._taken * 2 > len(rising):
                del rising[: self._taken]
                self._taken = 0
