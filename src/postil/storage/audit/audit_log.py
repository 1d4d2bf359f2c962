"""Who changed what, when: a record before the effect and one after it. Only ever added to.

A write that cannot be opened in the audit is not begun. Its end is written soon after it, together with others; when
the process dies before, the opening without an end says that the outcome is not known.

Openings that wait for each other are written together, with the ends that wait: a sync of the disk for all of them, and
nobody waits for more than the write that is being made and the next one, however many calls another caller makes.
"""

from __future__ import annotations

import os
import time
from _thread import allocate_lock
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence

import msgspec

from postil.core.call import Caller
from postil.core.effects.joining import alone
from postil.core.effects.witness import Entry, Outcome, Report
from postil.core.failure import StorageFailed
from postil.core.ports import Changes, State
from postil.storage.audit import audit_records as audit
from postil.storage.audit.audit_records import COUNTER, HEADS, SPACE, Head, Record
from postil.storage.holder import this_process
from postil.storage.later import LATER

PAGE = 1000
MOST_TOGETHER = 200


class _Waiting:
    """What a thread waits for: an opening, or None for the ends alone."""

    def __init__(self, record: Record | None) -> None:
        self.record = record
        self.number = 0
        """Its place in the chain, once it is written."""
        self.fault: BaseException | None = None
        self.done = False
        self.gate = allocate_lock()
        """Opened when it is done, or has to be written by its own thread."""
        self.gate.acquire()


