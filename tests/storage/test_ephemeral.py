"""The contract of an ephemeral store, over memory and over a real Redis with two replicas; and the bounds of memory."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

import pytest

from postil.core.ports import EphemeralStore
from postil.storage import ephemeral
from postil.storage.ephemeral import OVERHEAD, MemoryEphemeralStore
from postil.storage.redis_store.redis_ephemeral import RedisEphemeralStore
from tests.storage.entries import entry, until_admitted

Run = Callable[[Callable[[EphemeralStore, EphemeralStore], Awaitable[None]]], None]


@pytest.fixture(params=["memory", "redis"])
def replicas(request: pytest.FixtureRequest) -> Run:
    """Run a test with two who share a store: one process with itself, or two replicas."""

    def run(test: Callable[[EphemeralStore, EphemeralStore], Awaitable[None]]) -> None:
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


def test_a_window_is_one_for_all_and_the_601st_is_refused(replicas: Run) -> None:
    async def test(one: EphemeralStore, two: EphemeralStore) -> None:
        entered = [await (one, two)[n % 2].enter(entry(at_once=0)) for n in range(601)]
        assert [each.granted for each in entered] == [1] * 600 + [0]
        assert [each.remaining for each in entered] == [*reversed(range(600)), 0]
        assert 0 < entered[-1].reset - time.time() <= 60
        assert not entered[-1].busy
        taken = [(await (one, two)[n % 2].take("t", 1, 3, 60)).granted for n in range(5)]
        assert taken == [1, 1, 1, 0, 0]

    replicas(test)


def test_of_a_large_batch_as_many_are_granted_as_are_left(replicas: Run) -> None:
    async def test(one: EphemeralStore, two: EphemeralStore) -> None:
        assert (await one.enter(entry(8, limit=5, at_once=0))).granted == 5
        assert (await two.enter(entry(0, limit=5))).remaining == 0

    replicas(test)


def test_calls_at_once_are_counted_over_all_replicas_until_they_end(replicas: Run) -> None:
    async def test(one: EphemeralStore, two: EphemeralStore) -> None:
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
    async def test(one: EphemeralStore, two: EphemeralStore) -> None:
        assert (await one.enter(entry(5, at_once=3))).granted == 5
        assert (await two.enter(entry(1, at_once=3))).busy

    replicas(test)


def test_a_bound_of_zero_bounds_nothing(replicas: Run) -> None:
    async def test(one: EphemeralStore, two: EphemeralStore) -> None:
        entered = [await one.enter(entry(1, limit=0, at_once=0)) for _ in range(5)]
        assert {(each.granted, each.remaining, each.ticket) for each in entered} == {(1, 0, "")}

    replicas(test)


def test_a_name_is_new_once(replicas: Run) -> None:
    async def test(one: EphemeralStore, two: EphemeralStore) -> None:
        assert [await one.first("nonce", 60), await two.first("nonce", 60)] == [True, False]

    replicas(test)


def test_what_one_keeps_the_other_recalls_until_it_is_forgotten(replicas: Run) -> None:
    async def test(one: EphemeralStore, two: EphemeralStore) -> None:
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
        ephemeral: EphemeralStore
        if kind == "memory":
            ephemeral = MemoryEphemeralStore(most_bytes=bound)
        else:
            ephemeral = RedisEphemeralStore(request.getfixturevalue("address"), most_bytes=bound)
        for n in range(100):
            await ephemeral.keep({f"n{n}": b"v" * 5000}, 60)
        found = await ephemeral.recall(*(f"n{n}" for n in range(100)))
        assert found is not None
        kept = [value for value in found if value is not None]
        assert 15 <= len(kept) <= 20
        assert found[-1] is not None, "the newest is there"
        if isinstance(ephemeral, RedisEphemeralStore):
            await ephemeral.close()

    asyncio.run(test())


class Clock:
    """A clock that the test moves."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_a_place_is_free_again_exactly_when_its_window_ends() -> None:
    async def test() -> None:
        clock = Clock()
        store = MemoryEphemeralStore(clock)
        assert (await store.take("w", 1, 1, 60)).reset == 1060
        clock.now = 1059.9
        assert (await store.take("w", 1, 1, 60)).granted == 0
        clock.now = 1060
        assert (await store.take("w", 1, 1, 60)).granted == 1

    asyncio.run(test())


