"""Streams over HTTP: listening, leaving, signs of life, and the graceful end of everything."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from postil.wire.transports.http.event_log import StreamLog
from postil.wire.transports.http.sse import MOST_WAITING, ReplyStream
from tests.wire.http_client import BOTH, META, STATELESS, Connection, Running, process, request, running, until


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    with running(ping_every=0.2) as server:
        yield server


def stateless(connection: Connection, method: str, params: dict[str, object], request_id: object = 1) -> None:
    headers = {"MCP-Protocol-Version": STATELESS, "Mcp-Method": method, "Accept": BOTH}
    if "name" in params:
        headers["Mcp-Name"] = str(params["name"])
    body = json.dumps(request(method, {"_meta": META, **params}, request_id)).encode()
    connection.ask("POST", "/mcp", body, {**headers, "Content-Type": "application/json"})


def test_a_listener_is_acknowledged_first_and_then_hears_updates(server: Running) -> None:
    connection = server.connect()
    stateless(connection, "subscriptions/listen", {"notifications": {"resourceSubscriptions": ["echo://note"]}}, 5)
    assert connection.head()[0] == 200
    events = connection.events()
    acknowledged = next(events)
    assert acknowledged["method"] == "notifications/subscriptions/acknowledged"
    until(lambda: bool(server.echo.changed))
    server.post(request("note", {"text": "changed"}))
    update = next(events)
    assert update["method"] == "notifications/resources/updated"
    assert update["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"] == 5
    connection.close()


def test_a_listener_that_leaves_is_forgotten(server: Running) -> None:
    for _ in range(20):
        connection = server.connect()
        stateless(connection, "subscriptions/listen", {"notifications": {"resourceSubscriptions": ["echo://note"]}})
        next_head = connection.head()
        assert next_head[0] == 200
        connection.close()
    until(lambda: server.endpoint.streams == 0)
    until(lambda: not server.echo.changed)


def test_a_listener_must_accept_streams(server: Running) -> None:
    answer = server.call("subscriptions/listen", {"notifications": {}}, Accept="application/json")
    assert answer.status == 406


def test_a_quiet_stream_shows_signs_of_life(server: Running) -> None:
    connection = server.connect()
    stateless(connection, "tools/call", {"name": "sleep", "arguments": {"seconds": 1}})
    status, headers = connection.head()
    assert (status, headers["content-type"]) == (200, "text/event-stream")
    text = b"".join(connection.chunks())
    assert text.count(b": ping\n\n") >= 2
    assert b'"result"' in text.split(b"data: ")[1]
    connection.close()


def test_closing_the_request_cancels_the_call(server: Running) -> None:
    connection = server.connect()
    stateless(connection, "tools/call", {"name": "sleep"})
    until(lambda: server.endpoint.calls == 1)
    connection.close()
    until(lambda: server.endpoint.calls == 0)


def test_work_of_a_session_goes_on_when_its_request_is_closed(server: Running, tmp_path: Path) -> None:
    pipe, session, connection = tmp_path / "pipe", server.initialize(), server.connect()
    os.mkfifo(pipe)
    work = request("tools/call", {"name": "hold", "arguments": {"path": str(pipe)}}, 3)
    body = json.dumps(work).encode()
    headers = {"Mcp-Session-Id": session, "Accept": BOTH, "Content-Type": "application/json"}
    connection.ask("POST", "/mcp", body, headers)
    until(lambda: server.endpoint.calls == 1)
    connection.close()
    until(lambda: server.endpoint.calls == 0)
    again = server.in_session(session, work)
    assert again.json()["error"]["message"].endswith("still in use")  # the first call goes on
    pipe.write_text("the end")
    assert server.ask("DELETE", "/mcp", Mcp_Session_Id=session).status == 204


def test_the_longest_idle_session_makes_room() -> None:
    with running(most=2) as server:
        first, second = server.initialize(), server.initialize()
        server.in_session(first, request("ping"))
        third = server.initialize()
        statuses = [server.in_session(one, request("ping")).status for one in (first, second, third)]
        assert statuses == [200, 404, 200]


def test_an_idle_session_ends() -> None:
    with running(idle=0.05) as server:
        session = server.initialize()
        until(lambda: len(server.endpoint.sessions) == 0)
        assert server.in_session(session, request("ping")).status == 404


# -- the end ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_ends_it_and_open_streams_get_their_result(number: int, status: int) -> None:
    with process() as (started, port):
        streams = [Connection(port) for _ in range(5)]
        heard: list[Iterator[dict[str, Any]]] = []
        for connection in streams:
            stateless(connection, "subscriptions/listen", {"notifications": {"toolsListChanged": True}}, "s")
            assert connection.head()[0] == 200
            heard.append(connection.events())
            next(heard[-1])
        begun = time.monotonic()
        os.kill(started.pid, number)
        for events in heard:
            last = list(events)[-1]
            assert last["id"] == "s"
            assert last["result"]["resultType"] == "complete"
        assert started.wait(5) == status
        assert time.monotonic() - begun < 5
        assert started.stderr
        assert started.stderr.read() == b""
        for connection in streams:
            connection.close()


def test_a_signal_gives_calls_in_flight_a_moment() -> None:
    with process() as (started, port), closing(Connection(port)) as short, closing(Connection(port)) as long:
        for connection, seconds in ((short, 0.5), (long, 60)):
            meta = {**META, "progressToken": "t"}
            stateless(connection, "tools/call", {"name": "sleep", "arguments": {"seconds": seconds}, "_meta": meta})
            assert connection.head()[0] == 200  # its first progress opened the stream: the call has begun
        begun = time.monotonic()
        os.kill(started.pid, signal.SIGTERM)
        assert "result" in next(event for event in short.events() if "id" in event)
        assert started.wait(6) == 143
        assert time.monotonic() - begun < 5
        assert started.stderr
        assert started.stderr.read() == b""


# ----- one stream without a connection --------------------------------------------------------------------------------


def event(text: bytes) -> bytes:
    return b"event: message\ndata: " + text + b"\n\n"


def logged() -> tuple[ReplyStream, StreamLog]:
    stream = ReplyStream(streams=True)
    stream.log = StreamLog("s", is_call=True, changed=lambda _log, _change: None)
    return stream, stream.log


def test_of_equal_messages_one_waits_and_the_next_is_news_again() -> None:
    stream = ReplyStream(streams=True)
    for frame in (b"1", b"2", b"1"):
        stream.send(frame)
    assert stream.take() == event(b"1") + event(b"2")
    stream.send(b"1")
    assert stream.take() == event(b"1")
    assert stream.take() == b""


def test_a_client_that_reads_slowly_is_held_a_bounded_number_of_messages() -> None:
    stream = ReplyStream(streams=True)
    for number in range(MOST_WAITING + 10):
        stream.send(b"%d" % number)
    assert len(stream.messages) == MOST_WAITING


def test_a_client_that_takes_no_stream_is_held_the_answer_alone() -> None:
    stream = ReplyStream(streams=False)
    stream.send(b"1")
    assert (stream.take(), stream.take_last()) == (b"", b"")
    stream.answer(b"2", -32000)
    assert (stream.take_last(), stream.code) == (event(b"2"), -32000)


def test_what_a_client_that_left_has_not_heard_is_kept_for_its_return() -> None:
    stream, log = logged()
    stream.send(b"1")
    stream.leave()
    stream.send(b"2")
    stream.answer(b"3", 0)
    stream.leave()
    assert [kept.splitlines()[2] for kept in log.after(0)] == [b"data: 1", b"data: 2", b"data: 3"]
    assert log.over


@pytest.mark.parametrize("ends", ["answered", "over", "neither"])
def test_a_stream_that_was_left_ends_when_nothing_follows(ends: str) -> None:
    stream, log = logged()
    if ends == "answered":
        stream.answer(b"1", 0)
    elif ends == "over":
        stream.end()
    assert not log.over, "its client still reads"
    stream.leave()
    assert log.over is (ends != "neither")
    stream.end()
    assert log.over


def test_an_event_that_is_read_again_is_sent_as_it_was() -> None:
    stream = ReplyStream(streams=True, relays=True)
    stream.relay(b"id: s.1\ndata: 1\n\n")
    assert stream.take() == b"id: s.1\ndata: 1\n\n"


@pytest.mark.anyio
@pytest.mark.parametrize("act", ["answer", "send", "relay", "end", "leave", "wake"])
async def test_whatever_happens_to_a_stream_ends_the_wait(act: str) -> None:
    stream = ReplyStream(streams=True)
    waiting = asyncio.ensure_future(stream.wait())
    await asyncio.sleep(0)
    arguments = {"answer": (b"1", 0), "send": (b"1",), "relay": (b"1",)}.get(act, ())
    for _ in range(2):
        getattr(stream, act)(*arguments)
    await asyncio.wait_for(waiting, 20)
