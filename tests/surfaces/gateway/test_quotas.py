"""How often one token may ask, over a real server."""

from __future__ import annotations

import asyncio
import json
import time
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import pytest

from postil.storage.ephemeral import MemoryEphemeralStore
from postil.storage.memory import MemoryState
from postil.surfaces.gateway import access_keys
from postil.surfaces.gateway import quotas as limits_module
from postil.surfaces.gateway.access_keys import AccessKeys
from postil.surfaces.gateway.auth import LocalToken
from postil.surfaces.gateway.quotas import TOKENS_OF_ONE, Limits, find_origin
from postil.surfaces.gateway.refused import Refused
from postil.surfaces.gateway.signatures import signature
from postil.surfaces.gateway.visitor import Visitor
from postil.wire.protocol import jsonrpc
from tests.surfaces.gateway.gateways import RIGHT, gateway_of
from tests.wire.http_client import Running, request, running, until


class Clock:
    def __init__(self) -> None:
        self.now = 1_640_995_140.0

    def __call__(self) -> float:
        return self.now


def call(server: Running, bearer: str = RIGHT) -> tuple[int, str | None]:
    answer = server.post(request("echo", {"text": "x"}), Authorization=bearer)
    return answer.status, answer.headers.get("x-ratelimit-remaining")


def test_the_601st_call_of_a_minute_is_refused_and_the_window_rolls() -> None:
    clock = Clock()
    with running(gateway_of(ephemeral=MemoryEphemeralStore(clock))) as server:
        first = server.post(request("echo", {"text": "x"}), Authorization=RIGHT)
        shown = [first.headers[f"x-ratelimit-{name}"] for name in ("limit", "remaining", "reset")]
        assert shown == ["600", "599", "1640995200"]
        clock.now += 30
        connection = server.connect()
        body = json.dumps(request("echo", {"text": "x"})).encode()
        last = first
        for _ in range(599):
            connection.ask("POST", "/mcp", body, {"Content-Type": "application/json", "Authorization": RIGHT})
            last = connection.answer()
        connection.close()
        assert (last.status, last.headers["x-ratelimit-remaining"]) == (200, "0")
        refused = server.post(request("echo", {"text": "x"}), Authorization=RIGHT)
        assert (refused.status, refused.json()["error"]["code"]) == (429, -32000)
        assert refused.json()["error"]["data"]["status"] == 429
        assert int(refused.headers["retry-after"]) >= 1
        clock.now += 30.5  # the first call leaves the window, the other 599 do not
        assert [call(server)[0] for _ in range(2)] == [200, 429]


def test_every_item_of_a_batch_costs_one_and_the_rest_are_refused_inside_it() -> None:
    with running(gateway_of(per_minute=5)) as server:
        batch = [request("echo", {"text": "x"}, n) for n in range(8)]
        answer = server.post(batch, Authorization=RIGHT)
        assert (answer.status, answer.headers["x-ratelimit-remaining"]) == (200, "0")
        codes = [one.get("error", {}).get("code") for one in answer.json()]
        assert codes == [None] * 5 + [-32000] * 3
        assert answer.json()[-1]["error"]["data"]["status"] == 429
        assert answer.json()[-1]["id"] == 7


def test_answers_to_our_questions_cost_nothing_alone_or_in_a_batch() -> None:
    answer: dict[str, object] = {"jsonrpc": "2.0", "id": "postil-1", "result": {}}
    with running(gateway_of(per_minute=3)) as server:
        server.post(answer, Authorization=RIGHT)
        batch = server.post([answer, request("echo", {"text": "x"}), answer], Authorization=RIGHT)
        assert batch.headers["x-ratelimit-remaining"] == "2"
        assert [one["id"] for one in batch.json()] == [1]
        spent = [answer, *(request("echo", {"text": "x"}, n) for n in range(3)), answer]
        codes = [one.get("error", {}).get("code") for one in server.post(spent, Authorization=RIGHT).json()]
        assert codes == [None, None, -32000]  # what is refused is a call, never an answer