def test_a_name_and_a_kept_value_end_exactly_when_their_time_is_over() -> None:
    async def test() -> None:
        clock = Clock()
        store = MemoryEphemeralStore(clock)
        assert await store.first("nonce", 10)
        await store.keep({"a": b"x"}, 10)
        clock.now = 1009.9
        assert not await store.first("nonce", 10)
        assert await store.recall("a") == [b"x"]
        clock.now = 1010
        assert await store.first("nonce", 10)
        assert await store.recall("a") == [None]
        assert vars(store)["_size"] == 0, "it takes no room any more"

    asyncio.run(test())


def test_of_names_only_those_are_forgotten_whose_time_is_over() -> None:
    async def test() -> None:
        clock = Clock()
        store = MemoryEphemeralStore(clock)
        assert await store.first("short", 1)
        assert await store.first("long", 100)
        assert await store.first("short, behind the long one", 1)
        clock.now += 1
        assert await store.first("short", 1)
        assert not await store.first("long", 100)
        assert await store.first("short, behind the long one", 1)

    asyncio.run(test())


def test_of_kept_values_the_longest_unused_makes_room() -> None:
    async def test() -> None:
        store = MemoryEphemeralStore(most_bytes=3 * (OVERHEAD + 10))
        for name in "abc":
            await store.keep({name: b"v" * 10}, 60)
        await store.recall("a")
        await store.keep({"d": b"v" * 10}, 60)
        assert await store.recall("a", "b", "c", "d") == [b"v" * 10, None, b"v" * 10, b"v" * 10]
        await store.keep({"d": b""}, 60)  # what is replaced is not counted twice
        await store.keep({"e": b"v" * 10}, 60)
        assert (await store.recall("e")) == [b"v" * 10]

    asyncio.run(test())


def test_windows_and_names_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test() -> None:
        monkeypatch.setattr(ephemeral, "MOST_WINDOWS", 2)
        monkeypatch.setattr(ephemeral, "MOST_NAMES", 2)
        store = MemoryEphemeralStore()
        for window in ("a", "b", "a", "c"):
            await store.take(window, 1, 5, 60)
        # b was longest unused, so it began anew
        assert [(await store.take(window, 0, 5, 60)).remaining for window in ("a", "c", "b")] == [3, 4, 5]
        assert [await store.first(name, 60) for name in ("x", "y", "z", "x")] == [True, True, True, True]
        assert not await store.first("z", 60)

    asyncio.run(test())


def test_who_has_very_many_names_pushes_out_nobody_elses(monkeypatch: pytest.MonkeyPatch) -> None:
    """One signer's requests made another's signed request good for a second time."""

    async def test() -> None:
        monkeypatch.setattr(ephemeral, "MOST_NAMES", 10)
        store = MemoryEphemeralStore()
        assert await store.first("nonce:1", 60, "ann")
        for number in range(40):
            assert await store.first(f"nonce:{number}", 60, "mallory")
        assert not await store.first("nonce:1", 60, "ann")
        assert not await store.first("nonce:39", 60, "mallory")
        assert await store.first("nonce:1", 60, "mallory"), "their own were forgotten"
        assert sum(map(len, vars(store)["_names"].values())) == vars(store)["_count"] == 10

    asyncio.run(test())


def test_names_of_who_has_gone_leave_when_room_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test() -> None:
        monkeypatch.setattr(ephemeral, "MOST_NAMES", 4)
        now = [0.0]
        store = MemoryEphemeralStore(lambda: now[0])
        assert [await store.first(name, 10, "ann") for name in "abc"] == [True] * 3
        now[0] = 20.0
        assert [await store.first(name, 10, "bob") for name in "abcd"] == [True] * 4
        assert not await store.first("a", 10, "bob")
        assert list(vars(store)["_names"]) == ["bob"]

    asyncio.run(test())


def test_calls_that_ended_count_no_more_and_never_below_none() -> None:
    async def test() -> None:
        store = MemoryEphemeralStore()
        first = await store.enter(entry(2, at_once=2))
        store.leave("w", first.ticket)
        store.leave("w", first.ticket)
        assert (await store.enter(entry(2, at_once=2))).granted == 2
        assert (await store.enter(entry(1, at_once=2))).busy
        store.leave("w", "1")
        assert (await store.enter(entry(2, at_once=2))).busy, "one still runs"
        store.leave("w", "1")
        assert vars(store)["_running"] == {}, "of who has left nothing is kept"

    asyncio.run(test())
