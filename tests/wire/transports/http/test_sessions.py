"""Sessions over HTTP: what they agree on, how they end, what their stream carries."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar

import pytest

from postil.core.call import Caller
from postil.core.ports import EphemeralStore
from postil.core.registry import Registry
from postil.storage.ephemeral import MemoryEphemeralStore
from postil.wire.runtime.watches import Watches
from postil.wire.server import UNITED, Face, Hooks, Server
from postil.wire.transports.http import sessions
from postil.wire.transports.http.sessions import HttpSession, Sessions
from postil.wire.transports.http.sse import ReplyStream
from tests.core.echo import Echo
from tests.surfaces.gateway.gateways import Named, gateway_of
from tests.wire.http_client import BOTH, Answer, Running, request, running


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    with running() as server:
        yield server


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
def test_a_session_speaks_the_version_it_agreed_on(server: Running, version: str) -> None:
    session = server.initialize(version)
    assert len(session) >= 32
    note = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    assert server.in_session(session, note).status == 202
    params = {"name": "fail"}
    answer = server.in_session(session, request("tools/call", params), MCP_Protocol_Version=version).json()
    assert ("error" in answer) == (version < "2025-06-18")


def test_an_unknown_session_is_404(server: Running) -> None:
    assert server.in_session("nosuch", request("tools/list")).status == 404
    assert server.ask("GET", "/mcp", Mcp_Session_Id="nosuch", Accept="text/event-stream").status == 404
    assert server.ask("DELETE", "/mcp", Mcp_Session_Id="nosuch").status == 404


def test_an_ended_session_is_404(server: Running) -> None:
    session = server.initialize()
    assert server.ask("DELETE", "/mcp", Mcp_Session_Id=session).status == 204
    assert server.in_session(session, request("tools/list")).status == 404


def test_shutdown_ends_the_session_alone(server: Running) -> None:
    session, other = server.initialize(), server.initialize()
    assert server.in_session(session, request("shutdown")).json()["result"] is None
    assert server.in_session(session, request("tools/list")).status == 404
    assert server.in_session(other, request("tools/list")).status == 200


def test_a_subscription_needs_a_session(server: Running) -> None:
    assert server.post(request("resources/subscribe", {"uri": "echo://note"})).status == 400


def test_the_stream_of_a_session_carries_updates(server: Running) -> None:
    session = server.initialize()
    assert server.in_session(session, request("resources/subscribe", {"uri": "echo://note"})).status == 200
    connection = server.connect()
    connection.ask("GET", "/mcp", headers={"Mcp-Session-Id": session, "Accept": "text/event-stream"})
    assert connection.head()[0] == 200
    server.post(request("note", {"text": "new"}))
    heard = next(connection.events())
    assert (heard["method"], heard["params"]) == ("notifications/resources/updated", {"uri": "echo://note"})
    connection.close()


def test_what_happened_before_the_stream_opened_is_heard(server: Running) -> None:
    session = server.initialize()
    server.in_session(session, request("resources/subscribe", {"uri": "echo://note"}))
    server.post(request("note", {"text": "early"}))
    connection = server.connect()
    connection.ask("GET", "/mcp", headers={"Mcp-Session-Id": session, "Accept": "text/event-stream"})
    connection.head()
    assert next(connection.events())["method"] == "notifications/resources/updated"
    connection.close()


def test_a_call_cancelled_in_its_session_ends_its_request(server: Running) -> None:
    session = server.initialize()
    connection = server.connect()
    body = json.dumps(request("tools/call", {"name": "sleep"}, 9)).encode()
    headers = {"Mcp-Session-Id": session, "Accept": BOTH, "Content-Type": "application/json"}
    connection.ask("POST", "/mcp", body, headers)
    note = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 9}}
    while server.endpoint.calls == 0:
        pass
    assert server.in_session(session, note).status == 202
    assert connection.answer().body == b""
    connection.close()


def test_of_a_batch_in_a_session_what_was_not_given_up_is_answered(server: Running) -> None:
    session = server.initialize("2025-03-26")
    note = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 9}}
    sleep, count = request("tools/call", {"name": "sleep"}, 9), request("tools/call", {"name": "count"}, 10)
    answer = server.in_session(session, [sleep, count, note])
    assert (answer.status, [one["id"] for one in answer.json()]) == (200, [10])
    assert server.in_session(session, [sleep, note]).status == 202


def test_a_new_stream_replaces_a_dead_one_and_hears_what_that_did_not(server: Running) -> None:
    """A client whose network broke was refused with 409 until the server noticed."""
    session = server.initialize()
    server.in_session(session, request("resources/subscribe", {"uri": "echo://note"}))
    first, second = server.connect(), server.connect()
    for connection in (first, second):
        connection.ask("GET", "/mcp", headers={"Mcp-Session-Id": session, "Accept": "text/event-stream"})
        assert connection.head()[0] == 200
    server.post(request("note", {"text": "new"}))
    assert next(second.events())["method"] == "notifications/resources/updated"
    assert list(first.events()) == []  # it ended
    first.close()
    second.close()


def test_of_one_callers_sessions_an_idle_one_makes_room_and_busy_ones_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "MOST_OF_ONE", 2)
    with running(gateway_of(ways=[Named()])) as server:

        def begin(who: str) -> Answer:
            params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
            return server.post(request("initialize", params), Authorization=f"Bearer {who}", Accept=BOTH)

        def asks(who: str, session: str) -> int:
            return server.in_session(session, request("tools/list"), Authorization=f"Bearer {who}").status

        theirs = begin("bob").headers["mcp-session-id"]
        mine = [begin("ann").headers["mcp-session-id"] for _ in range(3)]
        assert [asks("ann", session) for session in mine] == [404, 200, 200]
        assert asks("bob", theirs) == 200, "others keep theirs"
        assert asks("bob", mine[2]) == 404, "nobody is in another's session"
        streams = [server.connect() for _ in range(2)]
        for stream, session in zip(streams, mine[1:], strict=True):
            stream.ask(
                "GET",
                "/mcp",
                headers={"Mcp-Session-Id": session, "Accept": "text/event-stream", "Authorization": "Bearer ann"},
            )
            assert stream.head()[0] == 200
        assert begin("ann").status == 503, "both have an open stream"
        for stream in streams:
            stream.close()


def test_a_session_goes_on_at_another_replica_for_its_own_caller_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "LOOK_EVERY", 0.0)  # nothing is believed for a while
    store = MemoryEphemeralStore()
    ways = [Named()]
    with running(gateway_of(ways=ways), shared=store) as here, running(gateway_of(ways=ways), shared=store) as there:
        session = here.initialize(Authorization="Bearer ann")

        def asks(server: Running, who: str) -> int:
            return server.in_session(session, request("tools/list"), Authorization=f"Bearer {who}").status

        assert [asks(there, "bob"), asks(there, "ann"), asks(here, "ann"), asks(there, "bob")] == [404, 200, 200, 404]
        assert here.ask("DELETE", "/mcp", Mcp_Session_Id=session, Authorization="Bearer ann").status == 204
        assert [asks(here, "ann"), asks(there, "ann")] == [404, 404]


def test_other_replicas_are_told_of_a_session_when_it_changed_and_of_nothing_twice() -> None:
    class Noting(MemoryEphemeralStore):
        told: ClassVar[list[bytes]] = []
        changed = threading.Event()

        async def keep(self, values: Mapping[str, bytes], seconds: float) -> bool:
            self.told.extend(values.values())
            if any(b"error" in value for value in values.values()):
                self.changed.set()
            return await super().keep(values, seconds)

    store = Noting()
    with running(shared=store) as server:
        session = server.initialize()
        assert server.in_session(session, {"jsonrpc": "2.0", "method": "notifications/initialized"}).status == 202
        for _ in range(5):
            assert server.in_session(session, request("tools/list")).status == 200
        assert server.in_session(session, request("logging/setLevel", {"level": "error"})).status == 200
        assert store.changed.wait(30)
    assert len(store.told) == len(set(store.told))


# ----- without a connection -------------------------------------------------------------------------------------------

ANN, BOB = Caller("ann", "test"), Caller("bob", "test")


class Replica:
    """The sessions of one server in this process."""

    def __init__(self, store: EphemeralStore | None = None, **bounds: Any) -> None:
        self.part = Echo()
        self.server = Server(Registry.of([("echo", self.part)]), Face("echo", "1", UNITED), hooks=Hooks(shared=store))
        self.sessions = Sessions(self.server, Watches(self.server), **bounds)

    async def begin(self, caller: Caller = ANN) -> HttpSession:
        session = self.sessions.open(caller)
        assert session is not None
        await self.sessions.keep(session)
        return session

    async def has(self, session: HttpSession, caller: Caller = ANN) -> bool:
        return await self.sessions.find(session.id, caller) is not None


async def until(claim: Callable[[], object]) -> None:
    async with asyncio.timeout(30):
        while not claim():  # noqa: ASYNC110 - nothing announces it
            await asyncio.sleep(0.001)


@pytest.mark.anyio
async def test_the_session_that_was_used_longest_ago_makes_room_if_it_is_idle() -> None:
    here = Replica(most=2)
    first, second = await here.begin(), await here.begin(BOB)
    assert await here.has(first)
    third = await here.begin()
    assert [await here.has(first), await here.has(second, BOB), await here.has(third)] == [True, False, True]
    first.requests = 1
    fourth = await here.begin()
    assert [await here.has(first), await here.has(third), await here.has(fourth)] == [True, False, True]
    fourth.listen()
    assert here.sessions.open(ANN) is None
    assert len(here.sessions) == 2


@pytest.mark.anyio
async def test_a_session_is_found_by_its_own_caller_alone() -> None:
    here = Replica()
    session = await here.begin()
    assert [await here.has(session, BOB), await here.has(session)] == [False, True]
    old = await here.begin()
    old.speak_on(ReplyStream(streams=True), lambda _: None)
    assert not await here.has(old), "it has two addresses"
    here.sessions.end(session)
    here.sessions.end(session)
    assert not await here.has(session)


@pytest.mark.anyio
async def test_an_idle_session_ends_by_itself_and_a_busy_one_does_not() -> None:
    here = Replica(idle=0.01)
    busy, idle = await here.begin(), await here.begin()
    busy.requests = 1
    await until(lambda: len(here.sessions) == 1)
    assert await here.has(busy)
    assert not await here.has(idle)
    busy.requests = 0
    await until(lambda: len(here.sessions) == 0)
    await here.sessions.close(0)


@pytest.mark.anyio
async def test_what_was_pushed_before_a_stream_is_heard_on_it_once_and_bounded() -> None:
    session = await Replica().begin()
    push = session.runner.connection.push
    assert push is not None
    for number in range(sessions.MOST_PUSHED + 5):
        push(b"%d" % number)
        push(b"%d" % number)
    stream = session.listen()
    assert stream.messages == [b"%d" % number for number in range(5, sessions.MOST_PUSHED + 5)]
    push(b"now")
    assert stream.messages[-1] == b"now"
    again = session.listen()
    assert stream.over
    assert again.messages[-1] == b"now"
    assert stream.messages == []
    assert len(again.messages) == sessions.MOST_PUSHED + 1


@pytest.mark.anyio
async def test_a_stream_that_goes_on_keeps_its_log() -> None:
    session = await Replica().begin()
    first = session.listen()
    log = first.log
    assert log is not None
    assert session.listen(log).log is log
    assert first.log is None, "what it would still say is not of it"
    other = session.listen()
    assert other.log is not None
    assert other.log is not log


class CountingStore(MemoryEphemeralStore):
    """A store that counts what it is told."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: list[str] = []
        self.takes = True

    async def keep(self, values: Mapping[str, bytes], seconds: float) -> bool:
        self.kept += values
        return self.takes and await super().keep(values, seconds)


