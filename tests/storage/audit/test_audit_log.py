"""Every write is noted before and after: who, what, which object, how it ended; never its arguments."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager

import msgspec
import pytest

from postil.core.call import Caller
from postil.core.effects.joining import joining
from postil.core.failure import StorageFailed
from postil.core.ports import Changes, State
from postil.storage.audit import audit_log
from postil.storage.audit.audit_log import AuditLog
from postil.storage.audit.audit_records import HEADS, SPACE, Record
from postil.storage.failures import StateAway, StateFull
from postil.storage.idempotency import IdempotencyKeys
from postil.storage.later import LATER
from postil.storage.memory import MemoryState
from tests.storage.states import postgres, redis, state
from tests.storage.test_idempotency import Faulty
from tests.wire.http_client import request, running

__all__ = ["postgres", "redis", "state"]  # fixtures
ADA = Caller("ada")


def kinds(state: State) -> list[str]:
    with state.reading() as records:
        return [msgspec.json.decode(value, type=Record).kind for _, value in records.range(SPACE)]


def test_every_write_is_remembered_without_its_arguments() -> None:
    state = MemoryState()
    with running(witness=AuditLog(lambda: state)) as server:
        server.post(request("note", {"text": "a secret text"}))
        server.post(request("tools/call", {"name": "count"}))
        server.post(request("echo", {"text": "reading is no write"}))
        server.post(request("note", {"text": 5}))
    assert LATER.wait_empty(30)
    entries = AuditLog(lambda: state).read(10)
    assert [(entry.principal, entry.operation, entry.outcome) for entry in entries] == [
        ("local", "note", "ok"),
        ("local", "count", "ok"),
    ]
    assert all(len(entry.arguments) == 64 for entry in entries)
    with state.reading() as records:
        assert b"secret" not in b"".join(value for _, value in records.range("audit"))


def test_a_caller_keeps_the_name_that_it_had_then() -> None:
    state = MemoryState()
    log = AuditLog(lambda: state)
    log.open(Caller("key:9823c9ecaa2b3d12", name="bob"), "add_comment", {})
    log.open(ADA, "add_comment", {})
    assert [entry.line()[1] for entry in log.read(10)] == ["key:9823c9ecaa2b3d12 (bob)", "ada"]


def test_a_repeat_under_a_known_key_is_no_second_write() -> None:
    state, keys = MemoryState(), IdempotencyKeys(MemoryState())
    with running(witness=AuditLog(lambda: state), keys=lambda: keys) as server:
        answers = [server.post(request("note", {"text": "x"}), Idempotency_Key="k").json() for _ in range(3)]
    assert answers[0] == answers[1] == answers[2]
    assert len(AuditLog(lambda: state).read(10)) == 1


def test_an_effect_in_doubt_ends_as_unknown() -> None:
    state = MemoryState()
    with running(witness=AuditLog(lambda: state)) as server:
        server.post(request("gamble"))
    deadline = time.monotonic() + 30
    while not (entries := AuditLog(lambda: state).read(10))[0].outcome:  # its end is written in the background
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert [(entry.operation, entry.outcome, entry.result) for entry in entries] == [("gamble", "unknown", "Doubt")]


def test_a_write_that_cannot_be_opened_is_refused() -> None:
    class Full(MemoryState):
        def writing(self):
            raise StateFull("state.db")

    with pytest.raises(StateFull):
        AuditLog(Full).open(ADA, "count", {})


class Held(MemoryState):
    """A state whose first write is not done until somebody says so, and that counts its writes."""

    def __init__(self) -> None:
        super().__init__()
        self.begun, self.go = threading.Event(), threading.Event()
        self.writes = 0
        self.away: StateFull | None = None

    @contextmanager
    def writing(self) -> Generator[Changes]:
        self.writes += 1
        self.begun.set()
        assert self.go.wait(60)
        if self.away is not None:
            raise self.away
        with super().writing() as changes:
            yield changes


def open_beside_a_hostile_caller(state: Held, log: AuditLog) -> list[object]:
    """Let one call be written while 64 of one caller and then one of another wait. Returns how each of them ended."""
    ended: list[object] = []

    def open_as(principal: str) -> None:
        try:
            ended.append(log.open(Caller(principal), "op", {}))
        except StateFull as fault:
            ended.append(fault)

    threads = [threading.Thread(target=open_as, args=(name,)) for name in ["mallory"] * 65 + ["ada"]]
    threads[0].start()
    assert state.begun.wait(60)
    for number, thread in enumerate(threads[1:], 1):
        thread.start()
        while log.waiting < number:
            time.sleep(0.001)
    state.go.set()
    for thread in threads:
        thread.join()
    return ended


def test_openings_that_wait_are_written_together() -> None:
    """Each was a transaction of its own: who came last waited for the syncs of all before."""
    state = Held()
    log = AuditLog(lambda: state)
    opened = open_beside_a_hostile_caller(state, log)
    assert state.writes == 2
    entries = log.read(100)
    assert [entry.principal for entry in entries] == ["mallory"] * 65 + ["ada"]
    for each in opened:
        assert not isinstance(each, StateFull)
        each.close("ok")  # type: ignore[attr-defined]
    assert LATER.wait_empty(60)
    assert [entry.outcome for entry in log.read(100)] == ["ok"] * 66
    assert not log.verify().broken


def test_openings_that_could_not_be_written_together_are_all_refused() -> None:
    state = Held()
    log = AuditLog(lambda: state)
    state.away = StateFull("state.db")
    assert open_beside_a_hostile_caller(state, log) == [state.away] * 66
    state.away = None
    log.open(ADA, "op", {})
    assert [entry.principal for entry in log.read(100)] == ["ada"]


def test_an_end_that_waits_is_written_with_the_next_opening(monkeypatch: pytest.MonkeyPatch) -> None:
    state = MemoryState()
    log = AuditLog(lambda: state)
    monkeypatch.setattr(LATER, "add", id)
    log.open(ADA, "first", {}).close("ok")
    log.open(ADA, "second", {})
    assert kinds(state) == ["begin", "open", "end", "open"]


def test_who_was_written_with_others_writes_nothing_himself(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two at once would write the same end twice, and lose another one."""
    monkeypatch.setattr(LATER, "add", id)
    state = Held()
    log = AuditLog(lambda: state)
    first = AuditLog.append

    def append(self: AuditLog, changes: Changes, record: Record) -> int:
        if record.principal == "ada":  # the last of those that are written together
            log.end(Record(time.time(), "end", of=1))
        return first(self, changes, record)

    monkeypatch.setattr(AuditLog, "append", append)
    open_beside_a_hostile_caller(state, log)
    assert state.writes == 2
    assert "end" not in kinds(state), "it came too late for them, and waits for the next write"


