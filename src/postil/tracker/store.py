"""The tracker's data of one repository: read through the index, written to this clone's own log and nowhere else."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

import msgspec

from postil.core import limits
from postil.tracker.events import (
    LARGE,
    Envelope,
    Event,
    Known,
    decode_lines,
    decode_parts,
    encode,
    names_too_much,
    new_event_id,
)
from postil.tracker.failures import InvalidParams
from postil.tracker.index.entity_lines import read_some_histories
from postil.tracker.index.index import Index, open_lines
from postil.tracker.log.append import Tail, append, append_bulk, find_author
from postil.tracker.log.format import (
    LogDamaged,
    find_merge_base,
    find_unread,
    is_ancestor,
    open_objects,
    read_runs,
)
from postil.tracker.log.new_objects import Author
from postil.tracker.log.refs import Tip, is_own, list_logs, name_own_ref
from postil.tracker.log.replica import Replica, ensure_replica, lock_writes, make_replica
from postil.tracker.model import Entity
from postil.tracker.state.causality import Causality, prove
from postil.tracker.state.fold import fold, fold_lines
from postil.tracker.text import format_moment
from postil.workspace.git import DURABLE, run_git
from postil.workspace.repository import Repository

E = TypeVar("E", bound=Envelope)
_BULK = 512


class Store:
    """Issues and milestones of one repository."""

    def __init__(
        self,
        repository: Repository,
        cache_home: str | None = None,
        now: Callable[[], datetime.datetime] | None = None,
    ) -> None:
        self.repository = repository
        self.index = Index(repository, cache_home)
        self._now = now or (lambda: datetime.datetime.now(datetime.UTC))
        self._tail: Tail | None = None
        """What is known of the end of our own log."""
        self.seen = _Seen()

    def now(self) -> datetime.datetime:
        """Returns the time, for people; never for order."""
        return self._now()

    def refresh(self) -> bool:
        """Take in what the refs hold. Returns whether anything was new."""
        return self.index.refresh()

    def lines(self, id_: str) -> bytes:
        """Returns the events of an entity as they are stored; empty when it is not known."""
        return self.index.lines(id_)

    def events(self, id_: str) -> list[Event]:
        """Returns the events of an entity, in their order."""
        return Causality(decode_lines(self.lines(id_))).order

    def entity(self, id_: str) -> Entity | None:
        """Returns the state of an entity, deleted ones included."""
        return fold_lines(open_lines(self.index, id_))

    def entities(self, ids: Sequence[str]) -> Iterator[Entity]:
        """Yields the states of many entities, one after the other; unknown ones are left out."""
        for _, lines in self.index.read_histories(ids):
            entity = fold_lines(lines)
            if entity is not None:
                yield entity

    def known_lines(self, ids: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """Yields the stored events of those of many entities that are known, in any order and by one git at most."""
        with self.index.lock:
            yield from read_some_histories(self.index.db, self.repository.root, None, list(dict.fromkeys(ids)))

    @contextmanager
    def transaction(
        self, name: str | None = None, mail: str | None = None, message: str = "", dry_run: bool = False
    ) -> Generator[Transaction]:
        """Hold the write lock with the index up to date. What is written becomes one commit if the block ends well."""
        author = find_author(self.repository.root, name, mail)
        with lock_writes(self.repository):
            found = list_logs(self.repository.root)
            self.index.refresh(found)
            replica, ref, tip = self.find_own_log(found)
            if self._is_forged(replica, ref):
                found = list_logs(self.repository.root)
                replica, ref, tip = self._take_new_identity(
                    replica, [tip for tip in found if is_own(tip, replica.id)], []
                )
            tx = Transaction(self, replica.id, author, message)
            yield tx
            if tx.lines and not dry_run:
                self._commit(tx, ref, tip)

    def _commit(self, tx: Transaction, ref: str, tip: str | None) -> None:
        lines, clock = tx.lines, tx.clock
        if len(lines) > _BULK or sum(map(len, lines)) > limits.LOG_SEGMENT // 2:
            append_bulk(self.repository, ref, tip, lines, clock, tx.author)
            self.refresh()
            return
        joined = b"".join(line + b"\n" for line in lines)
        try:
            tail = append(self.repository, ref, tip, joined, len(lines), clock, tx.author, self._tail)
        except LogDamaged:
            # The end of our own log is lost. The write is not: a new log begins, and reading tells of the old one.
            replica = make_replica(self.repository)
            ref = name_own_ref(replica.id, replica.branches)
            tail = append(self.repository, ref, None, joined, len(lines), clock, tx.author)
        self._tail, commit = tail, tail.commit
        self.index.apply(Tip(ref, commit.oid, tx.replica), commit)

    def find_own_log(self, found: Sequence[Tip]) -> tuple[Replica, str, str | None]:
        """This clone's identity, its ref and the ref's commit; all new if another clone writes under the old ones.

        `found` is every log there is.
        """
        replica = ensure_replica(self.repository)
        own = [tip for tip in found if is_own(tip, replica.id)]
        ref = name_own_ref(replica.id, replica.branches)
        elsewhere = [tip for tip in found if tip.replica == replica.id and not is_own(tip, replica.id)]
        if elsewhere and self._is_shared(own, elsewhere):
            return self._take_new_identity(replica, own, elsewhere)
        at = {tip.ref: tip.oid for tip in own}
        return replica, ref, at.get(ref)

    def _take_new_identity(
        self, shared: Replica, own: list[Tip], elsewhere: list[Tip]
    ) -> tuple[Replica, str, str | None]:
        """Take a new identity, and what was written here under the shared one and reached no remote along to it."""
        root = self.repository.root
        replica = make_replica(self.repository, shared.branches)
        ref = name_own_ref(replica.id, replica.branches)
        end: str | None = None
        for tip in own:
            with open_objects(root) as git:
                commit = git.commit(tip.oid)
                base = find_merge_base(root, tip.oid, elsewhere[0].oid) if elsewhere else ""
                new = find_unread(root, git, commit, (base, git.commit(base).end) if base else None)
            carried = b"".join(read_runs(root, new)) if new else b""
            if carried:
                count, author = carried.count(b"\n"), find_author(root)
                end = append(self.repository, ref, end, carried, count, commit.clock, author).commit.oid
            run_git(root, "update-ref", "-d", "--end-of-options", tip.ref, tip.oid, mode=DURABLE)
        self.refresh()
        return replica, ref, end

    def _is_forged(self, replica: Replica, ref: str) -> bool:
        """Returns whether events under our name have numbers that our own log does not explain."""
        oid, end = next(iter(self.index.query("SELECT oid, pos FROM ref WHERE name = ?", (ref,))), ("none", 0))
        return bool(oid) and find_last_number(self.index, replica.id) > end  # a damaged log explains nothing

    def _is_shared(self, own: list[Tip], elsewhere: list[Tip]) -> bool:
        """Returns whether some remote holds events under our name that we did not write here."""
        mine = [tip.oid for tip in own]
        return any(
            tip.oid not in mine and not any(is_ancestor(self.repository.root, tip.oid, oid) for oid in mine)
            for tip in elsewhere
        )


def find_last_number(index: Index, replica: str) -> int:
    """Returns the highest number of all events under a writer's name."""
    return next((n for (n,) in index.query("SELECT n FROM writer WHERE replica = ?", (replica,))), 0)


