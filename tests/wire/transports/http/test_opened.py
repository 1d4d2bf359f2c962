"""What is open in a process: endpoints of other views and workspaces are no more room."""

from __future__ import annotations

from typing import Any

import pytest

from postil.core.call import Caller
from postil.core.registry import Registry
from postil.wire.protocol import jsonrpc
from postil.wire.server import UNITED, Face, Server
from postil.wire.transports.http import sessions as module
from postil.wire.transports.http.asked import Asked
from postil.wire.transports.http.endpoint import Endpoint
from postil.wire.transports.http.opened import Opened
from postil.wire.transports.http.sessions import HttpSession
from tests.core.echo import Echo

pytestmark = pytest.mark.anyio
ANN, BOB = Caller("ann"), Caller("bob")


def endpoint(opened: Opened) -> Endpoint:
    return Endpoint(Server(Registry.of([("echo", Echo())]), Face("echo", "1.0.0", UNITED)), opened=opened)


async def open_session(where: Endpoint, caller: Caller) -> HttpSession | None:
    session = where.sessions.open(caller)
    if session is not None:
        await where.sessions.keep(session)
    return session


async def test_a_stream_at_one_endpoint_takes_a_place_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("postil.wire.transports.http.endpoint.STREAMS_OF_ONE", 1)
    opened = Opened()
    one, other = endpoint(opened), endpoint(opened)
    with opened.stream("ann"):
        assert not one.has_room_for_streams(ANN)
        assert not other.has_room_for_streams(ANN)
        assert other.has_room_for_streams(BOB)
    assert other.has_room_for_streams(ANN)
    assert (opened.streams, opened.count_streams("ann")) == (0, 0)


async def test_the_sessions_of_one_caller_are_bounded_over_all_endpoints(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_OF_ONE", 2)
    opened = Opened()
    one, other = endpoint(opened), endpoint(opened)
    first = await open_session(one, ANN)
    assert first is not None
    for where, caller in ((other, ANN), (other, BOB), (other, ANN)):
        assert await open_session(where, caller) is not None
    assert await one.sessions.find(first.id, ANN) is None, "the one that was used longest ago made room"
    assert (len(one.sessions), len(other.sessions)) == (0, 3)
    await one.close(0)
    await other.close(0)
    assert opened.sessions == []


async def test_what_streams_sent_is_kept_within_one_bound() -> None:
    opened = Opened()
    one, other = await open_session(endpoint(opened), ANN), await open_session(endpoint(opened), ANN)
    assert one is not None
    assert other is not None
    for session in (one, other):
        session.logs.open(is_call=True).end(b"x" * 10)
    assert vars(opened.kept)["_held"] == 20


async def test_calls_at_one_endpoint_take_places_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    opened = Opened()
    other = endpoint(opened)
    opened.calls = 1
    said: list[int] = []

    async def receive() -> Any:
        raise AssertionError

    async def send(message: Any) -> None:
        said.append(message.get("status", 0))

    for most in (1, 2):
        monkeypatch.setattr("postil.wire.transports.http.endpoint.MOST_CALLS", most)
        await other.post(Asked({}, ANN, receive, send), jsonrpc.Request(1, "ping", {}))
    assert said == [503, 0, 200, 0]


async def test_an_endpoint_that_is_retired_is_held_by_nothing() -> None:
    opened = Opened()
    where = endpoint(opened)
    registry = where.server.registry
    assert where.is_empty
    session = await open_session(where, ANN)
    assert session is not None
    assert not where.is_empty
    where.sessions.end(session)
    assert where.is_empty
    where.retire()
    assert vars(registry)["_listeners"] == []
    assert opened.sessions == []
