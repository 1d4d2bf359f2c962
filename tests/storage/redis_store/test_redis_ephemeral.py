"""The ephemeral store over Redis: replicas that die, calls that last, and a Redis that is away."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import redis as redis_client

from postil.storage import outage as outages
from postil.storage.outage import LONGEST, find_outage, watch_outages
from postil.storage.redis_store import redis_ephemeral
from postil.storage.redis_store.redis_connection import PATIENCE
from postil.storage.redis_store.redis_ephemeral import PREFIX, RedisEphemeralStore
from tests.storage.entries import entry, until_admitted

NOWHERE = "unix:///nonexistent/redis.sock"


def test_the_calls_of_a_killed_replica_stop_counting_when_their_lease_ends(address: str) -> None:
    async def test() -> None:
        dead, alive = RedisEphemeralStore(address, lease=1.0), RedisEphemeralStore(address)
        await dead.enter(entry(3, at_once=3))
        await dead.close()  # as a kill: nobody says that they ended
        assert (await alive.enter(entry(1, at_once=3))).busy
        assert (await until_admitted(alive, entry(1, at_once=3))).granted == 1
        await alive.close()

    asyncio.run(test())


def test_a_call_that_lasts_longer_than_its_lease_still_counts(address: str) -> None:
    async def test() -> None:
        one, two = RedisEphemeralStore(address, lease=1.5), RedisEphemeralStore(address)
        lasting = await one.enter(entry(3, at_once=3))
        end = time.monotonic() + 3.0
        while time.monotonic() < end:
            assert (await two.enter(entry(1, at_once=3))).busy
            await asyncio.sleep(0.05)
        one.leave("w", lasting.ticket)
        await until_admitted(two, entry(1, at_once=3))
        await one.close()
        await two.close()

    asyncio.run(test())


async def until(claim: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not claim():  # noqa: ASYNC110 - nothing announces it
            await asyncio.sleep(0.005)


def test_the_lease_of_a_call_that_lasts_is_renewed(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rested: list[float] = []

    async def rest(seconds: float) -> None:
        rested.append(seconds)
        await asyncio.sleep(0.01)

    monkeypatch.setattr(
        redis_ephemeral, "asyncio", SimpleNamespace(sleep=rest, get_running_loop=asyncio.get_running_loop)
    )

    async def test() -> None:
        store = RedisEphemeralStore(address, lease=30)
        lasting = await store.enter(entry(2, at_once=3))
        with redis_client.Redis.from_url(address) as client:  # pyright: ignore[reportUnknownMemberType]

            def ends() -> list[float]:
                found: Any = client.zrange(f"{PREFIX}flight:w", 0, -1, withscores=True)  # pyright: ignore[reportUnknownMemberType]
                return [score for _, score in found]

            before = ends()
            assert len(before) == 2
            await until(lambda: min(ends()) > max(before))
            store.leave("w", lasting.ticket)
            await until(lambda: not ends() and vars(store)["_renewing"] is None)
        await store.close()

    asyncio.run(test())
    assert {*rested} == {10}


def test_the_whole_check_is_one_round_trip(address: str) -> None:
    async def test() -> None:
        ephemeral = RedisEphemeralStore(address)
        await ephemeral.enter(entry())  # connects, and teaches Redis the script
        with redis_client.Redis.from_url(address) as client:  # pyright: ignore[reportUnknownMemberType]

            def commands() -> int:
                stats = client.info("commandstats")  # pyright: ignore[reportUnknownMemberType]
                return sum(one["calls"] for name, one in stats.items() if name.startswith("cmdstat_eval"))

            before = commands()
            entered = await ephemeral.enter(entry())
            assert commands() - before == 1
            assert entered.ticket
        await ephemeral.close()

    asyncio.run(test())


def test_while_redis_is_away_limits_go_on_alone_and_nonces_are_refused() -> None:
    async def test() -> None:
        ephemeral = RedisEphemeralStore(NOWHERE)
        entered = [await ephemeral.enter(entry(limit=2, at_once=5)) for _ in range(3)]
        assert [each.granted for each in entered] == [1, 1, 0]
        ephemeral.leave("w", entered[0].ticket)
        assert [(await ephemeral.take("t", 1, 2, 60)).granted for _ in range(3)] == [1, 1, 0]
        assert await ephemeral.first("nonce", 60) is False
        assert await ephemeral.recall("a") is None
        assert await ephemeral.keep({"a": b"x"}, 60) is False
        assert ephemeral.away == 9
        assert ephemeral.counts() == {"postil_redis_unanswered_total": 9}
        await ephemeral.close()

    asyncio.run(test())


def test_while_redis_is_away_a_call_that_ended_gives_its_place_back() -> None:
    async def test() -> None:
        ephemeral = RedisEphemeralStore(NOWHERE)
        running = await ephemeral.enter(entry(at_once=1))
        assert (await ephemeral.enter(entry(at_once=1))).busy
        ephemeral.leave("w", running.ticket)
        assert not (await ephemeral.enter(entry(at_once=1))).busy
        await ephemeral.close()

    asyncio.run(test())


def test_a_name_is_taken_for_a_second_at_least(address: str) -> None:
    async def test() -> None:
        ephemeral = RedisEphemeralStore(address)
        assert await ephemeral.first("short", 0.2)
        assert not await ephemeral.first("short", 0.2)
        await ephemeral.close()

    asyncio.run(test())
    with redis_client.Redis.from_url(address) as client:  # pyright: ignore[reportUnknownMemberType]
        left = client.pttl(f"{PREFIX}name:short")
        assert left <= 1000


def test_a_redis_that_does_not_answer_is_told_of() -> None:
    told: list[str] = []
    stop = watch_outages(told.append)

    async def test() -> None:
        ephemeral = RedisEphemeralStore("unix:///nonexistent/another.sock")
        assert await ephemeral.first("nonce", 60) is False
        await ephemeral.close()

    asyncio.run(test())
    stop()
    assert [sentence for sentence in told if "does not answer" in sentence]


class Clock:
    now = 100.0

    def monotonic(self) -> float:
        return self.now


def test_an_answer_ends_the_outage_for_all_who_use_this_redis(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(outages, "time", clock)
    outage = find_outage(address)
    for _ in range(3):
        outage.note(TimeoutError())
    clock.now += LONGEST

    async def test() -> None:
        store = RedisEphemeralStore(address)
        assert (await store.enter(entry())).granted == 1
        await store.close()

    asyncio.run(test())
    outage.note(TimeoutError())
    clock.now += PATIENCE
    assert not outage.lasts, "it was answered, so the next one is short again"