def test_limits_are_kept_by_token_and_zero_turns_them_off() -> None:
    ways = [LocalToken("one"), LocalToken("two")]
    with running(gateway_of(ways=ways, per_minute=1)) as server:
        assert [call(server, "Bearer one")[0] for _ in range(2)] == [200, 429]
        assert call(server, "Bearer two")[0] == 200
    with running(gateway_of(per_minute=0, in_flight=0)) as server:
        assert [call(server) for _ in range(3)] == [(200, None)] * 3


def test_so_many_calls_of_one_token_run_at_once() -> None:
    with running(gateway_of(in_flight=2)) as server:
        body = json.dumps(request("sleep")).encode()
        headers = {"Content-Type": "application/json", "Authorization": RIGHT}
        sleepers = [server.connect() for _ in range(2)]
        for one in sleepers:
            one.ask("POST", "/mcp", body, headers)
        until(lambda: server.endpoint.calls == 2)
        refused = server.post(request("echo", {"text": "x"}), Authorization=RIGHT)
        assert (refused.status, refused.headers["retry-after"]) == (429, "1")
        sleepers[0].close()
        until(lambda: server.endpoint.calls == 1)
        assert call(server)[0] == 200
        sleepers[1].close()


def test_wrong_credentials_from_one_address_cost_no_memory_and_harm_nobody_else() -> None:
    asked: list[str] = []

    class Slow:
        async def identify(self, bearer: str, headers: object, attempt: object) -> None:
            await attempt()  # type: ignore[operator]
            asked.append(bearer)

    with running(gateway_of(ways=[LocalToken("right"), Slow()])) as server:
        statuses = [call(server, f"Bearer garbage-{n}")[0] for n in range(60)]
        assert statuses == [401] * 30 + [429] * 30
        assert len(asked) == 30  # nobody is asked about the others
        assert call(server, "Bearer right")[0] == 200


def test_many_first_calls_with_one_good_key_at_once_are_no_attempts_to_guess_it() -> None:
    """After a start all who share the key come at once: from the 31st on they were told to wait."""
    state = MemoryState()
    key = access_keys.create(state, "ci", workspace=False, read_only=False, gitlab_token="", secret=lambda: b"s" * 32)
    gateway = gateway_of(ways=[AccessKeys(state, lambda: b"s" * 32)])

    async def count(bearer: str) -> list[object]:
        calls = (gateway.admit({b"authorization": f"Bearer {bearer}".encode()}, ("203.0.113.8", 1)) for _ in range(100))
        told = await asyncio.gather(*calls, return_exceptions=True)
        return [each.status if isinstance(each, Refused) else each.__class__ for each in told]

    assert asyncio.run(count(key)) == [Visitor] * 100
    refused = asyncio.run(count(f"{key[:-4]}AAAA"))
    assert set(refused) == {401, 429}
    assert refused.count(401) <= 30, "who guesses at once is counted as before"


def test_wrong_keys_are_counted_as_wrong_tokens_are_and_only_their_own_address_waits() -> None:
    state = MemoryState()
    key = access_keys.create(state, "ci", workspace=False, read_only=False, gitlab_token="", secret=lambda: b"s" * 32)
    gateway = gateway_of(ways=[AccessKeys(state, lambda: b"s" * 32)])
    wrong = [key[:-4] + "AAAA", "garbage", f"{key}x"]
    looked: list[str] = []

    async def try_all() -> list[int]:
        statuses: list[int] = []
        for number in range(36):
            headers = {b"authorization": f"Bearer {wrong[number % 3]}".encode()}
            try:
                await gateway.admit(headers, ("203.0.113.8", 1))
            except Refused as refused:
                statuses.append(refused.status)
        right = {b"authorization": f"Bearer {key}".encode()}
        looked.append((await gateway.admit(right, ("203.0.113.9", 1))).caller.name)
        looked.append((await gateway.admit(right, ("203.0.113.8", 1))).caller.name)  # known to be good by now
        return statuses

    assert asyncio.run(try_all()) == [401] * 30 + [429] * 6
    assert looked == ["ci", "ci"]