class _Seen:
    """What was read last of one entity: of lines that were only added to it, these alone are read."""

    def __init__(self) -> None:
        self._of = ("", "")
        self._lines = b""
        self._last: dict[str, tuple[int, str]] = {}

    def read(self, ent: str, lines: bytes, replica: str) -> dict[str, tuple[int, str]]:
        """Returns the number and the id of the last event of each other writer of an entity."""
        known = self._lines if (ent, replica) == self._of else b""
        begun = known != b"" and lines.startswith(known) and lines[len(known) : len(known) + 1] in (b"", b"\n")
        last = dict(self._last) if begun else {}
        for events in decode_parts(lines[len(known) + 1 :] if begun else lines):
            for event in events:
                if event.r != replica and event.n > last.get(event.r, (0, ""))[0]:
                    last[event.r] = event.n, event.id
        self._of, self._lines, self._last = (ent, replica), lines if len(lines) < LARGE else b"", last
        return last


class Transaction:
    """Writes events of one command: stamps them with writer, number, clock, time and what they know."""

    def __init__(self, store: Store, replica: str, author: Author, message: str = "") -> None:
        self.store = store
        self.replica = replica
        self.author = author
        self.message = message
        self.events: list[Known] = []
        self.lines: list[bytes] = []
        self.clock = store.index.clock()
        self._number = find_last_number(store.index, replica)
        self._seen: dict[str, tuple[dict[str, int] | None, str]] = {}
        self.ts = format_moment(store.now())

    def write(self, kind: type[E], ent: str, /, **data: object) -> E:
        """Write one event about an entity."""
        dep, proof = self._seen.get(ent) or self.look_at(ent, self.store.lines(ent))
        self._number += 1
        self.clock += 1
        stamped: dict[str, object] = {
            "id": new_event_id(),
            "ts": self.ts,
            "a": str(self.author),
            "m": self.message,
            **data,
            "ent": ent,
            "r": self.replica,
            "n": self._number,
            "l": self.clock,
            "dep": dep,
            "proof": proof,
        }
        event = msgspec.convert(stamped, kind)
        line = encode(event)  # pyright: ignore[reportArgumentType]
        if len(line) > limits.LOG_EVENT:
            raise InvalidParams(
                f"One change has more than {limits.LOG_EVENT // limits.MIB} MB as it is stored",
                advice="Shorten its text",
            )
        if len(line) > limits.LOG_NAMES and names_too_much(line):
            raise InvalidParams(
                f"One change names more than {limits.LOG_NAMES // limits.KIB} kB of labels, people or links",
                advice="Give fewer of them at a time",
            )
        self.events.append(event)  # pyright: ignore[reportArgumentType]
        self.lines.append(line)
        return event

    def fold_created(self, id_: str) -> Entity:
        """Returns what the events written so far make of a new entity."""
        entity = fold([event for event in self.events if event.ent == id_])
        assert entity is not None
        return entity

    def copy(self, line: bytes) -> None:
        """Take over an event of another log as it is, also one of a kind that is not known here."""
        self.lines.append(line)

    def look_at(self, ent: str, lines: bytes) -> tuple[dict[str, int] | None, str]:
        """Returns the last number of each other writer of an entity, and the proof of having seen those events.

        Whoever writes to very many entities calls this before, with lines that were read together.
        """
        last = self.store.seen.read(ent, lines, self.replica)
        dep = {replica: number for replica, (number, _) in last.items()}
        proof = prove((replica, number, id_) for replica, (number, id_) in last.items()) if last else ""
        self._seen[ent] = dep or None, proof
        return self._seen[ent]
