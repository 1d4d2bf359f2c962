"""A balancer that asks often costs the state one look in two seconds, and hears when writes would fail."""

from __future__ import annotations

import asyncio
import threading

import pytest

from postil.storage.failures import StateAway
from postil.surfaces.http import readiness
from postil.surfaces.http.readiness import Readiness

pytestmark = pytest.mark.anyio


async def test_it_asks_once_for_all_who_ask_meanwhile() -> None:
    looks: list[int] = []
    ready = Readiness(lambda: looks.append(1))
    assert await asyncio.gather(*(ready.ask() for _ in range(20))) == [b"ready"] * 20
    assert await ready.ask() == b"ready"
    assert len(looks) == 1


async def test_a_state_that_cannot_be_written_makes_it_unready_until_it_can(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readiness, "REMEMBERED", 0.0)
    faults: list[Exception] = [StateAway("stopped")]

    def look() -> None:
        if faults:
            raise faults.pop()

    ready = Readiness(look)
    assert [await ready.ask(), await ready.ask()] == [b"unwritable", b"ready"]
    assert await Readiness(None).ask() == b"ready"


async def test_a_state_that_hangs_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readiness, "LONGEST", 0.05)
    answered = threading.Event()

    def hang() -> None:
        answered.wait(30)

    ready = Readiness(hang)
    assert await ready.ask() == b"unwritable"
    answered.set()
    monkeypatch.setattr(readiness, "LONGEST", 30.0)
    assert await ready.ask() == b"ready"
