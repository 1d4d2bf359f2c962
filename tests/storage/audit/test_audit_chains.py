"""A record that was changed, a record or a chain that is gone, a write without an end: all are found."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from postil.core.call import Caller
from postil.core.effects.witness import Report, Unended
from postil.core.ports import State
from postil.storage.audit.audit_chains import verify
from postil.storage.audit.audit_log import AuditLog
from postil.storage.audit.audit_records import HEADS, SPACE, Head, Record, digest
from postil.storage.later import LATER
from postil.storage.memory import MemoryState
from postil.storage.sqlite import SqliteState
from tests.storage.states import postgres, redis, state

__all__ = ["postgres", "redis", "state"]  # fixtures


def write(state: State, *names: str) -> AuditLog:
    log = AuditLog(lambda: state)
    for name in names:
        log.open(Caller(name), "op", {"id": 1}).close("ok")
        assert LATER.wait_empty(30)  # ends are written in the background
    return log


def records(state: State) -> list[tuple[str, Record]]:
    with state.reading() as found:
        return [(key, msgspec.json.decode(value, type=Record)) for key, value in found.range(SPACE)]


def test_chains_of_many_writers_are_whole(state: State) -> None:
    write(state, "a", "b")
    report = write(state, "c").verify()
    assert (report.chains, report.records, report.broken, report.unended) == (2, 8, [], [])


@pytest.mark.parametrize("place", range(5))
def test_a_changed_record_is_found(place: int) -> None:
    state = MemoryState()
    log = write(state, "a", "b")
    key, record = records(state)[place]
    with state.writing() as changes:
        changes.put(SPACE, key, msgspec.json.encode(msgspec.structs.replace(record, principal="mallory")))
    assert log.verify().broken


@pytest.mark.parametrize("place", range(5))
def test_a_missing_record_is_found(place: int) -> None:
    state = MemoryState()
    log = write(state, "a", "b")
    key = records(state)[place][0]
    with state.writing() as changes:
        changes.delete(SPACE, key)
    assert log.verify().broken


def test_an_unreadable_record_is_found_and_the_rest_is_checked() -> None:
    state = MemoryState()
    log = write(state, "a")
    with state.writing() as changes:
        changes.put(SPACE, f"{changes.next('audit'):016d}", b"{")
    assert [*log.verify().broken] == [f"record {records_key(state)} cannot be read"]


def records_key(state: State) -> str:
    with state.reading() as found:
        return found.range(SPACE)[-1][0]


def test_a_chain_that_is_gone_as_a_whole_is_missed_by_the_next() -> None:
    state = MemoryState()
    write(state, "a")
    writer = records(state)[0][1].writer
    log = write(state, "b")
    with state.writing() as changes:
        changes.delete(HEADS, writer)
    for key, record in records(state):
        if record.writer == writer:
            with state.writing() as changes:
                changes.delete(SPACE, key)
    assert "is gone or changed" in log.verify().broken[0]


KILLED = """
import os, sys
from postil.core.call import Caller
from postil.core.effects.joining import joining
from postil.storage.audit.audit_log import AuditLog
from postil.storage.sqlite import SqliteState
state = SqliteState(sys.argv[1])
log = AuditLog(lambda: state)
opened = log.open(Caller("ada"), "send", {"id": 5})
if sys.argv[2] == "stored":
    with joining(opened.join), state.writing() as changes:
        changes.put("s", "k", b"")