@pytest.mark.anyio
async def test_other_replicas_are_told_what_is_new_or_nearly_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    store = CountingStore()
    here = Replica(store, idle=400)
    session = await here.begin()
    await here.sessions.share(session)
    assert len(store.kept) == 1
    now = asyncio.get_running_loop().time()
    monkeypatch.setattr(Sessions, "_now", staticmethod(lambda: now + 100))
    await here.sessions.share(session)
    assert len(store.kept) == 2, "a quarter of its time is over"
    session.runner.session.log_level = "error"
    store.takes = False
    await here.sessions.share(session)
    store.takes = True
    await here.sessions.share(session)
    await here.sessions.share(session)
    assert len(store.kept) == 4, "what nobody took is told again"
    session.runner.session.log_level = "info"
    session.runner.session.capabilities = {"much": "x" * sessions.LARGEST_SHARED}
    await here.sessions.share(session)
    here.sessions.end(session)
    session.runner.session.capabilities = {}
    await here.sessions.share(session)
    assert len(store.kept) == 4, "too large, and then ended"


@pytest.mark.anyio
async def test_what_changed_elsewhere_is_gone_on_with_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "LOOK_EVERY", -1.0)  # nothing is believed for a while
    store = MemoryEphemeralStore()
    here, there = Replica(store), Replica(store)
    session = await here.begin()
    assert not await there.has(session, BOB)
    assert await there.has(session)
    theirs = await there.sessions.find(session.id, ANN)
    assert theirs is not None
    theirs.runner.session.log_level = "error"
    await there.sessions.share(theirs)
    assert await here.has(session)
    assert session.runner.session.log_level == "error"
    await there.sessions.end_everywhere(theirs)
    assert not await here.has(session)
    assert len(here.sessions) == 0
    assert await there.sessions.find("x" * (sessions.LONGEST_ID + 1), ANN) is None


