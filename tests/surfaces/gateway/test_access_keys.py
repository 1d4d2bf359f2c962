"""Access keys of ours: made once, hashed at rest, revoked."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import msgspec
import pytest

from postil.core.ports import Records
from postil.storage.ephemeral import MemoryEphemeralStore
from postil.storage.failures import StateAway
from postil.storage.memory import MemoryState
from postil.surfaces.gateway import access_keys
from postil.surfaces.gateway.access_keys import AccessKeys, KeyExists, NoSuchKey
from postil.surfaces.gateway.refused import Unavailable
from postil.surfaces.gateway.signatures import Policy, Signatures, signature
from postil.surfaces.gateway.visitor import View, Visitor
from tests.surfaces.gateway.gateways import GitLabPart, call, gateway_of, serving
from tests.wire.http_client import request, running

SECRET = b"k" * 32

SIGNING = b"the shared secret of the team"


def made(state: MemoryState, name: str = "ci", **given: Any) -> str:
    given = {"workspace": False, "read_only": False, "gitlab_token": "", **given}
    return access_keys.create(state, name, secret=lambda: SECRET, **given)


def test_a_key_works_until_it_is_revoked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access_keys, "REMEMBERED", 0.0)
    state = MemoryState()
    key = made(state, gitlab_token="glpat-of-the-team")
    with serving(AccessKeys(state, lambda: SECRET)) as server:
        assert call(server, "who", key).json()["result"]["credential"] == "glpat-of-the-team"
        assert call(server, "who", key[:-1] + ("A" if key[-1] != "A" else "B")).status == 401
        brought = call(server, "who", key, PRIVATE_TOKEN="glpat-my-own").json()["result"]
        assert brought["credential"] == "glpat-my-own"
        assert call(server, "count", key).json()["error"]["code"] == -32601
        access_keys.revoke(state, "ci")
        assert call(server, "who", key).status == 401


def test_while_the_state_is_away_known_keys_go_on_and_others_are_to_try_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(access_keys, "REMEMBERED", 0.0)
    state = MemoryState()
    known, unknown = made(state, "known"), made(state, "unknown")
    with serving(AccessKeys(state, lambda: SECRET)) as server:
        assert call(server, "who", known).status == 200
        monkeypatch.setattr(state, "reading", away)
        assert [call(server, "who", key).status for key in (known, unknown)] == [200, 503]


def away() -> None:
    raise StateAway("gone")


def test_neither_the_key_nor_its_credential_is_stored_in_the_clear() -> None:
    state = MemoryState()
    key = made(state, gitlab_token="glpat-of-the-team")
    with state.reading() as records:
        stored = b"".join(value for _, value in records.range(access_keys.SPACE))
    assert key.rpartition("_")[2].encode() not in stored
    assert b"glpat" not in stored
    other = AccessKeys(state, lambda: b"x" * 32)
    with serving(other) as server:
        assert call(server, "who", key).json()["result"]["credential"] == ""


def test_a_name_is_used_once_and_an_unknown_one_is_told() -> None:
    state = MemoryState()
    made(state)
    with pytest.raises(KeyExists):
        made(state)
    with pytest.raises(NoSuchKey):
        access_keys.revoke(state, "nobody")
    assert [key.name for key in access_keys.list_keys(state)] == ["ci"]


def test_no_key_is_named_like_the_id_of_another() -> None:
    """An operator may be named by its key's id in http.operators: a key with that name would have been one, too."""
    state = MemoryState()
    made(state)
    (key,) = access_keys.list_keys(state)
    with pytest.raises(KeyExists, match="id of another"):
        made(state, name=key.id)
    assert len(access_keys.list_keys(state)) == 1


def signed(body: bytes, age: float = 0) -> dict[str, str]:
    stamp = str(int(time.time() - age))
    made = signature(SIGNING, b".".join((stamp.encode(), b"", body)))
    return {"X_MCP_Signature": made.decode(), "X_MCP_Timestamp": stamp}


