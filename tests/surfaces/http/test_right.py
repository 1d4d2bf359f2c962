"""The right of a request that is served for long is looked at until it is lost, whatever befalls a look."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from postil.surfaces.http import right as module
from postil.surfaces.http.right import CheckedRight

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RECHECK", 0.001)


def answer(*said: bool | Exception) -> Callable[[], Awaitable[bool]]:
    """Returns what says one thing after another, and the last one for ever."""
    left = [*said]

    async def is_good() -> bool:
        found = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(found, Exception):
            raise found
        return found

    return is_good


async def wait_for(event: asyncio.Event) -> None:
    async with asyncio.timeout(10):
        await event.wait()


async def test_a_look_that_failed_is_no_last_one() -> None:
    """Nothing that was open ended any more: neither a stream nor a task of a credential that was revoked later."""
    told: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, about: told.append(about))
    ended = asyncio.Event()
    right = CheckedRight(answer(True, OSError("the state is away"), True, False))
    right.hold(ended.set)
    await wait_for(ended)
    assert right.lost


async def test_what_one_end_raises_keeps_no_other_from_its_end() -> None:
    told: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, about: told.append(about))
    ended = asyncio.Event()
    right = CheckedRight(answer(False))

    def fail() -> None:
        raise ValueError

    right.hold(fail)
    right.hold(ended.set)
    await wait_for(ended)
    assert told


async def test_what_begins_with_a_right_that_is_lost_ends_at_once() -> None:
    right = CheckedRight(answer(False))
    first, later = asyncio.Event(), asyncio.Event()
    right.hold(first.set)
    await wait_for(first)
    right.hold(later.set)
    await wait_for(later)


async def test_what_was_let_go_is_not_ended() -> None:
    right = CheckedRight(answer(True, True, False))
    ended, held = asyncio.Event(), asyncio.Event()
    right.hold(ended.set)()
    right.hold(held.set)
    await wait_for(held)
    assert not ended.is_set()
