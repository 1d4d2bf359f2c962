"""Streams that were lost go on behind the last event that the client saw: here, and on another replica."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest

from postil.storage.ephemeral import MemoryEphemeralStore
from postil.wire.transports.http import event_log
from postil.wire.transports.http.event_log import Budget, SessionLogs, StreamLog
from postil.wire.transports.http.sse import ReplyStream
from tests.surfaces.gateway.gateways import Named, gateway_of
from tests.wire.http_client import BOTH, Connection, Running, request, running


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    with running() as server:
        yield server


OPENED: list[Connection] = []


@pytest.fixture(autouse=True)
def close_connections() -> Iterator[None]:
    yield
    while OPENED:
        OPENED.pop().close()


def connect(server: Running) -> Connection:
    OPENED.append(server.connect())
    return OPENED[-1]


def call_slowly(server: Running, session: str, **arguments: Any) -> Connection:
    """A call that reports progress first: its answer is a stream."""
    params = {"name": "sleep", "arguments": arguments, "_meta": {"progressToken": 1}}
    connection = connect(server)
    body = json.dumps(request("tools/call", params, 7)).encode()
    headers = {"Mcp-Session-Id": session, "Accept": BOTH, "Content-Type": "application/json"}
    connection.ask("POST", "/mcp", body, headers)
    assert connection.head()[0] == 200
    return connection


def come_back(server: Running, session: str, event_id: str, **headers: str) -> Connection:
    connection = connect(server)
    given = {"Mcp-Session-Id": session, "Accept": "text/event-stream", "Last-Event-ID": event_id, **headers}
    connection.ask("GET", "/mcp", headers=given)
    return connection


@pytest.mark.parametrize("version", ["2025-03-26", "2025-06-18", "2025-11-25"])
def test_the_answer_of_a_lost_stream_is_had_by_its_last_event(server: Running, version: str) -> None:
    session = server.initialize(version)
    first = call_slowly(server, session, seconds=0.3)
    events = first.ids()
    event_id, message = next(events)
    if version == "2025-11-25":  # begins with an event that only has an id
        assert message is None
        event_id, message = next(events)
    assert message is not None
    assert message["method"] == "notifications/progress"
    first.close()  # before the answer
    again = come_back(server, session, event_id)
    assert again.head()[0] == 200
    messages = list(again.events())
    assert [each.get("id") for each in messages] == [7]
    assert "result" in messages[0]


def test_an_answer_that_was_sent_into_a_dead_connection_is_had_again(server: Running) -> None:
    session = server.initialize("2025-11-25")
    first = call_slowly(server, session, seconds=0)
    events = list(first.ids())
    assert [message.get("id") if message else None for _, message in events] == [None, None, 7]
    again = come_back(server, session, events[1][0])
    again.head()
    assert [each["id"] for each in again.events()] == [7]  # and no event that it had seen


def test_the_old_connection_gives_way_though_it_was_not_closed(server: Running) -> None:
    session = server.initialize("2025-11-25")
    half_open = call_slowly(server, session, seconds=0.5)
    event_id = next(half_open.ids())[0]
    again = come_back(server, session, event_id)
    again.head()
    assert [each.get("id") for each in again.events()] == [None, 7]


def test_the_sessions_own_stream_goes_on(server: Running) -> None:
    session = server.initialize("2025-11-25")
    server.in_session(session, request("resources/subscribe", {"uri": "echo://note"}))
    first = come_back(server, session, "")
    first.head()
    heard = first.ids()
    prime, nothing = next(heard)
    assert nothing is None
    server.post(request("note", {"text": "one"}))
    assert next(heard)[1] is not None
    again = come_back(server, session, prime)  # as if the update had never arrived
    again.head()
    assert next(again.events())["method"] == "notifications/resources/updated"


@pytest.mark.parametrize("event_id", ["nosuch.3", "x", ".", "a.-1", "a.99999999999999999999", "é.1", "a" * 5000])
def test_an_unknown_event_opens_a_new_stream(server: Running, event_id: str) -> None:
    session = server.initialize("2025-11-25")
    again = come_back(server, session, event_id.encode().decode("latin-1"))
    assert again.head()[0] == 200
    assert next(again.ids())[1] is None


def test_the_events_of_another_session_cannot_be_read(server: Running) -> None:
    session, other = server.initialize("2025-11-25"), server.initialize("2025-11-25")
    event_id = next(call_slowly(server, session, seconds=0).ids())[0]
    again = come_back(server, other, event_id)
    again.head()
    fresh_id, nothing = next(again.ids())
    assert nothing is None
    assert fresh_id.partition(".")[0] != event_id.partition(".")[0]


def test_the_events_of_another_principal_cannot_be_read() -> None:
    with running(gateway_of(ways=[Named()])) as server:
        ann = {"Authorization": "Bearer ann"}
        session = server.initialize("2025-11-25", **ann)
        params = {"name": "wait", "_meta": {"progressToken": 1}}
        said = server.in_session(session, request("tools/call", params, 7), **ann)
        event_id = said.body.partition(b"id: ")[2].partition(b"\n")[0].decode()
        assert event_id
        again = come_back(server, session, event_id, Authorization="Bearer bob")
        assert again.head()[0] == 404
        mine = come_back(server, session, event_id, **ann)
        assert mine.head()[0] == 200


def test_another_replica_goes_on() -> None:
    store = MemoryEphemeralStore()
    with running(shared=store) as one, running(shared=store) as two:
        session = one.initialize("2025-11-25")
        first = call_slowly(one, session, seconds=0.5)
        events = first.ids()
        event_id = next(events)[0]
        next(events)
        first.close()
        again = come_back(two, session, event_id)
        assert again.head()[0] == 200
        assert [each.get("id") for each in again.events()] == [None, 7]


def test_a_stream_keeps_its_last_events_alone() -> None:
    log = StreamLog("s", is_call=True, changed=lambda _log, _change: None)
    for number in range(event_log.MOST_EVENTS + 5):
        log.add(b"%d" % number)
    kept = log.after(0)
    assert len(kept) == event_log.MOST_EVENTS
    assert kept[0].startswith(b"id: s.6\n")
    log.end(b"x" * (event_log.MOST_BYTES + 1))
    assert len(log.after(0)) == 1  # the answer, whatever its size


def test_all_streams_together_have_a_bound() -> None:
    budget = Budget(most=100)
    logs = [StreamLog(str(number), is_call=True, changed=budget.count) for number in range(3)]
    for log in logs:
        log.add(b"x" * 60)
    assert [len(log.after(0)) for log in logs] == [0, 0, 1]
    logs[0].add(b"more")
    assert logs[0].after(0) == []  # nor does it keep anything later


def test_a_damaged_record_of_another_replica_is_no_stream() -> None:
    store = MemoryEphemeralStore()
    with running(shared=store) as server:
        session = server.initialize("2025-11-25")

        async def spoil() -> None:
            logs = SessionLogs(session, Budget(), store)
            await store.keep({logs._key("bad"): b"[1,"}, 60)  # pyright: ignore[reportPrivateUsage]

        asyncio.run_coroutine_threadsafe(spoil(), server.loop).result(10)
        again = come_back(server, session, "bad.0")
        assert again.head()[0] == 200
        assert next(again.ids())[1] is None


def test_what_all_streams_keep_is_counted_together_and_the_oldest_is_forgotten() -> None:
    budget = Budget(100)
    mine, yours = SessionLogs("a", budget, None), SessionLogs("b", budget, None)
    first, second = mine.open(is_call=False), yours.open(is_call=False)
    first.add(b"x" * 60)
    assert len(first.after(0)) == 1
    second.add(b"x" * 60)
    assert (first.after(0), len(second.after(0))) == ([], 1)


def test_who_keeps_much_pushes_out_nobody_else() -> None:
    """One principal with many sessions took the 64 MB of all."""
    budget = Budget(100)
    quiet = SessionLogs("a", budget, None, "quiet").open(is_call=True)
    quiet.add(b"x" * 30)
    busy = [SessionLogs(f"s{number}", budget, None, "busy").open(is_call=True) for number in range(20)]
    for log in busy:
        log.add(b"x" * 20)
    assert len(quiet.after(0)) == 1
    assert [len(log.after(0)) for log in busy] == [0] * 17 + [1] * 3


# ----- one log without a connection -----------------------------------------------------------------------------------


def log_of(*frames: bytes) -> StreamLog:
    log = StreamLog("s", is_call=True, changed=lambda _log, _change: None)
    for frame in frames:
        log.add(frame)
    return log


def numbers(events: bytes | list[bytes]) -> list[str]:
    joined = events if isinstance(events, bytes) else b"".join(events)
    return [line.removeprefix("id: s.") for line in joined.decode().splitlines() if line.startswith("id: ")]


def test_the_events_behind_a_place_are_those_that_were_not_seen() -> None:
    log = log_of(b"1", b"2", b"3")
    assert numbers(log.after(1)) == ["2", "3"]
    assert log.after(3) == []
    assert log.end(b"4").startswith(b"id: s.4\n")
    assert log.end(b"5") == b"", "nothing follows the end"
    assert log.count == 4


def test_the_bytes_of_one_stream_are_bounded_at_their_limit() -> None:
    half = b"x" * (event_log.MOST_BYTES // 2)
    log = log_of(half, half)
    assert log.size == event_log.MOST_BYTES
    assert len(log.frames) == 2
    log.add(b"x")
    assert len(log.frames) == 2
    assert log.size == len(half) + 1


def test_who_comes_back_reads_what_was_missed_and_what_follows() -> None:
    log = log_of(b"1", b"2")
    writer, reader, later = (ReplyStream(streams=True, relays=True) for _ in range(3))
    log.writer = writer
    log.read_by(reader, 1)
    assert writer.gone
    log.add(b"3")
    assert numbers(reader.take()) == ["2", "3"]
    assert not reader.over
    log.read_by(later, 3)
    assert reader.over, "it has gone"
    log.end(b"4")
    assert numbers(later.take()) == ["4"]
    assert later.over


def test_who_comes_back_to_what_has_ended_reads_its_end() -> None:
    log = log_of(b"1")
    log.end(b"2")
    log.writer, reader = ReplyStream(streams=True), ReplyStream(streams=True, relays=True)
    log.read_by(reader, 1)
    assert numbers(reader.take()) == ["2"]
    assert reader.over
    assert not log.writer.gone


def test_who_has_seen_more_than_is_here_yet_is_not_told_it_again() -> None:
    """Another replica writes the stream, and what was seen may not have arrived."""
    log, reader = log_of(b'"1"'), ReplyStream(streams=True, relays=True)
    log.read_by(reader, 2)
    log.take_over(log_of(b'"1"', b'"2"', b'"3"').save())
    assert numbers(reader.take()) == ["3"]


def test_what_another_replica_wrote_is_taken_over_once() -> None:
    theirs = log_of(b'"1"', b'"2"')
    mine = StreamLog("s", is_call=False, changed=lambda _log, _change: None)
    for _ in range(2):
        mine.take_over(theirs.save())
    assert (mine.is_call, mine.count, numbers(mine.after(0))) == (True, 2, ["1", "2"])
    assert not mine.over
    theirs.end(b'"3"')
    mine.take_over(theirs.save())
    assert (mine.over, numbers(mine.after(2))) == (True, ["3"])


def test_a_budget_forgets_the_oldest_when_it_is_passed_and_not_before() -> None:
    budget = Budget(100)
    logs = [StreamLog(str(number), is_call=True, changed=budget.count) for number in range(3)]
    logs[0].add(b"x" * 40)
    logs[1].add(b"x" * 60)
    assert [log.size for log in logs] == [40, 60, 0]
    budget.drop(logs[0])
    budget.drop(logs[0])
    logs[2].add(b"x" * 40)
    assert [log.size for log in logs] == [0, 60, 40]
    logs[2].add(b"x")
    assert [log.size for log in logs] == [0, 0, 41]
    logs[2].add(b"x" * 200)
    assert logs[2].size == 241, "the only one is kept"


@pytest.mark.anyio
async def test_of_one_session_the_oldest_streams_make_room() -> None:
    budget = Budget()
    logs = SessionLogs("a", budget, None)
    opened = [logs.open(is_call=True) for _ in range(event_log.MOST_STREAMS + 1)]
    for log in opened:
        log.add(b"x")
    assert [logs.is_here(log) for log in opened] == [False] + [True] * event_log.MOST_STREAMS
    for place, found in ((0, True), (1, True), (2, False)):
        assert (await logs.find(f"{opened[-1].name}.{place}") is not None) is found
    for wrong in (f"{opened[0].name}.0", "x.0", f"{opened[-1].name}.\u0661", f"{opened[-1].name}.x", "x" * 65 + ".1"):
        assert await logs.find(wrong) is None
    assert (vars(budget)["_held"], opened[1].size) == (event_log.MOST_STREAMS, 1)
    logs.close()
    assert not any(logs.is_here(log) for log in opened)
    assert (vars(budget), opened[1].size) == (vars(Budget()), 0), "what is forgotten takes nobody's room"


@pytest.mark.anyio
async def test_a_stream_that_has_ended_is_forgotten_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_log, "KEPT", 0.01)
    logs = SessionLogs("a", Budget(), None)
    still_open, ended = logs.open(is_call=False), logs.open(is_call=True)
    still_open.add(b"")
    ended.end()
    async with asyncio.timeout(20):
        while logs.is_here(ended):  # noqa: ASYNC110 - nothing announces it
            await asyncio.sleep(0.001)
    assert logs.is_here(still_open)


@pytest.mark.anyio
async def test_who_follows_a_stream_of_another_replica_passes_over_a_damaged_record(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(event_log, "LOOK_EVERY", 0)
    written = StreamLog("x", is_call=True, changed=lambda _log, _change: None)
    written.add(b"{}")
    written.end()
    records = [b"[1,", written.save()]

    class Store(MemoryEphemeralStore):
        async def recall(self, *names: str) -> list[bytes | None]:
            return [records.pop(0) for _ in names]

    log = StreamLog("x", is_call=True, changed=lambda _log, _change: None)
    await SessionLogs("session", Budget(), Store()).follow(log)
    assert (log.over, len(log.after(0))) == (True, 1)