@pytest.mark.parametrize("policy", ["off", "optional"])
def test_a_key_may_demand_signatures_where_the_server_does_not(policy: Policy) -> None:
    state = MemoryState()
    strict, other = made(state, "strict", must_sign=True), made(state, "other")
    guard = gateway_of(ways=[AccessKeys(state, lambda: SECRET)])
    guard.signatures = Signatures(policy, [SIGNING], MemoryEphemeralStore().first)
    body = msgspec.json.encode(request("who"))
    plain = {"X_MCP_Signature": signature(SIGNING, body).decode()}
    with running(guard, gitlab=GitLabPart()) as server:

        def status(key: str, **headers: str) -> int:
            head = {"Content_Type": "application/json", "Authorization": f"Bearer {key}", **headers}
            return server.ask("POST", "/mcp", body, **head).status

        assert status(other) == 200
        assert status(strict) == 401
        assert status(strict, **plain) == 401  # it could be replayed for ever
        assert status(strict, **signed(body, age=400)) == 401
        assert status(strict, **signed(body + b" ")) == 401
        right = signed(body)
        assert status(strict, **right) == 200
        assert status(strict, **right) == 401  # made before


def test_where_signing_is_demanded_streams_ends_and_metrics_are_signed_too() -> None:
    state = MemoryState()
    key = made(state, must_sign=True)
    guard = gateway_of(ways=[AccessKeys(state, lambda: SECRET)])
    guard.signatures = Signatures("optional", [SIGNING], MemoryEphemeralStore().first)
    bearer = {"Authorization": f"Bearer {key}"}
    with running(guard, gitlab=GitLabPart()) as server:
        params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
        body = msgspec.json.encode(request("initialize", params))
        first = server.ask("POST", "/mcp", body, Content_Type="application/json", **bearer, **signed(body))
        session = first.headers["mcp-session-id"]
        head = {**bearer, "Mcp_Session_Id": session, "Accept": "text/event-stream"}
        right = signed(f"DELETE /mcp {session}".encode())
        wrong = [
            {},
            signed(b""),  # the same for every request without a body
            signed(f"GET /mcp {session}".encode()),
            signed(b"DELETE /mcp another-session"),
            signed(f"DELETE /mcp {session}".encode(), age=400),
            {"X_MCP_Signature": signature(SIGNING, f"DELETE /mcp {session}".encode()).decode()},  # without a time
        ]
        assert [server.ask("DELETE", "/mcp", b"", **head, **given).status for given in wrong] == [401] * len(wrong)
        assert server.ask("GET", "/mcp", b"", **head).status == 401
        assert [server.ask("DELETE", "/mcp", b"", **head, **right).status for _ in range(2)] == [204, 401]
        assert server.ask("GET", "/metrics", b"", **bearer).status == 401
        assert server.ask("GET", "/metrics", b"", **bearer, **signed(b"GET /metrics ")).status == 403  # not an operator


def test_a_key_that_demands_signatures_opens_nothing_where_no_secret_is_known() -> None:
    state = MemoryState()
    key = made(state, must_sign=True)
    with serving(AccessKeys(state, lambda: SECRET)) as server:
        assert call(server, "who", key, X_MCP_Signature="sha256=00").status == 403


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def monotonic(self) -> float:
        return self.now

    def time(self) -> float:
        return self.now


async def allowed() -> None:
    return


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(access_keys, "time", clock)
    return clock


def test_a_revoked_key_is_remembered_for_five_seconds_exactly(clock: Clock) -> None:
    state = MemoryState()
    key = made(state)
    keys = AccessKeys(state, lambda: SECRET)

    def known() -> bool:
        return asyncio.run(keys.identify(key, {}, allowed)) is not None

    assert known()
    access_keys.revoke(state, "ci")
    clock.now += access_keys.REMEMBERED - 0.001
    assert known()
    clock.now += 0.001
    assert not known()


