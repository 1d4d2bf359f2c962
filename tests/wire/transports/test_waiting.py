"""Requests that came while too many were open."""

from __future__ import annotations

import asyncio

import pytest

from postil.wire.protocol import jsonrpc
from postil.wire.transports import waiting
from postil.wire.transports.waiting import Frame, Waiting

pytestmark = pytest.mark.anyio


def asked(request_id: int) -> jsonrpc.Incoming | list[jsonrpc.Incoming]:
    return jsonrpc.parse(b'{"jsonrpc":"2.0","id":%d,"method":"tools/call"}' % request_id)


class Refusals:
    """What was refused, and whether refusals can be written."""

    def __init__(self) -> None:
        self.ids: list[object] = []
        self.can = True
        self.came = asyncio.Event()

    def refuse(self, frame: Frame) -> None:
        assert isinstance(frame, jsonrpc.Request)
        self.ids.append(frame.id)
        self.came.set()


async def test_they_are_handed_over_in_the_order_they_came() -> None:
    kept = Waiting(Refusals().refuse, lambda: True)
    for number in range(3):
        kept.add(asked(number), 10)
    kept.give_up(1)
    assert [kept.take() for _ in range(2)] == [asked(0), asked(2)]
    assert not kept


async def test_when_nothing_moves_they_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "STALL", 0.01)
    refused = Refusals()
    kept = Waiting(refused.refuse, lambda: True)
    kept.add(asked(1), 10)
    await asyncio.wait_for(refused.came.wait(), 20)
    assert refused.ids == [1]
    assert not kept


async def test_while_nothing_moves_more_are_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "STALL", 0.01)
    refused = Refusals()
    kept = Waiting(refused.refuse, lambda: refused.can)
    kept.add(asked(1), 10)
    await asyncio.wait_for(refused.came.wait(), 20)
    kept.add(asked(2), 10)
    assert refused.ids == [1, 2]
    refused.can = False  # a client that reads nothing
    kept.add(asked(3), 10)
    refused.can = True
    kept.tell_room()
    kept.add(asked(4), 10)
    assert refused.ids == [1, 2]
    assert len(kept.frames) == 2


async def test_a_client_that_is_served_is_read_no_further_and_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 4,000 calls sent at once some hundreds were refused, though none was slow."""
    monkeypatch.setattr(waiting, "MOST_BYTES", 25)
    refused = Refusals()
    kept = Waiting(refused.refuse, lambda: True)
    for number in range(4):
        kept.add(asked(number), 10)
    assert kept.is_full
    assert [kept.take() for _ in range(4)] == [asked(number) for number in range(4)]
    assert not kept.is_full
    assert refused.ids == []


async def test_reading_stops_when_too_many_or_too_much_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "MOST", 3)
    monkeypatch.setattr(waiting, "MOST_BYTES", 100)
    for sizes in ([1, 1, 1], [50, 50]):
        kept = Waiting(Refusals().refuse, lambda: True)
        for number, size in enumerate(sizes):
            assert not kept.is_full
            kept.add(asked(number), size)
        assert kept.is_full
        kept.take()
        assert not kept.is_full
        kept.add(asked(9), sizes[0])
        assert kept.is_full
        kept.give_up(9)
        assert not kept.is_full
        kept.give_up(9)
        kept.add([jsonrpc.Request(7, "ping", {})], sizes[0])
        kept.give_up(7)
        assert kept.is_full, "a batch waits until all of it is given up"


async def test_refused_requests_leave_their_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "STALL", 0.01)
    monkeypatch.setattr(waiting, "MOST_BYTES", 20)
    refused = Refusals()
    kept = Waiting(refused.refuse, lambda: True)
    kept.add(asked(1), 20)
    await asyncio.wait_for(refused.came.wait(), 20)
    kept.tell_room()
    kept.add(asked(2), 19)
    assert refused.ids == [1], "a call has ended: there is hope again"
    assert not kept.is_full


async def test_while_refusals_cannot_be_written_nothing_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "STALL", 0.01)
    refused = Refusals()
    looked = asyncio.Event()

    def can_refuse() -> bool:
        looked.set()
        return refused.can

    refused.can = False
    kept = Waiting(refused.refuse, can_refuse)
    kept.add(asked(1), 10)
    for _ in range(2):
        await asyncio.wait_for(looked.wait(), 20)
        looked.clear()
    assert refused.ids == []
    refused.can = True
    await asyncio.wait_for(refused.came.wait(), 20)
    assert refused.ids == [1]