def test_every_answer_to_a_known_token_says_what_is_left() -> None:
    with running(gateway_of(per_minute=5, secrets=[b"s" * 32])) as server:
        stamp = str(int(time.time()))
        echo = json.dumps(request("echo", {"text": "x"})).encode()
        sign = signature(b"s" * 32, f"{stamp}..".encode() + echo).decode()
        signed = {"Authorization": RIGHT, "X_MCP_Timestamp": stamp, "X_MCP_Signature": sign}
        answers = [
            server.post(echo, **signed),
            server.post(b"x" * (5 * 1024 * 1024), Authorization=RIGHT),
            server.post(echo, Authorization=RIGHT, Content_Type="text/plain"),
            server.post(echo, Authorization=RIGHT),
            server.ask("DELETE", "/mcp", Authorization=RIGHT),
        ]
        assert [answer.status for answer in answers] == [200, 413, 415, 401, 401]
        assert {answer.headers["x-ratelimit-remaining"] for answer in answers} == {"4"}


@pytest.mark.parametrize("cost", [0, 1, 7])
def test_a_window_never_grants_more_than_its_limit(cost: int) -> None:
    async def take() -> int:
        ephemeral = MemoryEphemeralStore()
        return sum([(await ephemeral.take("w", cost, 20, 60)).granted for _ in range(100)])

    assert asyncio.run(take()) <= 20


def test_windows_and_names_are_bounded() -> None:
    async def fill() -> float:
        ephemeral = MemoryEphemeralStore()
        begun = time.perf_counter()
        for n in range(30_000):
            await ephemeral.take(f"w{n}", 1, 600, 60)
        return time.perf_counter() - begun

    assert asyncio.run(fill()) < 5


# -- the exact boundaries, without a server ---------------------------------------------------------------------------


def limits(clock: Clock | None = None, **given: int) -> Limits:
    return Limits(MemoryEphemeralStore(clock or Clock()), **{"per_minute": 5, "in_flight": 0, **given})


def frame(text: str) -> jsonrpc.Incoming | list[jsonrpc.Incoming]:
    return jsonrpc.parse(text.encode())


CALL = '{"jsonrpc":"2.0","id":1,"method":"echo"}'
NOTE = '{"jsonrpc":"2.0","method":"notifications/initialized"}'
REPLY = '{"jsonrpc":"2.0","id":9,"result":{}}'
LISTEN = '{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{}}'


def left(headers: object) -> bytes:
    return dict(headers)[b"x-ratelimit-remaining"]  # type: ignore[call-overload,no-any-return]


@pytest.mark.parametrize(
    ("text", "cost"),
    [
        (CALL, 1),
        (NOTE, 1),
        (REPLY, 0),
        (f"[{CALL},{REPLY}]", 1),
        (f"[{REPLY},{REPLY}]", 0),
        (f"[{CALL},{NOTE},{REPLY},{CALL}]", 3),
        ("{}", 1),
    ],
)
def test_replies_cost_nothing_and_everything_else_costs_one(text: str, cost: int) -> None:
    incoming = frame(text)
    served, headers, _ = asyncio.run(limits().charge("t", incoming))
    assert served == incoming
    assert left(headers) == b"%d" % (5 - cost)


def test_a_stream_that_is_opened_costs_nothing() -> None:
    served, headers, ticket = asyncio.run(limits(in_flight=1).charge("t", None))
    assert (served, left(headers), ticket) == (None, b"5", "")


async def spend(spent: Limits, calls: int) -> None:
    for _ in range(calls):
        await spent.charge("t", frame(CALL))


