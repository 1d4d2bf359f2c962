"""Reading whole logs side by side, so that their events come in the order of their clocks.

For building an index from nothing. Each log is in that order already, so a few segments of each are in memory at a
time. The events of a damaged segment are read from the commits; if those are damaged too, only they are missing.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from itertools import repeat
from operator import attrgetter
from typing import Self

from postil.tracker.events import Event, decode, decode_lines
from postil.tracker.log.format import LogCommit, LogDamaged, Objects, Segment, open_objects

_clock = attrgetter("l")


class LogSource:
    """One log on its way: what of it is still to be read, and the events that wait for their turn."""

    def __init__(self, segments: Sequence[tuple[str, Segment]], commits: Sequence[LogCommit], damaged: Damaged) -> None:
        self._damaged = damaged
        self.segments = deque(segments)
        self.lines = [line for commit in commits for line in commit.lines.split(b"\n") if line]
        self.arrived: bytes | None = None
        self.events: Sequence[Event] = ()
        self.at = 0
        self.count = 0
        """How many events were read."""
        self.place = ""
        self.unread: list[str] = []
        """The marks of segments that could not be read."""

    def give_up(self, fault: LogDamaged) -> None:
        """The next segment cannot be read: go on with its lines as they are found elsewhere."""
        mark, segment = self.segments.popleft()
        self.unread.append(mark)
        self.lines += self._damaged(fault, segment)


Damaged = Callable[[LogDamaged, Segment], list[bytes]]
"""Told of a damage; finds the lines of that segment in another way, if there is one."""


def merge_in_order(root: str, sources: Sequence[LogSource], held: Callable[[str, bytes], object]) -> Iterator[Read]:
    """Yields all events by their clocks, with their places. `held` is called with the lines that no segment has."""
    with _SegmentReader(root, sources) as talk:
        waiting: list[LogSource] = [source for source in sources if _advance(talk, source, held)]
        while waiting:
            # Events up to this clock are final: every log has been read past it.
            first: LogSource = min(waiting, key=lambda source: source.events[-1].l)
            bound = first.events[-1].l
            ready: list[tuple[LogSource, int]] = [(first, len(first.events))]
            for source in waiting:
                if source is not first:
                    cut = bisect_right(source.events, bound, source.at, key=_clock)
                    if cut > source.at:
                        ready.append((source, cut))
            yield _merge(ready)
            for source, cut in ready:
                source.at = cut
            waiting = [source for source in waiting if source.at < len(source.events) or _advance(talk, source, held)]


Read = Iterable[tuple[Event, str]]
"""Events, each with the mark of the segment it is in: empty for those of commits."""


def _merge(ready: Sequence[tuple[LogSource, int]]) -> Read:
    parts = [zip(source.events[source.at : cut], repeat(source.place)) for source, cut in ready]
    if len(parts) == 1:
        return parts[0]
    merged = [pair for part in parts for pair in part]
    merged.sort(key=lambda pair: pair[0].l)
    return merged


def _advance(talk: _SegmentReader, source: LogSource, held: Callable[[str, bytes], object]) -> bool:
    """Let the next events of a log wait for their turn. Returns whether there were any left."""
    source.events, source.at = (), 0
    while source.segments and not source.events:
        try:
            source.place, lines = talk.segment(source)
        except LogDamaged as fault:
            source.give_up(fault)
            talk.ask(source)
            continue
        source.events = decode_lines(lines)
    if not source.events and source.lines:
        found = [(event, line) for line in source.lines if (event := decode(line)) is not None]
        for event, line in found:
            held(event.ent, line)
        source.lines.clear()
        source.events, source.place = [event for event, _ in found], ""
    source.count += len(source.events)
    return bool(source.events)


class _SegmentReader:
    """One git that is always asked for the next segment of every log, so that it reads while we work."""

    def __init__(self, root: str, sources: Sequence[LogSource]) -> None:
        self._root = root
        self._open = ExitStack()
        self._sources = sources
        self._asked: deque[LogSource] = deque()
        self._git: Objects | None = None

    def __enter__(self) -> Self:
        for source in self._sources:
            self.ask(source)
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def segment(self, source: LogSource) -> tuple[str, bytes]:
        """Returns the next segment of a log: its mark and its lines."""
        while source.arrived is None:
            other = self._asked.popleft()
            try:
                other.arrived = self._talk().segment(other.segments[0][1].oid)
            except LogDamaged as fault:
                self._again()
                if other is source:
                    raise
                other.give_up(fault)
                self.ask(other)
        lines, source.arrived = source.arrived, None
        mark, _ = source.segments.popleft()
        self.ask(source)
        return mark, lines

    def _talk(self) -> Objects:
        if self._git is None:
            self._git = self._open.enter_context(open_objects(self._root))
        return self._git

    def ask(self, source: LogSource) -> None:
        """Ask for the next segment of a log, without waiting for it."""
        if source.segments:
            self._asked.append(source)
            with suppress(LogDamaged):  # git ended over another log's object; when that is noticed, all is asked again
                self._talk().ask(source.segments[0][1].oid)

    def _again(self) -> None:
        """Begin a new conversation: git may have ended over an object that it could not read."""
        self._open.close()
        self._git = None
        for source in self._asked:
            self._talk().ask(source.segments[0][1].oid)
