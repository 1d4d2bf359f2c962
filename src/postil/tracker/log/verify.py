"""Looking for damage in the logs."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterable, Iterator, Sequence
from heapq import nlargest
from itertools import islice
from operator import attrgetter

import msgspec

from postil.core.answer import Answer
from postil.tracker.events import AHEAD, VERSION, Event, decode, is_entity_id
from postil.tracker.index.index import Index
from postil.tracker.index.tables import COLUMNS, make_row
from postil.tracker.log.format import LogCommit, LogDamaged, LogTooNew, Objects, open_objects
from postil.tracker.log.heal import heal
from postil.tracker.log.refs import KEPT, Tip, find_stale_locks, list_logs
from postil.tracker.state.fold import fold_lines
from postil.tracker.store import Store
from postil.tracker.text import flatten, format_count

_NAMED = 10
"""So many events of a log with clocks that are not believed are named."""


class Verified(Answer, frozen=True, kw_only=True):
    """What `verify_logs` saw."""

    logs: int
    commits: int
    events: int
    entities: int
    state: str
    """A hash of the whole state: equal on every machine that has the same logs."""
    problems: list[str]
    repaired: list[str] = msgspec.field(default_factory=list[str])
    warnings: list[str] = msgspec.field(default_factory=list[str])
    """What somebody wrote that is not believed; nothing is lost or undone by it."""

    @property
    def exit_status(self) -> int:
        """7 when something is damaged."""
        return 7 if self.problems else 0

    def for_model(self) -> str:
        """Counts, then what is wrong."""
        counts = {"log": self.logs, "commit": self.commits, "event": self.events, "entity": self.entities}
        lines = [", ".join(format_count(count, thing) for thing, count in counts.items()), f"state {self.state}"]
        lines += [f"repaired: {line}" for line in self.repaired]
        lines += [f"warning: {line}" for line in self.warnings]
        lines += [f"problem: {line}" for line in self.problems] or ["no problem found"]
        return "\n".join(lines)


class _Checked:
    """What reading every log whole brought to light."""

    def __init__(self, root: str) -> None:
        self.found = list_logs(root)
        self.problems: list[str] = []
        self.damaged: list[Tip] = []
        self._sizes: dict[str, tuple[int, int, int]] = {}
        """Events, commits and events of a later version, of the longest that is here of each writer's log."""
        self.latest: dict[str, tuple[Event, str]] = {}
        left = iter(self.found)
        while self._check_some(root, left):
            pass
        self.logs = len({tip.replica for tip in self.found})
        self.events, self.commits, self.later = (sum(size[i] for size in self._sizes.values()) for i in range(3))

    def _check_some(self, root: str, left: Iterator[Tip]) -> bool:
        """Check logs until one is damaged, which may end the conversation. Returns whether there may be more."""
        with open_objects(root) as git:
            for tip in left:
                try:
                    self._add(tip, _check_log(git, tip))
                except LogTooNew as fault:
                    self.problems.append(f"{tip.ref}: {fault.message}")
                    return True
                except LogDamaged as fault:
                    self.problems.append(f"{tip.ref}: {fault.message}")
                    self.damaged.append(tip)
                    return True
        return False

    def warnings(self) -> list[str]:
        """Returns what somebody wrote that is not believed."""
        told = [
            f"{ref}: the event {event.id} by {flatten(event.a)} has the clock {event.l}, which {self.events} events do"
            " not explain; it decides nothing but ties"
            for event, ref in self.latest.values()
            if event.l > self.events + AHEAD
        ]
        if self.later:
            told.append(f"{format_count(self.later, 'event')} of a newer version: kept, and without effect here")
        return told

    def _add(self, tip: Tip, log: _CheckedLog) -> None:
        size = (log.events, log.commits, log.later)
        self._sizes[tip.replica] = max(size, self._sizes.get(tip.replica, size))
        self.latest.update((event.id, (event, tip.ref)) for event in log.highest)
        self.problems += [f"{tip.ref}: {fault}" for fault in log.faults]


def verify_logs(store: Store, fix: bool) -> Verified:
    """Read every log whole, compare segments with commits, the cache with a fresh one, and look for stale locks."""
    root = store.repository.root
    repaired: list[str] = []
    store.refresh()
    checked = _Checked(root)
    if fix and (checked.damaged or any(tip.ref.startswith(KEPT) for tip in checked.found)):
        repaired += heal(store, checked.damaged)
        checked = _Checked(root)
    problems = checked.problems
    for lock in find_stale_locks(store.repository.common_dir):
        if fix:
            os.unlink(lock)
            repaired.append(f"removed the stale lock {os.path.basename(lock)}")
        else:
            problems.append(f"a killed git left the lock {os.path.basename(lock)}; --fix removes it")
    fresh = Index(store.repository, None)
    fresh.build_in_memory()
    state, rows = fold_all(fresh)
    fresh.close()
    if fix and not checked.damaged:
        store.index.forget()  # the logs hold all; what was noted of damage is noted again if it is still there
    store.refresh()
    problems += [line for line in store.index.damage() if line not in problems]
    cached = store.index.query(f"SELECT {COLUMNS} FROM ent")
    if {row[1]: hash(row[1:]) for row in cached} != rows:
        problems.append("the cache differs from the logs; --fix builds it anew")
    return Verified(
        logs=checked.logs,
        commits=checked.commits,
        events=checked.events,
        entities=len(rows),
        state=state,
        problems=problems,
        repaired=repaired,
        warnings=checked.warnings(),
    )