os.kill(os.getpid(), 9)
"""


@pytest.mark.parametrize("when", ["before", "stored"])
def test_a_write_whose_process_died_is_an_opening_without_an_end(when: str, tmp_path: Path) -> None:
    path = str(tmp_path / "state.db")
    subprocess.run([sys.executable, "-c", KILLED, path, when], timeout=60)
    state = SqliteState(path)
    report = AuditLog(lambda: state).verify()
    assert report.broken == []
    assert [(one.operation, one.stored, one.running) for one in report.unended] == [("send", when == "stored", False)]
    told = "its effect was stored" if when == "stored" else "whether it took effect is not known"
    assert f"no end: {told}: send by ada id=5" in report.text()
    state.close()


def test_a_write_in_progress_is_told_from_one_that_died() -> None:
    state = MemoryState()
    log = AuditLog(lambda: state)
    log.open(Caller("ada"), "send", {})
    assert [one.running for one in log.verify().unended] == [True]


@pytest.mark.parametrize("value", [b"\xff", b"{}", b'{"at":1.0,"principal":"\xff"}', b"[" * 100_000])
@pytest.mark.parametrize("space", [SPACE, HEADS])
def test_a_record_or_a_head_that_cannot_be_read_is_found(space: str, value: bytes) -> None:
    state = MemoryState()
    log = write(state, "a", "b")
    with state.writing() as changes:
        changes.put(space, changes.range(space)[0][0], value)
    assert any("cannot be read" in sentence for sentence in log.verify().broken)
    assert len(log.read(10)) == 2


def test_a_chain_that_nobody_follows_is_missed_all_the_same() -> None:
    state = MemoryState()
    first = write(state, "a")
    write(state, "x")
    between = records(state)[-1][1].writer
    first.open(Caller("a"), "op", {}).close("ok")
    assert LATER.wait_empty(30)
    last = write(state, "z")  # begins behind a record of the first chain
    gone = [key for key, record in records(state) if record.writer == between]
    with state.writing() as changes:
        changes.delete(HEADS, between)
        for key in gone:
            changes.delete(SPACE, key)
    assert last.verify().broken == ["records behind 0000000000000004 and before 0000000000000009 are gone"]


def test_numbers_that_a_failed_write_took_are_not_missed(state: State) -> None:
    log = write(state, "a")

    def fail() -> None:
        with state.writing() as changes:
            log.append(changes, Record(1.0, "open"))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    write(state, "b")
    assert log.verify().broken == []


# ----- one fault at a time -------------------------------------------------------------------------------------------


def stored(*made: Record) -> list[tuple[str, bytes]]:
    """Returns records as they are stored: the first took two numbers, and each names the one before it in its chain."""
    rows: list[tuple[str, bytes]] = []
    before: dict[str, str] = {}
    for number, record in enumerate(made, 2):
        value = msgspec.json.encode(msgspec.structs.replace(record, before=before.get(record.writer, "")))
        before[record.writer] = digest(value)
        rows.append((f"{number:016d}", value))
    return rows


BEGIN, OPEN, END = Record(1.0, "begin", "w"), Record(2.0, "open", "w", n=1), Record(3.0, "end", "w", n=2, of=1)


def head_of(rows: list[tuple[str, bytes]], n: int) -> dict[str, Head | None]:
    return {"w": Head(n, digest(rows[-1][1]))}


def test_a_whole_chain_has_no_fault() -> None:
    rows = stored(BEGIN, OPEN, END)
    assert verify(rows, head_of(rows, 2)) == Report(3, 1, 0, [], [], 1)


def test_a_head_of_a_moment_before_is_no_fault_and_a_later_one_is() -> None:
    rows = stored(BEGIN, OPEN, END)
    assert verify(rows, {"w": Head(1, digest(rows[1][1]))}).broken == []
    assert verify(rows, head_of(rows, 3)).broken == ["the chain w ends at number 2, not at 3 as its head says"]
    assert verify(rows, {"w": Head(2, "0" * 64)}).broken == ["the chain w ends at number 2, not at 2 as its head says"]


def test_a_chain_without_a_head_and_a_head_without_a_chain_are_faults() -> None:
    rows = stored(BEGIN, OPEN, END)
    assert verify(rows, {}).broken == ["the chain w has no head"]
    assert verify(rows, {"w": None}).broken == ["the head of the chain w cannot be read"]
    assert verify([], {"w": Head(2, "")}).broken == ["the chain w is gone: it had 3 records"]


def test_a_chain_begins_once_and_with_its_first_number() -> None:
    twice = stored(BEGIN, BEGIN)
    assert "record 0000000000000003 begins a chain that has begun before" in verify(twice, head_of(twice, 0)).broken
    late = stored(msgspec.structs.replace(BEGIN, n=1))
    assert verify(late, head_of(late, 1)).broken == ["record 0000000000000002 begins a chain that has begun before"]


def test_a_number_that_is_missing_or_given_twice_in_a_chain_is_a_fault() -> None:
    for n in (0, 1, 3):
        rows = stored(BEGIN, OPEN, msgspec.structs.replace(END, n=n))
        assert verify(rows, head_of(rows, n)).broken == [
            f"the chain w has number {n} behind 1 (record 0000000000000004)"
        ]
    lost = stored(OPEN, END)
    assert verify(lost, head_of(lost, 2)).broken == [
        "the chain w has lost its beginning: record 0000000000000002 has number 1",
        "records behind 0000000000000000 and before 0000000000000002 are gone",
    ]


def test_only_a_beginning_may_take_two_numbers_of_the_log() -> None:
    rows = stored(BEGIN, OPEN, END)
    key, value = rows[2]
    assert verify([*rows[:2], (f"{int(key) + 1:016d}", value)], head_of(rows, 2)).broken == [
        "records behind 0000000000000003 and before 0000000000000005 are gone"
    ]
    first = [(f"{int(key) + 1:016d}", value) for key, value in rows]
    assert verify(first, head_of(rows, 2)).broken == [
        "records behind 0000000000000000 and before 0000000000000003 are gone"
    ]
    odd = [*rows[:1], ("0000000000000002b", rows[1][1]), (rows[1][0], rows[2][1])]  # a key that nobody of us gives
    assert verify(odd, head_of(rows, 2)).broken == []


def test_an_opening_is_stored_and_ended_by_its_own_number_alone() -> None:
    again = Record(4.0, "open", "w", n=3, principal="ada", operation="send", object="id=1")
    rows = stored(BEGIN, OPEN, END, again, Record(5.0, "stored", "w", n=4, of=3))
    report = verify(rows, head_of(rows, 4))
    assert report.broken == []
    assert report.unended == [Unended(4.0, "ada", "send", "id=1", stored=True, running=False)]


def test_what_the_first_release_wrote_is_counted_and_in_no_chain() -> None:
    old = msgspec.json.encode(Record(1.0, principal="old"))
    report = verify([(f"{number:016d}", old) for number in (1, 2)], {})
    assert (report.records, report.chains, report.unchained, report.broken) == (2, 0, 2, [])


def test_of_many_faults_and_openings_a_hundred_are_listed() -> None:
    rows = stored(BEGIN, *(Record(2.0, "open", "w", n=n, principal=str(n)) for n in range(1, 103)))
    assert [one.principal for one in verify(rows, head_of(rows, 102)).unended] == [str(n) for n in range(3, 103)]
    assert len(verify([(f"{n:016d}", b"{") for n in range(1, 103)], {}).broken) == 100