class AuditLog:
    """The log in the state database, and the chain of this process in it."""

    def __init__(self, state: Callable[[], State]) -> None:
        self._state = state
        self._writer = os.urandom(8).hex()
        self._waiting: list[_Waiting] = []
        self._ends: list[Record] = []
        self._is_writing = False
        self._lock = allocate_lock()
        """Of the three above, for a moment."""

    @property
    def waiting(self) -> int:
        """How many threads wait for what is not being written yet."""
        return len(self._waiting)

    def open(self, caller: Caller, operation: str, arguments: object) -> Opened:
        """Write down, durably, what is about to be changed. Raises a Failure: then it must not be begun."""
        record = Record(
            time.time(),
            "open",
            principal=caller.principal,
            operation=operation,
            arguments=audit.digest_arguments(arguments),
            object=audit.name_object(arguments),
            name=caller.name,
        )
        return Opened(self, self._write(_Waiting(record)))

    def _write(self, mine: _Waiting) -> int:
        """Write it, or wait until another thread has done so. Returns its number; raises what befell the writing."""
        with self._lock:
            self._waiting.append(mine)
            waits, self._is_writing = self._is_writing, True
        if waits:
            mine.gate.acquire()
        if not mine.done:
            self._write_waiting()
        if mine.fault is not None:
            raise mine.fault
        return mine.number

    def _write_waiting(self) -> None:
        """Write what waits in one transaction, and let the first of those that came meanwhile write the next one."""
        with self._lock:
            batch, ends = self._waiting[:MOST_TOGETHER], self._ends[:MOST_TOGETHER]
            del self._waiting[: len(batch)]
        try:
            self._write_together(batch, ends)
        except BaseException as fault:  # noqa: BLE001 - handed to everyone who waits, each raises it
            for each in batch:
                each.fault = fault
        with self._lock:
            following = self._waiting[:1]
            self._is_writing = bool(following)
        for each in batch:
            each.done = True
        for each in (*following, *batch):
            each.gate.release()

    def _write_together(self, batch: Sequence[_Waiting], ends: Sequence[Record]) -> None:
        openings = [each for each in batch if each.record is not None]
        if not openings and not ends:
            return
        with alone(), self._state().writing() as changes:
            for record in ends:
                self.append(changes, record)
            for each in openings:
                assert each.record is not None
                each.number = self.append(changes, each.record)
        with self._lock:
            del self._ends[: len(ends)]

    def end(self, record: Record) -> None:
        """Add a closing record in the background, together with others that came meanwhile."""
        with self._lock:
            self._ends.append(record)
            if len(self._ends) % 100 == 1:  # the queue may have given the first one up
                LATER.add(self._write_ends)

    def _write_ends(self) -> None:
        while self._ends:
            self._write(_Waiting(None))

    def append(self, changes: Changes, record: Record) -> int:
        """Add a record to this process's chain. Returns its number there."""
        stored = changes.get(HEADS, self._writer)
        if stored is None:
            after = _find_last(changes)
            begin = Record(time.time(), "begin", self._writer, process=this_process(), after=after)
            stored = self._put(changes, begin)
        head = audit.decode_head(stored)
        if head is None:
            raise StorageFailed(
                "The audit's chain of this process cannot be read: nothing is written that it could not record",
                advice="Start this server again: it begins a new chain. `postil audit verify` says what is broken",
            )
        chained = msgspec.structs.replace(record, writer=self._writer, n=head.n + 1, before=head.digest)
        self._put(changes, chained)
        return chained.n

    def _put(self, changes: Changes, record: Record) -> bytes:
        value = msgspec.json.encode(record)
        changes.put(SPACE, f"{changes.next(COUNTER):016d}", value)
        head = msgspec.json.encode(Head(record.n, audit.digest(value)))
        changes.put(HEADS, self._writer, head)
        return head

    def read(self, limit: int) -> list[Entry]:
        """Returns the last writes, the oldest first, each put together from its records."""
        opened: OrderedDict[tuple[str, int], Entry] = OrderedDict()
        for place, (_, value) in enumerate(self.values()):
            record = audit.decode(value)
            if record is None or record.kind == "begin":
                continue
            if record.kind in ("", "open"):
                of = (record.writer, record.n) if record.kind else ("", place)
                outcome = "" if record.kind else "ok"  # the first release wrote down only what succeeded
                opened[of] = Entry(
                    record.at,
                    record.principal,
                    record.operation,
                    record.arguments,
                    record.object,
                    outcome,
                    record.result,
                    name=record.name,
                )
                if len(opened) > limit:
                    opened.popitem(last=False)
            elif (entry := opened.get((record.writer, record.of))) is not None:
                opened[record.writer, record.of] = msgspec.structs.replace(
                    entry,
                    outcome=record.outcome or entry.outcome,
                    result=record.result or entry.result,
                    stored=entry.stored or record.kind == "stored",
                )
        return [*opened.values()]

    def values(self) -> Iterator[tuple[str, bytes]]:
        """Yields the keys and the stored bytes of all records, in their order."""
        after = ""
        while True:
            with self._state().reading() as records:
                page = records.range(SPACE, after, PAGE)
            yield from page
            if len(page) < PAGE:
                return
            after = page[-1][0]

    def verify(self) -> Report:
        """Read all of it, and check that nothing was changed or taken away."""
        from postil.storage.audit.audit_chains import verify  # only those who ask for it

        heads = self.heads()  # first: what is added meanwhile makes chains longer, never shorter
        return verify(self.values(), heads)

    def heads(self) -> dict[str, Head | None]:
        """Returns the heads of all chains; None for one that cannot be read."""
        with self._state().reading() as records:
            return {writer: audit.decode_head(value) for writer, value in records.range(HEADS)}


class Opened:
    """A write that was opened in the audit, until it ends."""

    def __init__(self, log: AuditLog, number: int) -> None:
        self._log, self._number = log, number

    def join(self, changes: Changes) -> None:
        """Write down, in the effect's own transaction, that it was made. For `joining`."""
        self._log.append(changes, Record(time.time(), "stored", of=self._number))

    def close(self, outcome: Outcome, result: object = None) -> None:
        """Write down how it ended, soon. Nobody waits for it: the opening is safe, and the effect is made."""
        named = type(result).__name__ if isinstance(result, BaseException) else audit.name_result(result)
        record = Record(time.time(), "end", of=self._number, outcome=outcome, result=named)

        self._log.end(record)


def _find_last(changes: Changes) -> tuple[str, str] | None:
    """Returns the last record of the whole log and its hash: a chain that vanishes as a whole is missed by the next."""
    number = changes.next(COUNTER)  # one more than the last; unused, which is no fault
    key = f"{number - 1:016d}"
    value = changes.get(SPACE, key)
    return None if value is None else (key, audit.digest(value))
