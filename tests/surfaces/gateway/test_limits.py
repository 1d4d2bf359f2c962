"""How often one token may ask, over a real server."""

from __future__ import annotations

import asyncio
import json
import time

import pytest

from postil.storage.ephemeral import MemoryEphemeralStore
from postil.surfaces.gateway.auth import LocalToken
from postil.surfaces.gateway.signatures import signature
from tests.surfaces.gateway.gateways import RIGHT, gateway_of
from tests.wire.http_client import Running, request, running
from tests.wire.test_http_streams import until


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
    with running(gateway_of(moments=MemoryEphemeralStore(clock))) as server:
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
        moments = MemoryEphemeralStore()
        return sum([(await moments.take("w", cost, 20, 60)).granted for _ in range(100)])

    assert asyncio.run(take()) <= 20


def test_windows_and_names_are_bounded() -> None:
    async def fill() -> float:
        moments = MemoryEphemeralStore()
        begun = time.perf_counter()
        for n in range(30_000):
            await moments.take(f"w{n}", 1, 600, 60)
        return time.perf_counter() - begun

    assert asyncio.run(fill()) < 5
