"""Answers that a client does not read: sent in pieces, bounded of one caller and of all."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from postil.wire.transports.http import unread as module
from postil.wire.transports.http.asked import Send, respond
from postil.wire.transports.http.body import ClientLeft
from postil.wire.transports.http.unread import PIECE, Unread

LARGE = b'{"jsonrpc":"2.0","id":7,"result":"' + b"x" * (3 * PIECE) + b'"}'


class Client:
    """One connection: takes so many messages, and then none until it reads."""

    def __init__(self, takes: int = 1000) -> None:
        self.got: list[dict[str, Any]] = []
        self._room = asyncio.Semaphore(takes)

    async def send(self, message: Any) -> None:
        await self._room.acquire()
        self.got.append(message)

    def read(self) -> None:
        for _ in range(100):
            self._room.release()

    @property
    def status(self) -> int:
        return self.got[0]["status"]

    @property
    def body(self) -> bytes:
        return b"".join(message.get("body", b"") for message in self.got)


def begin(client: Client, unread: Unread, caller: str, body: bytes = LARGE) -> asyncio.Task[None]:
    send: Send = unread.wrap(client.send, caller)
    return asyncio.ensure_future(respond(send, 200, body))


def test_an_answer_is_sent_whole_whatever_its_size() -> None:
    async def run() -> None:
        for body in (b"", b"{}", b"x" * PIECE, b"x" * (PIECE + 1), LARGE):
            client = Client()
            await begin(client, Unread(1, 1), "ann", body)
            assert (client.status, client.body) == (200, body)
            assert max(len(message.get("body", b"")) for message in client.got) <= PIECE
            assert [message.get("more_body") for message in client.got[1:]][-1] is False

    asyncio.run(run())


@pytest.mark.parametrize(("total", "of_one", "other"), [(10 * len(LARGE), len(LARGE), 200), (len(LARGE), 99, 503)])
def test_who_reads_nothing_gets_nothing_more(total: int, of_one: int, other: int) -> None:
    async def run() -> None:
        unread = Unread(total, of_one)
        slow, second, small, bob, third = Client(takes=2), Client(), Client(), Client(), Client()
        first = begin(slow, unread, "ann")
        await asyncio.sleep(0)
        await begin(second, unread, "ann")
        assert (second.status, json.loads(second.body)["id"]) == (503, 7)
        await begin(small, unread, "ann", b"{}")
        assert small.status == 200
        await begin(bob, unread, "bob")
        assert bob.status == other
        slow.read()
        await first
        assert slow.body == LARGE
        await begin(third, unread, "ann")
        assert third.status == 200

    asyncio.run(run())


def test_answers_that_nobody_reads_make_room_for_who_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        unread = Unread(3 * len(LARGE), 2 * len(LARGE))
        greedy = [begin(Client(takes=2), unread, "ann") for _ in range(2)]
        other = begin(Client(takes=2), unread, "eve")
        await asyncio.sleep(0)
        early, late, third = Client(), Client(), Client()
        await begin(early, unread, "bob")
        assert early.status == 503, "they may still read"
        monkeypatch.setattr(module, "STALLED", 0.0)
        await begin(late, unread, "bob")
        assert (late.status, late.body) == (200, LARGE)
        ended, _ = await asyncio.wait([*greedy, other], timeout=5, return_when=asyncio.FIRST_COMPLETED)
        (first,) = ended
        assert isinstance(first.exception(), ClientLeft)
        assert first in greedy, "of who holds the most"
        await begin(third, unread, "bob")
        assert third.status == 200, "one was enough for both"
        assert sum(task.done() for task in (*greedy, other)) == 1
        for task in (*greedy, other):
            task.cancel()

    asyncio.run(run())


def test_what_a_client_leaves_unread_is_not_counted_for_ever() -> None:
    async def run() -> None:
        unread = Unread(len(LARGE), len(LARGE))
        first = begin(Client(takes=2), unread, "ann")
        await asyncio.sleep(0)
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        again = Client()
        await begin(again, unread, "ann")
        assert again.status == 200

    asyncio.run(run())


def test_a_stream_that_would_go_beyond_ends() -> None:
    async def run() -> None:
        unread = Unread(10 * len(LARGE), len(LARGE))
        first = begin(Client(takes=2), unread, "ann")
        await asyncio.sleep(0)
        stream = Client()
        send = unread.wrap(stream.send, "ann")
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"data: 1", "more_body": True})
        with pytest.raises(ClientLeft):
            await send({"type": "http.response.body", "body": LARGE, "more_body": False})
        assert stream.body == b"data: 1"
        first.cancel()

    asyncio.run(run())
