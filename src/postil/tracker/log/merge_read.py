"""Reading whole logs side by side, so that their events come in the order of their clocks.

For building an index from nothing. Each log is in that order already, so a few segments of each are in memory at a
time. The events of a damaged segment are read from the commits; if those are damaged too, only they are missing.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from itertools import chain, islice, repeat
from operator import attrgetter, itemgetter
from typing import Self

from postil.tracker.events import Event, decode, decode_lines
from postil.tracker.log.format import LogCommit, LogDamaged, Objects, Segment, open_objects

_clock = attrgetter("l")
_first = itemgetter(0)
_last = attrgetter("last")


class LogSource:
    """One log on its way: what of it is still to be read, and the events that wait for their turn."""

    def __init__(self, segments: Sequence[tuple[str, Segment]], commits: Sequence[LogCommit], damaged: Damaged) -> None:
        self._damaged = damaged
        self.segments = deque(segments)
        self.lines = deque(line for commit in commits for line in commit.lines.split(b"\n") if line)
        self.asked = 0
        """How many segments git was asked for and has not given yet."""
        self.arrived: dict[str, bytes] = {}
        self.sealed = b""
        """The lines of the segment that `place` marks."""
        self.decoded = 0
        """How many bytes of them are events already."""
        self.events: Sequence[Event] = ()
        self.clocks: Sequence[int] = ()
        """Theirs, looked up once."""
        self.last = 0
        """The last of them."""
        self.at = 0
        self.count = 0
        """How many events were read."""
        self.place = ""
        self.unread: list[str] = []
        """The marks of segments that could not be read."""

    def give_up(self, fault: LogDamaged, oid: str) -> None:
        """A segment cannot be read: go on with its lines as they are found elsewhere."""
        mark, segment = next(pair for pair in self.segments if pair[1].oid == oid)
        self.segments.remove((mark, segment))
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
            first: LogSource = min(waiting, key=_last)
            bound = first.last
            ready: list[tuple[LogSource, int]] = [(first, len(first.events))]
            for source in waiting:
                if source is not first:
                    cut = bisect_right(source.clocks, bound, source.at)
                    if cut > source.at:
                        ready.append((source, cut))
            yield _merge(ready)
            for source, cut in ready:
                source.at = cut
            waiting = [source for source in waiting if source.at < len(source.events) or _advance(talk, source, held)]


Read = Iterable[tuple[int, Event, str]]
"""Events, each with its clock before it and the mark of its segment after it, which is empty for those of commits."""


def _merge(ready: Sequence[tuple[LogSource, int]]) -> Read:
    parts: list[Read] = []
    for source, cut in ready:
        some = slice(source.at, cut)
        parts.append(zip(source.clocks[some], source.events[some], repeat(source.place)))
    return parts[0] if len(parts) == 1 else sorted(chain.from_iterable(parts), key=_first)


def _advance(talk: _SegmentReader, source: LogSource, held: Callable[[str, bytes], object]) -> bool:
    """Let the next events of a log wait for their turn. Returns whether there were any left."""
    source.events, source.at = (), 0
    while not source.events and (source.decoded < len(source.sealed) or talk.next(source)):
        cut = source.sealed.find(b"\n", source.decoded + _AT_ONCE) + 1 or len(source.sealed)
        source.events = decode_lines(source.sealed[source.decoded : cut])
        source.decoded = cut
    while not source.events and source.lines:
        source.events, source.place = _decode_some(source.lines, held), ""
    source.count += len(source.events)
    source.clocks = list(map(_clock, source.events))
    source.last = source.clocks[-1] if source.clocks else 0
    return bool(source.events)


def _decode_some(lines: deque[bytes], held: Callable[[str, bytes], object]) -> list[Event]:
    """Returns the next events of lines that no segment has; the lines are held, and gone from these."""
    found: list[Event] = []
    size = 0
    while lines and size < _AT_ONCE:
        line = lines.popleft()
        size += len(line)
        if (event := decode(line)) is not None:
            held(event.ent, line)
            found.append(event)
    return found


_AT_ONCE = 16 << 10
"""Bytes of a log that are decoded at a time: as events they fit into the cache of a processor, with those of others."""
_AHEAD = 128
"""Segments asked for ahead, of all logs together; of one log at most the next."""
_IN_ONE = 16
_MOST_HELD = 32 << 20
"""Bytes held of segments whose turn has not come; beyond that each log has its next one only."""
_UNANSWERED = 1000
"""Git may have so many names to answer: more would fill the pipe, and then each would wait for the other."""


class _SegmentReader:
    """One git that is asked for the next segments of every log, so that it reads while we work.

    Some at a time, and the last of them first. Git mostly stores a segment as its difference from the one before, and
    has that one at hand once it has read this one: in the order of the log it would make each segment twice.
    """

    def __init__(self, root: str, sources: Sequence[LogSource]) -> None:
        self._root = root
        self._open = ExitStack()
        self._sources = sources
        self._ahead = max(1, min(_IN_ONE, _AHEAD // max(1, len(sources))))
        self._asked: deque[tuple[LogSource, str]] = deque()
        self._held = 0
        self._git: Objects | None = None

    def __enter__(self) -> Self:
        for source in self._sources:
            self._ask(source, self._ahead)
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def next(self, source: LogSource) -> bool:
        """Let a log have the mark and lines of its next segment. Returns whether one was left that can be read."""
        while source.segments:
            mark, segment = source.segments[0]
            lines = source.arrived.pop(segment.oid, None)
            if lines is not None:
                source.segments.popleft()
                self._held -= len(lines)
                if not source.arrived and not source.asked:
                    self._ask(source, self._ahead)
                source.place, source.sealed, source.decoded = mark, lines, 0
                return True
            if not source.asked:
                self._ask(source, 1)
            self._receive()
        return False

    def _receive(self) -> None:
        """Take the next answer of git."""
        source, oid = self._asked.popleft()
        source.asked -= 1
        try:
            lines = self._talk().segment(oid)
        except LogDamaged as fault:
            if fault.ended:
                self._again()
            source.give_up(fault, oid)
            return
        if self._held + len(lines) > _MOST_HELD and source.segments[0][1].oid != oid:
            self._ahead = 1  # this one is asked for again when its turn comes
            return
        source.arrived[oid] = lines
        self._held += len(lines)

    def _talk(self) -> Objects:
        if self._git is None:
            self._git = self._open.enter_context(open_objects(self._root))
        return self._git

    def _ask(self, source: LogSource, count: int) -> None:
        """Ask for the next segments of a log, without waiting for them."""
        oids = [segment.oid for _, segment in islice(source.segments, count)][::-1]
        if oids and len(self._asked) + len(oids) <= _UNANSWERED:
            self._asked += [(source, oid) for oid in oids]
            source.asked += len(oids)
            with suppress(LogDamaged):  # git ended over another log's object; when that is noticed, all is asked again
                self._talk().ask(*oids)

    def _again(self) -> None:
        """Begin a new conversation: git may have ended over an object that it could not read."""
        self._open.close()
        self._git = None
        if self._asked:
            self._talk().ask(*(oid for _, oid in self._asked))