def fold_all(index: Index) -> tuple[str, dict[str, int]]:
    """Returns the state hash and, to compare with a cache, a hash of each row of what is not deleted."""
    import hashlib  # only `verify_logs` pays for it

    digest = hashlib.sha256()
    rows: dict[str, int] = {}
    for id_, lines in index.read_all_histories():
        entity = fold_lines(lines)
        if entity is not None:
            digest.update(msgspec.json.encode(entity, enc_hook=list) + b"\n")
            if not entity.deleted:
                rows[id_] = hash(make_row(0, entity)[1:])
    return digest.hexdigest()[:32], rows


class _CheckedLog(msgspec.Struct, frozen=True):
    """One log, read commit by commit from its end."""

    commits: int
    events: int
    faults: list[str]
    highest: list[Event]
    """The events with the highest clocks."""
    later: int
    """How many events are of a later version."""


def _check_log(git: Objects, tip: Tip) -> _CheckedLog:
    found = _Lines()
    chain = [_pack(git.commit(tip.oid))]
    faults: list[str] = []
    while (parent := chain[-1].parent) is not None:
        at, before = chain[-1], git.commit(parent)
        if before.end != at.position:
            faults.append(f"{at.oid[:12]} begins at event {at.position}, the one before it ends at {before.end}")
        if before.clock > at.clock:
            faults.append(f"{at.oid[:12]} has an earlier clock than the commit before it")
        chain.append(_pack(before))
    if chain[-1].position != 0:
        faults.append(f"the log begins at event {chain[-1].position}, not at its first")
    bulk = any(commit.count and not commit.lines for commit in chain)
    segments = git.segments(chain[0].tree)
    written = _read_packed(chain, segments[-1].end if segments and bulk else 0, faults)
    end = 0
    differs = False
    for segment, blob in zip(segments, git.blobs([segment.oid for segment in segments]), strict=True):
        lines = [line for line in blob.split(b"\n") if line]
        if segment.position != end or len(lines) != segment.count:
            faults.append(f"the segment at {segment.position} does not follow the one before it or is not whole")
        end = segment.end
        repeated = lines if bulk else list(islice(written, len(lines)))
        differs |= repeated != lines
        found.take(repeated)
    if differs:
        faults.append("a segment says something else than the commits it repeats")
    found.take(written)
    if any(commit.end > end and commit.count and not commit.lines for commit in chain):
        faults.append(f"events after {end} are in no commit and in no segment")
    tail = sum(commit.count for commit in chain if commit.position >= end)
    return _CheckedLog(len(chain), end + tail, _name_some(faults + found.faults), found.highest(), found.newer)


class _Lines:
    """What the lines of a log say, looked at one after the other."""

    def __init__(self) -> None:
        self.faults: list[str] = []
        self.newer = 0
        self._high: list[Event] = []

    def take(self, lines: Iterable[bytes]) -> None:
        for line in lines:
            event = decode(line)
            if event is None:
                self.faults.append(f"a line is no event: {line[:60].decode('utf-8', 'replace')}")
                continue
            if not is_entity_id(event.ent):
                self.faults.append(f"the event {flatten(event.id[:40])} is about something that is no id")
            self.newer += event.v > VERSION
            if event.l > AHEAD:
                self._high.append(event)
                if len(self._high) > 100 * _NAMED:
                    self._high = self.highest()

    def highest(self) -> list[Event]:
        return nlargest(_NAMED, self._high, key=attrgetter("l"))


def _pack(commit: LogCommit) -> LogCommit:
    """Returns a commit as it is held until the first is reached: what takes little room in git takes little here."""
    return msgspec.structs.replace(commit, lines=zlib.compress(commit.lines, 1) if commit.lines else b"")


def _read_packed(chain: Sequence[LogCommit], after: int, faults: list[str]) -> Iterator[bytes]:
    """Yields the lines of the commits that end after a position, the oldest first."""
    for commit in reversed(chain):
        if commit.end > after and commit.lines:
            lines = [line for line in zlib.decompress(commit.lines).split(b"\n") if line]
            if len(lines) != commit.count:
                faults.append(f"{commit.oid[:12]} holds {format_count(len(lines), 'event')}, and says {commit.count}")
            yield from lines


def _name_some(faults: list[str]) -> list[str]:
    left = len(faults) - 2 * _NAMED
    return [*faults[: 2 * _NAMED], f"and {left} more of this kind"] if left > 0 else faults
