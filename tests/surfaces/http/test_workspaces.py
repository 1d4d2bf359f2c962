"""Many workspaces at one gateway: paths, rights, and what may be sent to a second replica."""

from __future__ import annotations

import asyncio
from contextlib import AbstractContextManager
from typing import Any

import pytest

from postil.core.call import Caller
from postil.core.registry import Registry
from postil.settings.model import WorkspaceSettings
from postil.storage.failures import StateAway
from postil.surfaces.gateway.refused import OutcomeUnknown, Refused, Unavailable
from postil.surfaces.gateway.visitor import View, Visitor
from postil.surfaces.http import right
from postil.surfaces.http import workspaces as module
from postil.surfaces.http.app import HttpApp
from postil.surfaces.http.forward import MOVED, PeerGone
from postil.surfaces.http.seals import SEAL, Seals
from postil.surfaces.http.serve import hosts_for
from postil.surfaces.http.workspaces import Room, Workspaces
from postil.wire.protocol import jsonrpc
from postil.wire.server import UNITED, Face, Server
from postil.wire.transports.http.asked import Asked
from postil.wire.transports.http.body import SMALL, Budget
from postil.wire.transports.http.fair_share import FairShare
from tests.core.echo import Echo
from tests.surfaces.gateway.gateways import gateway_of

pytestmark = pytest.mark.anyio


class Served:
    """A workspace that is where the test says."""

    name = "web"
    turn = 3

    def __init__(self, *places: Any) -> None:
        self.places = [*places]
        self.closed = False

    @property
    def current(self) -> Server | None:
        return None

    def find(self) -> Any:
        place = self.places.pop(0) if len(self.places) > 1 else self.places[0]
        if isinstance(place, Exception):
            raise place
        return place

    def close(self) -> None:
        self.closed = True


def server() -> Server:
    return Server(Registry.of([("echo", Echo())]), Face("echo", "1.0.0", UNITED))


def visitor(*names: str, writes: bool = True, principal: str = "key:1") -> Visitor:
    return Visitor(Caller(principal), "t", View(False, writes), names=frozenset(names))


def rooms(*places: Any, **lists: Any) -> tuple[Room, Workspaces]:
    room = Room(Served(*places), WorkspaceSettings(**lists))
    return room, Workspaces({"web": room}, b"k" * 32, server().registry.find)


async def test_a_path_leads_to_one_workspace_or_to_none() -> None:
    room, all_of_them = rooms(server())
    assert all_of_them.find("/w/web/mcp") is room
    assert all_of_them.find("/w/web/mcp/") is room
    for path in ("/w/api/mcp", "/w/web", "/w/web/mcp/x", "/w/../mcp", "/w//mcp", "/w/web%2fmcp", "/w/WEB/mcp"):
        assert all_of_them.find(path) is None


@pytest.mark.parametrize(
    ("who", "expected"),
    [
        (visitor("alice"), View()),
        (visitor("alice", writes=False), View(writes=False)),
        (visitor("bob"), View(writes=False)),
        (visitor("carol"), None),
        (visitor(), None),
        (visitor(principal="local"), View()),
    ],
)
async def test_members_use_it_readers_read_it_and_others_see_nothing(who: Visitor, expected: View | None) -> None:
    room, _ = rooms(server(), members=("alice",), readers=("bob",))
    assert room.view_for(who) == expected


async def test_a_star_is_everybody_who_is_let_in_with_a_credential_that_opens_workspaces() -> None:
    room, _ = rooms(server(), members=("*",))
    assert room.view_for(visitor("carol")) == View()
    assert room.view_for(visitor()) is None


def asked(key: str = "") -> Asked:
    async def receive() -> Any:
        await asyncio.Event().wait()

    async def send(message: Any) -> None:
        pass

    return Asked({}, Caller(), receive, send, key=key)


def request(method: str, **params: Any) -> jsonrpc.Request:
    return jsonrpc.Request(1, method, params)


