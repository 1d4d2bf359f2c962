"""A caller with many requests at once waits for turns; who is alone, or calls now and then, does not."""

from __future__ import annotations

import asyncio

import pytest

from postil.wire.runtime.pool import RECENT
from postil.wire.transports.http import fair_share
from postil.wire.transports.http.fair_share import SAVED, FairShare, TooManyWait

pytestmark = pytest.mark.anyio


class Clock:
    """A clock that goes on when it is told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


async def let_all_run() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def test_who_is_alone_never_waits() -> None:
    waiting = FairShare(Clock())
    for _ in range(10 * SAVED):
        await waiting.take("one")


async def test_while_others_call_a_caller_has_its_turns_and_no_more() -> None:
    clock = Clock()
    waiting = FairShare(clock)
    await waiting.take("good")
    many = [asyncio.ensure_future(waiting.take("hostile")) for _ in range(SAVED + 5)]
    await let_all_run()
    assert [each.done() for each in many] == [True] * SAVED + [False] * 5
    await waiting.take("good")  # others do not stand behind them
    clock.now += 2 / fair_share.A_SECOND
    async with asyncio.timeout(30):
        await many[SAVED + 1]
    assert [each.done() for each in many[SAVED:]] == [True, True, False, False, False]
    clock.now += 1
    async with asyncio.timeout(30):
        await asyncio.gather(*many)


async def test_a_later_request_does_not_pass_those_that_wait() -> None:
    clock = Clock()
    waiting = FairShare(clock)
    await waiting.take("good")
    order: list[int] = []

    async def come(number: int) -> None:
        await waiting.take("hostile")
        order.append(number)

    first = [asyncio.ensure_future(come(number)) for number in range(SAVED + 2)]
    await let_all_run()
    clock.now += 1  # time enough for all, but those that wait come before
    last = asyncio.ensure_future(come(99))
    async with asyncio.timeout(30):
        await asyncio.gather(*first, last)
    assert order == [*range(SAVED + 2), 99]


async def test_who_gives_up_takes_no_turn_from_the_others() -> None:
    clock = Clock()
    waiting = FairShare(clock)
    await waiting.take("good")
    for _ in range(SAVED):
        await waiting.take("hostile")
    gone, stays = (asyncio.ensure_future(waiting.take("hostile")) for _ in range(2))
    await let_all_run()
    gone.cancel()
    clock.now += 1 / fair_share.A_SECOND
    async with asyncio.timeout(30):
        await stays
    assert gone.cancelled()


async def test_after_a_minute_without_the_others_a_caller_is_alone_again() -> None:
    clock = Clock()
    waiting = FairShare(clock)
    await waiting.take("good")
    clock.now += RECENT + 1
    for _ in range(3 * SAVED):
        await waiting.take("one")


async def test_callers_are_forgotten_when_there_are_very_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fair_share, "MOST_CALLERS", 3)
    clock = Clock()
    waiting = FairShare(clock)
    await waiting.take("good")
    many = [asyncio.ensure_future(waiting.take("hostile")) for _ in range(SAVED + 1)]
    await let_all_run()
    for number in range(10):
        await waiting.take(f"other {number}")
        assert len(vars(waiting)["_lines"]) <= 3
    clock.now += 1
    async with asyncio.timeout(30):
        await asyncio.gather(*many)  # who waits is not forgotten


async def test_so_many_of_one_caller_wait_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests whose clients had gone waited all the same: 60 000 of them in 40 seconds took 600 MB."""
    monkeypatch.setattr(fair_share, "MOST_WAITING", 3)
    clock = Clock()
    waiting = FairShare(clock)
    await waiting.take("good")
    many = [asyncio.ensure_future(waiting.take("hostile")) for _ in range(SAVED + 3)]
    await let_all_run()
    with pytest.raises(TooManyWait):
        await waiting.take("hostile")
    await waiting.take("good")
    clock.now += 1
    async with asyncio.timeout(30):
        await asyncio.gather(*many)
    await waiting.take("hostile")
