"""What is shared for a moment: one contract over memory and over a real Redis with two replicas."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator

import pytest
import redis as redis_client

from postil.core.ports import Entered, Entry, Moments
from postil.storage.ephemeral import MemoryEphemeralStore
from postil.storage.redis_ephemeral import RedisEphemeralStore
from tests.storage.redis_server import RedisServer, redis_server

Run = Callable[[Callable[[Moments, Moments], Awaitable[None]]], None]
NOWHERE = "unix:///nonexistent/redis.sock"


@pytest.fixture(scope="module")
def server() -> Iterator[RedisServer]:
    with redis_server() as server:
        yield server


@pytest.fixture
def address(server: RedisServer) -> str:
    server.clear()
    return server.address


@pytest.fixture(params=["memory", "redis"])
def replicas(request: pytest.FixtureRequest) -> Run:
    """Run a test with two who share their moments: one process with itself, or two replicas."""

    def run(test: Callable[[Moments, Moments], Awaitable[None]]) -> None:
        async def main() -> None:
            if request.param == "memory":
                alone = MemoryEphemeralStore()
                await test(alone, alone)
                return
            address: str = request.getfixturevalue("address")
            one, two = RedisEphemeralStore(address), RedisEphemeralStore(address)
            try:
                await test(one, two)
            finally:
                await one.close()
                await two.close()

        asyncio.run(main())

    return run


def entry(cost: int = 1, *, limit: int = 600, at_once: int = 100, who: str = "w") -> Entry:
    return Entry(who, cost, limit, 60.0, at_once)


async def until_admitted(moments: Moments, wanted: Entry) -> Entered:
    """Landing is told at the next turn: wait for it, bounded."""
    end = time.monotonic() + 5
    while True:
        entered = await moments.enter(wanted)
        if not entered.busy:
            return entered
        assert time.monotonic() < end
        await asyncio.sleep(0.01)


def test_a_window_is_one_for_all_and_the_601st_is_refused(replicas: Run) -> None:
    async def test(one: Moments, two: Moments) -> None:
        entered = [await (one, two)[n % 2].enter(entry(at_once=0)) for n in range(601)]
        assert [each.granted for each in entered] == [1] * 600 + [0]
        assert [each.remaining for each in entered] == [*reversed(range(600)), 0]
        assert 0 < entered[-1].reset - time.time() <= 60
        assert not entered[-1].busy
        taken = [(await (one, two)[n % 2].take("t", 1, 3, 60)).granted for n in range(5)]
        assert taken == [1, 1, 1, 0, 0]

    replicas(test)


def test_of_a_large_batch_as_many_are_granted_as_are_left(replicas: Run) -> None:
    async def test(one: Moments, two: Moments) -> None:
        assert (await one.enter(entry(8, limit=5, at_once=0))).granted == 5
        assert (await two.enter(entry(0, limit=5))).remaining == 0

    replicas(test)


def test_calls_at_once_are_counted_over_all_replicas_until_they_end(replicas: Run) -> None:
    async def test(one: Moments, two: Moments) -> None:
        first = await one.enter(entry(2, at_once=3))
        second = await two.enter(entry(1, at_once=3))
        refused = await one.enter(entry(1, at_once=3))
        assert [bool(each.ticket) for each in (first, second, refused)] == [True, True, False]
        assert (refused.busy, refused.granted) == (True, 0)
        assert refused.remaining == 597, "who is refused for this reason is not charged"
        assert not (await one.enter(entry(1, at_once=3, who="another"))).busy
        two.leave("w", second.ticket)
        third = await until_admitted(one, entry(1, at_once=3))
        one.leave("w", first.ticket)
        one.leave("w", third.ticket)
        assert (await one.enter(entry(3, at_once=3))).granted == 3, "what ended here counts no more, at once"

    replicas(test)


def test_a_batch_larger_than_the_bound_may_run_alone(replicas: Run) -> None:
    async def test(one: Moments, two: Moments) -> None:
        assert (await one.enter(entry(5, at_once=3))).granted == 5
        assert (await two.enter(entry(1, at_once=3))).busy

    replicas(test)


def test_a_bound_of_zero_bounds_nothing(replicas: Run) -> None:
    async def test(one: Moments, two: Moments) -> None:
        entered = [await one.enter(entry(1, limit=0, at_once=0)) for _ in range(5)]
        assert {(each.granted, each.ticket) for each in entered} == {(1, "")}

    replicas(test)


def test_a_name_is_new_once(replicas: Run) -> None:
    async def test(one: Moments, two: Moments) -> None:
        assert [await one.first("nonce", 60), await two.first("nonce", 60)] == [True, False]

    replicas(test)


def test_what_one_keeps_the_other_recalls_until_it_is_forgotten(replicas: Run) -> None:
    async def test(one: Moments, two: Moments) -> None:
        assert await one.keep({"a": b"x", "b": b"y"}, 60)
        assert await two.recall("a", "none", "b") == [b"x", None, b"y"]
        await two.forget("a")
        assert await one.recall("a", "b") == [None, b"y"]
        await one.keep({"short": b"z"}, 0.02)
        await asyncio.sleep(0.05)  # the time itself is what is tested
        assert await two.recall("short") == [None]

    replicas(test)


@pytest.mark.parametrize("kind", ["memory", "redis"])
def test_what_is_kept_is_bounded_in_bytes(kind: str, request: pytest.FixtureRequest) -> None:
    async def test() -> None:
        bound = 100_000
        moments: Moments
        if kind == "memory":
            moments = MemoryEphemeralStore(most_bytes=bound)
        else:
            moments = RedisEphemeralStore(request.getfixturevalue("address"), most_bytes=bound)
        for n in range(100):
            await moments.keep({f"n{n}": b"v" * 5000}, 60)
        found = await moments.recall(*(f"n{n}" for n in range(100)))
        assert found is not None
        kept = [value for value in found if value is not None]
        assert 15 <= len(kept) <= 20
        assert found[-1] is not None, "the newest is there"
        if isinstance(moments, RedisEphemeralStore):
            await moments.close()

    asyncio.run(test())


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


def test_the_whole_check_is_one_round_trip(address: str) -> None:
    async def test() -> None:
        moments = RedisEphemeralStore(address)
        await moments.enter(entry())  # connects, and teaches Redis the script
        with redis_client.Redis.from_url(address) as client:  # pyright: ignore[reportUnknownMemberType]

            def commands() -> int:
                stats = client.info("commandstats")  # pyright: ignore[reportUnknownMemberType]
                return sum(one["calls"] for name, one in stats.items() if name.startswith("cmdstat_eval"))  # type: ignore[union-attr]

            before = commands()
            entered = await moments.enter(entry())
            assert commands() - before == 1
            assert entered.ticket
        await moments.close()

    asyncio.run(test())


def test_while_redis_is_away_limits_go_on_alone_and_nonces_are_refused() -> None:
    async def test() -> None:
        moments = RedisEphemeralStore(NOWHERE)
        entered = [await moments.enter(entry(limit=2, at_once=5)) for _ in range(3)]
        assert [each.granted for each in entered] == [1, 1, 0]
        moments.leave("w", entered[0].ticket)
        assert [(await moments.take("t", 1, 2, 60)).granted for _ in range(3)] == [1, 1, 0]
        assert await moments.first("nonce", 60) is False
        assert await moments.recall("a") is None
        assert await moments.keep({"a": b"x"}, 60) is False
        assert moments.away == 9
        await moments.close()

    asyncio.run(test())