def test_in_a_batch_that_is_cut_replies_are_served_and_notifications_left_out() -> None:
    async def cut() -> object:
        spent = limits()
        await spend(spent, 4)
        served, headers, _ = await spent.charge("t", frame(f"[{REPLY},{NOTE},{NOTE},{CALL},{REPLY},{{}}]"))
        assert left(headers) == b"0"
        assert spent.refused == 3
        return [type(item).__name__ for item in served] if isinstance(served, list) else served

    assert asyncio.run(cut()) == ["Response", "Notification", "Invalid", "Response", "Invalid"]


def test_a_refused_item_says_which_limit_and_keeps_its_id() -> None:
    async def cut() -> jsonrpc.Incoming:
        spent = limits()
        await spend(spent, 5)
        served, _, _ = await spent.charge("t", frame(f"[{CALL}]"))
        assert isinstance(served, list)
        return served[0]

    item = asyncio.run(cut())
    assert isinstance(item, jsonrpc.Invalid)
    assert (item.id, item.code) == (1, -32000)
    assert item.message == "Too Many Requests: at most 5 calls a minute"
    data: Any = item.data
    assert (data["status"], data["message"]) == (429, item.message)
    assert 0 < data["retry_after"] <= 60


def test_the_window_is_left_exactly_after_a_minute() -> None:
    async def wait(seconds: float) -> bool:
        clock = Clock()
        spent = limits(clock, per_minute=1)
        await spend(spent, 1)
        clock.now += seconds
        try:
            await spend(spent, 1)
        except Refused:
            return False
        return True

    assert [asyncio.run(wait(seconds)) for seconds in (59.999, 60.0)] == [False, True]


def test_how_long_to_wait_is_rounded_up_and_never_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()

    async def refused(after: float) -> bytes:
        spent = limits(clock, per_minute=1)
        await spend(spent, 1)
        begun = clock.now
        clock.now = begun + after
        try:
            await spend(spent, 1)
        except Refused as said:
            return dict(said.headers)[b"retry-after"]
        return b""

    monkeypatch.setattr(limits_module, "time", SimpleNamespace(time=clock))
    assert [asyncio.run(refused(after)) for after in (0, 0.5, 59.5)] == [b"60", b"60", b"1"]


def test_a_subscription_runs_beside_the_calls_at_once_but_is_charged() -> None:
    async def enter() -> tuple[bytes, str, str]:
        spent = limits(in_flight=1)
        _, _, ticket = await spent.charge("t", frame(CALL))
        _, headers, none = await spent.charge("t", frame(LISTEN))
        return left(headers), ticket, none

    assert asyncio.run(enter()) == (b"3", "1", "")


def test_at_once_are_as_many_as_the_limit_and_a_released_place_is_free() -> None:
    async def enter() -> list[bool]:
        spent = limits(per_minute=0, in_flight=2)
        tickets: list[str] = []
        begun: list[bool] = []
        for place in range(5):
            if place == 3:
                spent.release("t", tickets[0])
            try:
                tickets.append((await spent.charge("t", frame(CALL)))[2])
                begun.append(True)
            except Refused as refused:
                said.append((refused.status, refused.message, dict(refused.headers)))
                begun.append(False)
        return begun

    said: list[object] = []
    assert asyncio.run(enter()) == [True, True, False, True, False]
    assert said == [(429, "Too Many Requests: at most 2 calls of one token at once", {b"retry-after": b"1"})] * 2


def test_the_thirtieth_wrong_credential_is_the_last_that_is_tried() -> None:
    async def attempts() -> tuple[int, Refused]:
        spent = limits()
        for made in range(100):
            try:
                ticket = await spent.allow_attempt("203.0.113.9")
            except Refused as refused:
                await spent.allow_attempt("203.0.113.10")  # another address
                return made, refused
            await spent.note_failure("203.0.113.9")
            spent.end_attempt("203.0.113.9", ticket)
        raise AssertionError("never refused")

    made, refused = asyncio.run(attempts())
    assert (made, refused.status) == (30, 429)
    assert b"retry-after" in dict(refused.headers)