@pytest.mark.anyio
@pytest.mark.parametrize("damage", [b"[1,", b'["\xff","x"]'])
async def test_a_shared_session_that_cannot_be_read_is_not_gone_on_with(damage: bytes) -> None:
    store = MemoryEphemeralStore()
    here, there = Replica(store), Replica(store)
    session = await here.begin()
    await here.sessions.share(session)
    await store.keep({sessions._name(session.id): damage}, 60)  # pyright: ignore[reportPrivateUsage]
    assert not await there.has(session)
    assert await here.has(session)


@pytest.mark.anyio
async def test_an_open_stream_hears_what_is_asked_for_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "LOOK_EVERY", 0.001)
    store = MemoryEphemeralStore()
    here, there = Replica(store), Replica(store)
    session = await here.begin()
    session.listen()
    for _ in range(2):
        here.sessions.follow(session)
    theirs = await there.sessions.find(session.id, ANN)
    assert theirs is not None
    await theirs.runner.updates.add("echo://note")
    await there.sessions.share(theirs)
    await until(lambda: here.part.changed)
    assert session.runner.updates.uris == {"echo://note"}
    session.stream = None
    await until(lambda: vars(here.sessions)["_following"] is None)
    for replica in (here, there):
        await replica.sessions.close(0)


@pytest.mark.anyio
async def test_at_the_end_streams_end_and_nothing_is_left() -> None:
    here = Replica(MemoryEphemeralStore())
    session = await here.begin()
    stream = session.listen()
    here.sessions.follow(session)
    await here.sessions.close(0)
    assert stream.over
    assert len(here.sessions) == 0


@pytest.mark.anyio
async def test_a_session_that_was_gone_on_with_here_ends_when_it_is_ended_where_it_began(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sessions, "LOOK_EVERY", -1.0)  # nothing is believed for a while
    store = MemoryEphemeralStore()
    here, there = Replica(store), Replica(store)
    session = await here.begin()
    assert await there.has(session)
    await here.sessions.end_everywhere(session)
    assert not await there.has(session)
    assert len(there.sessions) == 0