def test_an_end_that_another_wrote_meanwhile_is_no_write(monkeypatch: pytest.MonkeyPatch) -> None:
    later: list[Callable[[], object]] = []
    monkeypatch.setattr(LATER, "add", later.append)
    state = Held()
    log = AuditLog(lambda: state)
    log.end(Record(time.time(), "end", of=1))
    opening = threading.Thread(target=lambda: log.open(ADA, "op", {}))
    opening.start()  # it writes the end, too
    assert state.begun.wait(60)
    ending = threading.Thread(target=later[0])
    ending.start()
    while not log.waiting:
        time.sleep(0.001)
    state.go.set()
    opening.join()
    ending.join()
    assert (kinds(state), state.writes, state.version()) == (["begin", "end", "open"], 1, 1)


def test_the_object_is_named_and_the_effect_joined(state: State) -> None:
    log = AuditLog(lambda: state)
    opened = log.open(ADA, "update", {"project_id": 7, "issue_iid": 3, "text": "secret\n", "path": "a\x1b\nb"})
    with joining(opened.join), state.writing() as changes:
        changes.put("s", "k", b"effect")
    assert kinds(state) == ["begin", "open", "stored"]
    assert log.read(1)[0].line()[4] == "stored, without an end"
    opened.close("ok", Record(0.0, n=1))
    assert LATER.wait_empty(30)
    (entry,) = log.read(10)
    assert (entry.object, entry.outcome, entry.stored) == ("issue_iid=3 path=a??b project_id=7", "ok", True)


def test_an_end_that_cannot_be_written_now_is_written_later() -> None:
    state = Faulty()
    log = AuditLog(lambda: state)
    opened = log.open(ADA, "count", {})
    state.away = StateAway("stopped")
    opened.close("ok")
    assert log.read(10)[0].outcome == ""
    state.away = None
    assert LATER.wait_empty(30)
    assert log.read(10)[0].outcome == "ok"


def test_only_the_last_are_read_and_those_of_the_first_release_too() -> None:
    state = MemoryState()
    with state.writing() as changes:
        old = {"at": 1.0, "principal": "old", "operation": "o", "arguments": "0" * 64, "result": "r"}
        changes.put(SPACE, f"{changes.next('audit'):016d}", msgspec.json.encode(old))
    log = AuditLog(lambda: state)
    for number in range(3):
        log.open(ADA, f"op{number}", {}).close("ok")
    assert LATER.wait_empty(30)
    assert [entry.operation for entry in log.read(2)] == ["op1", "op2"]
    assert log.read(9)[0].line()[1:] == ("old", "o", "r", "ok")


def test_all_records_are_read_however_many_a_page_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    state = MemoryState()
    log = AuditLog(lambda: state)
    for number in range(5):
        log.open(ADA, f"op{number}", {})  # and a beginning
    for size in (1, 2, 3, 6, 7):
        monkeypatch.setattr(audit_log, "PAGE", size)
        assert [entry.operation for entry in log.read(9)] == [f"op{number}" for number in range(5)]


def test_behind_a_head_that_cannot_be_read_nothing_is_begun() -> None:
    state = MemoryState()
    log = AuditLog(lambda: state)
    log.open(Caller("ada"), "op", {}).close("ok")
    assert LATER.wait_empty(30)
    with state.writing() as changes:
        ((writer, _),) = changes.range(HEADS)
        changes.put(HEADS, writer, b"\xff")
    with pytest.raises(StorageFailed, match="cannot be read"):
        log.open(Caller("ada"), "op", {})
    AuditLog(lambda: state).open(Caller("ada"), "op", {})  # as after a new start