def test_the_tokens_of_one_user_have_a_limit_together() -> None:
    async def calls() -> tuple[int, int]:
        counted, made = limits(per_minute=10), 0
        with suppress(Refused):
            for number in range(1000):  # a new token for every call
                await counted.charge(f"token-{number}", frame(CALL), "ann")
                made += 1
        await counted.charge("other", frame(CALL), "bob")
        return made, counted.refused

    assert asyncio.run(calls()) == (10 * TOKENS_OF_ONE + 1, 1)  # of the first token nobody knew that it has sisters


def test_the_tokens_of_one_user_have_a_limit_together_over_all_replicas(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(limits_module, "time", SimpleNamespace(time=time.time, monotonic=lambda: now[0]))
    shared = MemoryEphemeralStore()
    replicas = [Limits(shared, per_minute=2, in_flight=0) for _ in range(9)]

    async def ask_all() -> int:
        granted = 0
        for number, replica in enumerate(replicas):  # each of them sees one token of the user
            with suppress(Refused):
                await replica.charge(f"token-{number}", frame(CALL), "ann")
                granted += 1
        return granted

    async def ask_twice() -> tuple[int, int]:
        first = await ask_all()
        now[0] += limits_module.ASK_AGAIN
        return first, await ask_all()

    # The first replica hears of the others a while later; eight of the first nine calls were counted.
    assert asyncio.run(ask_twice()) == (9, 2 * TOKENS_OF_ONE - 8)


def test_a_user_with_one_token_on_many_replicas_has_one() -> None:
    shared = MemoryEphemeralStore()
    replicas = [Limits(shared, per_minute=100, in_flight=0) for _ in range(3)]

    async def ask_all() -> None:
        for replica in replicas:
            await replica.charge("the only token", frame(CALL), "ann")

    asyncio.run(ask_all())
    assert asyncio.run(shared.recall("tokens:ann")) == [b"the only token"]


def test_of_so_many_users_the_one_that_came_first_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits_module, "MOST_USERS", 2)
    counted = limits()

    async def ask_all() -> list[list[str]]:
        kept: list[list[str]] = []
        for user in ("ann", "bob", "eve"):
            await counted.charge(f"token of {user}", frame(CALL), user)
            assert {*vars(counted)["_asked"]} == {*vars(counted)["_tokens"]}
            kept.append([*vars(counted)["_tokens"]])
        return kept

    assert asyncio.run(ask_all()) == [["ann"], ["ann", "bob"], ["bob", "eve"]]


def test_attempts_count_before_anybody_is_asked() -> None:
    async def flood() -> list[str]:
        spent = limits()
        tickets: list[str] = []
        with suppress(Refused):
            while len(tickets) < 100:  # none of them has an outcome yet
                tickets.append(await spent.allow_attempt("203.0.113.9"))
        with pytest.raises(Refused) as caught:
            await spent.allow_attempt("203.0.113.9")
        assert (caught.value.status, dict(caught.value.headers)) == (429, {b"retry-after": b"1"})
        spent.end_attempt("203.0.113.9", tickets.pop())
        tickets.append(await spent.allow_attempt("203.0.113.9"))  # a place that was given back is a place
        return tickets

    assert len(asyncio.run(flood())) == 30


@pytest.mark.parametrize(
    ("address", "origin"),
    [
        ("203.0.113.9", "203.0.113.9"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2:ffff::1", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("not:an:address", "not:an:address"),
        ("", ""),
    ],
)
def test_wrong_credentials_are_counted_by_what_one_sender_has(address: str, origin: str) -> None:
    assert find_origin(address) == origin


def test_both_limits_turned_off_say_nothing() -> None:
    assert asyncio.run(limits(per_minute=0).charge("t", frame(CALL)))[1:] == ([], "")
    assert asyncio.run(limits(per_minute=0, in_flight=3).charge("t", frame(CALL)))[1:] == ([], "1")