class Watched(MemoryState):
    """A state in which keys are looked up when the gate is open."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = threading.Event()
        self.gate.set()
        self.looks = 0

    @contextmanager
    def reading(self) -> Generator[Records]:
        self.looks += 1
        assert self.gate.wait(20)
        with super().reading() as records:
            yield records


def test_a_key_in_use_is_looked_up_again_beside_its_calls(clock: Clock) -> None:
    state = Watched()
    key, keys = made(state), AccessKeys(state, lambda: SECRET)

    async def visit() -> None:
        mine = asyncio.all_tasks()
        assert await keys.identify(key, {}, allowed) is not None
        before = state.looks
        state.gate.clear()
        clock.now += access_keys.REMEMBERED * 0.55
        assert await keys.identify(key, {}, allowed) is not None, "it waited for the state"
        state.gate.set()
        while asyncio.all_tasks() - mine:  # noqa: ASYNC110 - what happens in a thread sets no event here
            await asyncio.sleep(0)
        clock.now += access_keys.REMEMBERED * 0.48
        assert await keys.identify(key, {}, allowed) is not None
        assert state.looks == before + 1, "what was looked up beside them counts from then on"

    asyncio.run(asyncio.wait_for(visit(), 20))


@pytest.mark.parametrize(("share", "looks"), [(0.45, 0), (0.5, 1)])
def test_a_key_in_use_is_looked_up_again_from_half_of_its_time_on(clock: Clock, share: float, looks: int) -> None:
    state = Watched()
    key, keys = made(state), AccessKeys(state, lambda: SECRET)

    async def visit() -> None:
        mine = asyncio.all_tasks()
        assert await keys.identify(key, {}, allowed) is not None
        before = state.looks
        clock.now += access_keys.REMEMBERED * share
        assert await keys.identify(key, {}, allowed) is not None
        await asyncio.gather(*(asyncio.all_tasks() - mine))
        assert state.looks == before + looks

    asyncio.run(asyncio.wait_for(visit(), 20))


def test_a_state_that_is_away_beside_a_call_is_no_error_of_anybody(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = MemoryState()
    key, keys = made(state), AccessKeys(state, lambda: SECRET)
    heard: list[object] = []

    async def visit() -> None:
        mine = asyncio.all_tasks()
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: heard.append(context))
        assert await keys.identify(key, {}, allowed) is not None
        monkeypatch.setattr(state, "reading", away)
        clock.now += access_keys.REMEMBERED * 0.6
        assert await keys.identify(key, {}, allowed) is not None
        await asyncio.wait(asyncio.all_tasks() - mine)

    asyncio.run(asyncio.wait_for(visit(), 20))
    gc.collect()
    assert heard == [], "an exception that nobody looked at is told by the loop"


def test_many_calls_with_one_key_look_it_up_once() -> None:
    state = Watched()
    key, keys = made(state), AccessKeys(state, lambda: SECRET)
    before = state.looks

    async def visit() -> None:
        found = await asyncio.gather(*(keys.identify(key, {}, allowed) for _ in range(50)))
        assert None not in found

    asyncio.run(visit())
    assert state.looks == before + 1


def test_a_key_that_is_unknown_is_remembered_too(clock: Clock) -> None:
    state = MemoryState()
    key = made(state)
    with state.reading() as records:
        ((key_id, stored),) = records.range(access_keys.SPACE)
    access_keys.revoke(state, "ci")
    keys = AccessKeys(state, lambda: SECRET)
    assert asyncio.run(keys.identify(key, {}, allowed)) is None
    with state.writing() as changes:
        changes.put(access_keys.SPACE, key_id, stored)
    assert asyncio.run(keys.identify(key, {}, allowed)) is None
    clock.now += access_keys.REMEMBERED
    assert asyncio.run(keys.identify(key, {}, allowed)) is not None


def test_without_the_state_a_known_key_reads_for_ten_minutes(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    state = MemoryState()
    key = made(state)
    keys = AccessKeys(state, lambda: SECRET)
    assert asyncio.run(keys.identify(key, {}, allowed)) is not None
    monkeypatch.setattr(state, "reading", away)
    clock.now += access_keys.REMEMBERED + access_keys.WITHOUT_STATE - 0.001
    assert asyncio.run(keys.identify(key, {}, allowed)) is not None
    clock.now += 0.001
    with pytest.raises(Unavailable) as refused:
        asyncio.run(keys.identify(key, {}, allowed))
    assert refused.value.headers == [(b"retry-after", b"5")]


def test_what_a_key_may_is_what_it_was_made_with() -> None:
    state = MemoryState()
    keys = AccessKeys(state, lambda: SECRET)

    def found(name: str, **given: Any) -> Visitor:
        visitor = asyncio.run(keys.identify(made(state, name, **given), {}, allowed))
        assert visitor is not None
        return visitor

    assert found("plain").view == View(workspace=False, writes=True)
    assert found("team", workspace=True).view == View(workspace=True, writes=True)
    assert found("reader", read_only=True).view == View(workspace=False, writes=False)
    assert (found("signer", must_sign=True).must_sign, found("other").must_sign) == (True, False)


def test_what_is_sealed_opens_in_its_own_place_alone() -> None:
    sealed = access_keys.seal("glpat-x", "place", SECRET)
    assert access_keys.unseal(sealed, "place", SECRET) == "glpat-x"
    assert access_keys.unseal(sealed, "elsewhere", SECRET) == ""
    assert access_keys.unseal(sealed, "place", b"x" * 32) == ""
    assert sealed != access_keys.seal("glpat-x", "place", SECRET)


@pytest.mark.parametrize("name", ["", ".x", "-x", "a b", "x" * 65, "../x"])
def test_a_name_that_is_none(name: str) -> None:
    assert access_keys.NAME.fullmatch(name) is None


def test_keys_are_listed_in_the_order_of_their_making(clock: Clock) -> None:
    state = MemoryState()
    for name in ("b", "a", "c"):
        clock.now += 1
        made(state, name)
    assert [key.name for key in access_keys.list_keys(state)] == ["b", "a", "c"]


def test_a_key_of_an_older_version_may_nothing_that_it_does_not_say() -> None:
    old = msgspec.json.decode(b'{"id": "1", "name": "ci", "digest": "d", "created": 1.0}', type=access_keys.AccessKey)
    assert (old.workspace, old.read_only, old.sealed, old.must_sign) == (False, False, b"", False)


@pytest.mark.parametrize("value", [b"{", b"{}", b"\xff", b'{"id":"\xff"}'])
def test_a_damaged_key_lets_nobody_in_and_keeps_nobody_from_revoking_others(value: bytes) -> None:
    state = MemoryState()
    broken, whole = made(state, "broken"), made(state, "whole", gitlab_token="glpat-x")
    key_id = broken.split("_")[1]
    with state.writing() as changes:
        changes.put(access_keys.SPACE, key_id, value)
    with serving(AccessKeys(state, lambda: SECRET)) as server:
        assert call(server, "gitlab/whoami", broken).status == 401
    made(state, "another")
    listed = {key.name: key for key in access_keys.list_keys(state)}
    assert listed.keys() == {f"damaged-{key_id}", "whole", "another"}
    damaged = listed[f"damaged-{key_id}"]
    assert (damaged.read_only, damaged.workspace) == (True, False)
    assert access_keys.revoke(state, "whole").id == whole.split("_")[1]
    access_keys.revoke(state, f"damaged-{key_id}")
    assert [key.name for key in access_keys.list_keys(state)] == ["another"]


def test_a_credential_that_was_cut_off_is_none() -> None:
    sealed = access_keys.seal("glpat-x", "id", SECRET)
    assert [access_keys.unseal(sealed[:length], "id", SECRET) for length in (0, 5, 12, 20)] == [""] * 4


def test_a_key_with_an_end_opens_nothing_from_then_on(clock: Clock) -> None:
    state = MemoryState()
    short, endless = made(state, "short", days=1), made(state, "endless")
    keys = AccessKeys(state, lambda: SECRET)

    async def opens(key: str) -> bool:
        return await keys.identify(key, {}, allowed) is not None

    assert [asyncio.run(opens(key)) for key in (short, endless)] == [True, True]
    clock.now += 86_399
    assert asyncio.run(opens(short))
    clock.now += 1
    assert [asyncio.run(opens(key)) for key in (short, endless)] == [False, True]
