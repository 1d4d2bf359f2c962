"""Sets that many writers add to and remove from: labels, people, links. A removal removes what its writer had seen."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterator, Sequence
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from postil.tracker.events import Event
    from postil.tracker.state.causality import Causality

K = TypeVar("K", bound=Hashable)


class Members(Generic[K]):
    """The members so far, each with the additions that no removal has seen."""

    def __init__(self, seen: Causality) -> None:
        self._seen = seen
        self._additions: dict[K, dict[int, Event]] = {}
        """What keeps a member in, in order, by the identity of the event."""
        self._places: dict[K, dict[str, deque[tuple[int, int]]]] = {}
        """Where those additions are written: for each writer (number, identity), rising."""

    def __iter__(self) -> Iterator[K]:
        return iter(self._additions)

    def first(self, member: K) -> Event:
        """Returns the oldest addition of a member that still holds."""
        return next(iter(self._additions[member].values()))

    def update(self, event: Event, add: Sequence[K] = (), rm: Sequence[K] = ()) -> None:
        """Take in one event; they must come in their order."""
        for member in rm:
            if member in self._additions:
                self._remove(event, member)
        for member in add:
            self._additions.setdefault(member, {})[id(event)] = event
            by_writer = self._places.setdefault(member, {})
            for one in self._seen.places(event):
                written = by_writer.setdefault(one.r, deque())
                if written and written[-1][0] > one.n:
                    by_writer[one.r] = deque(sorted([*written, (one.n, id(event))]))
                else:
                    written.append((one.n, id(event)))

    def _remove(self, event: Event, member: K) -> None:
        additions, by_writer = self._additions[member], self._places[member]
        for replica, number in self._seen.knowledge(event):
            written = by_writer.get(replica)
            while written and written[0][0] <= number:
                additions.pop(written.popleft()[1], None)
        if not additions:
            del self._additions[member], self._places[member]