READ, WRITE = request("echo", text="x"), request("tools/call", name="set_note", arguments={})


async def serve(workspaces: Workspaces, room: Room, incoming: Any, key: str = "") -> Any:
    return await workspaces.serve(room, View(), asked(key), "POST", "/w/web/mcp", incoming)


@pytest.mark.parametrize(
    ("incoming", "key", "repeats"),
    [
        (request("tools/list"), "", True),
        (None, "", True),
        (request("git_unknown"), "", True),
        (request("add", a=1, b=2, idempotency_key="k"), "", True),
        (request("tools/call", name="x", _meta={"postil/idempotencyKey": "k"}), "", True),
        ([request("tools/list")], "", False),
    ],
)
async def test_what_may_have_reached_a_replica_that_died_is_sent_again_if_that_does_no_harm(
    incoming: Any, key: str, repeats: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries = 0

    async def die_once(*_: Any) -> None:
        nonlocal tries
        tries += 1
        if tries == 1:
            raise PeerGone(sent=True)

    monkeypatch.setattr(module, "forward", die_once)
    monkeypatch.setattr(module, "PAUSE", 0.0)
    room, workspaces = rooms(("http://other", 1))
    if repeats:
        assert await serve(workspaces, room, incoming, key) is None
        assert tries == 2
    else:
        with pytest.raises(OutcomeUnknown):
            await serve(workspaces, room, incoming, key)


async def test_a_write_without_a_key_is_called_unknown_and_one_with_a_key_is_repeated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def die(*_: Any) -> None:
        raise PeerGone(sent=True)

    monkeypatch.setattr(module, "forward", die)
    monkeypatch.setattr(module, "PAUSE", 0.0)
    here = server()
    writes = next(entry.name for entry in here.registry.operations.values() if entry.effect != "reads")
    room, workspaces = rooms(("http://other", 1), here)
    with pytest.raises(OutcomeUnknown):
        await serve(workspaces, room, request(writes))
    room, workspaces = rooms(("http://other", 1), here)
    found = await serve(workspaces, room, request(writes), key="k")
    assert found.server is here, "it has moved here meanwhile"


async def test_a_workspace_that_nobody_serves_is_waited_for_and_then_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    async def nobody(*_: Any) -> None:
        raise PeerGone(sent=False)

    monkeypatch.setattr(module, "forward", nobody)
    monkeypatch.setattr(module, "PAUSE", 0.0)
    monkeypatch.setattr(module, "PATIENCE", 0.05)
    room, workspaces = rooms(("http://other", 1))
    with pytest.raises(Unavailable, match="nothing was changed"):
        await serve(workspaces, room, READ)
    room, workspaces = rooms(StateAway("gone"))
    with pytest.raises(Unavailable, match="cannot be reached"):
        await serve(workspaces, room, READ)


async def test_what_was_handed_on_is_never_handed_on_again() -> None:
    room, workspaces = rooms(("http://other", 1))
    with pytest.raises(Refused) as refused:
        await workspaces.serve_here(room, View(), asked(), 3)
    assert (refused.value.status, refused.value.headers) == (503, [(MOVED, b"1")])


async def test_what_was_handed_on_to_an_earlier_turn_is_not_served_by_this_one() -> None:
    here = server()
    room, workspaces = rooms(here)
    assert (await workspaces.serve_here(room, View(), asked(), 3)).server is here
    with pytest.raises(Refused) as refused:
        await workspaces.serve_here(room, View(), asked(), 2)
    assert (refused.value.status, refused.value.headers) == (503, [(MOVED, b"1")])


async def test_another_turn_has_other_endpoints_and_the_end_gives_the_workspace_back() -> None:
    room, _ = rooms(server())
    first, second = server(), server()
    before = room.endpoint(first, View())
    assert room.endpoint(first, View()) is before
    after = room.endpoint(second, View())
    assert after is not before
    assert [*room.endpoints()] == [after]
    await room.close(0)
    assert room.served.closed  # type: ignore[attr-defined]


async def test_a_workspace_works_with_the_threads_of_its_process() -> None:
    room, all_of_them = rooms(server())
    app = HttpApp(server(), gateway=gateway_of(), hosts=hosts_for("127.0.0.1", (), ()), workspaces=all_of_them)
    for turn in (server(), server()):
        endpoint = room.endpoint(turn, View())
        assert endpoint.server.pool is app.server.pool
        assert endpoint.opened is app.endpoint.opened
    await room.close(0)


async def test_who_only_claims_that_a_replica_let_it_in_uses_up_nobodys_share(monkeypatch: pytest.MonkeyPatch) -> None:
    _, all_of_them = rooms(server())
    taken: list[str] = []
    held: list[str] = []
    honest = Budget.hold

    async def take(_: FairShare, caller: str) -> None:
        taken.append(caller)

    def hold(self: Budget, sender: str, *about: Any) -> AbstractContextManager[None]:
        held.append(sender)
        return honest(self, sender, *about)

    monkeypatch.setattr(FairShare, "take", take)
    monkeypatch.setattr(Budget, "hold", hold)
    app = HttpApp(server(), gateway=gateway_of(), hosts=hosts_for("127.0.0.1", (), ()), workspaces=all_of_them)
    size = SMALL + 1
    headers = {
        b"host": b"127.0.0.1",
        b"content-type": b"application/json",
        b"content-length": b"%d" % size,
        SEAL: b"1 x",
    }
    scope = {"method": "POST", "path": "/w/web/mcp", "scheme": "http", "query_string": b"", "client": ("192.0.2.7", 1)}
    answered: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": b" " * size, "more_body": False}

    async def send(message: Any) -> None:
        answered.append(message)

    await app({**scope, "headers": [*headers.items()]}, receive, send)
    assert answered[0]["status"] == 401
    assert {*taken, *held} == {"address:192.0.2.7"}


class Member:
    """A caller who may lose what a workspace's list calls it by."""

    def __init__(self) -> None:
        self.now = visitor("alice")

    async def identify(self, bearer: str, headers: Any, attempt: Any) -> Visitor:
        return self.now


@pytest.mark.parametrize("handed_on", [False, True])
async def test_a_wait_in_a_workspace_ends_with_the_membership(monkeypatch: pytest.MonkeyPatch, handed_on: bool) -> None:
    monkeypatch.setattr(right, "RECHECK", 0.01)
    member, waits, here = Member(), asyncio.Event(), server()
    room, all_of_them = rooms(here, members=("alice",))
    gateway, hosts = gateway_of(ways=[member]), hosts_for("127.0.0.1", (), ())
    app = HttpApp(server(), gateway=gateway, hosts=hosts, workspaces=all_of_them)
    body = jsonrpc.encode({"jsonrpc": "2.0", "id": 7, "method": "sleep", "params": {}})
    headers = {b"host": b"127.0.0.1", b"content-type": b"application/json", b"authorization": b"Bearer x"}
    headers[b"content-length"] = b"%d" % len(body)
    if handed_on:
        headers[SEAL] = Seals(b"k" * 32).make(3, "POST", "/w/web/mcp", headers, body)
    scope = {"method": "POST", "path": "/w/web/mcp", "scheme": "http", "query_string": b"", "client": ("192.0.2.7", 1)}
    answered: list[Any] = []

    async def receive() -> Any:
        if waits.is_set():
            await asyncio.Event().wait()
        waits.set()
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        answered.append(message)

    asking = asyncio.ensure_future(app({**scope, "headers": [*headers.items()]}, receive, send))
    async with asyncio.timeout(30):
        while not any(endpoint.calls for endpoint in room.endpoints()):  # noqa: ASYNC110 - nobody says so
            await asyncio.sleep(0)
        member.now = visitor("bob")
        await asking
    assert (answered[0]["status"], jsonrpc.find_id(answered[1]["body"])) == (401, 7)
    await room.close(0)
