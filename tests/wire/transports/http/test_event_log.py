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
