"""Bodies: bounded, read in pieces, refused early."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from postil.wire.transports.http import body as body_module
from postil.wire.transports.http.body import SMALL, Budget, TooLarge, TooMany, Watched, peek, read_body
from tests.wire.http_client import Running, request, running


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    with running() as server:
        yield server


@pytest.mark.parametrize("announced", [5 * 1024 * 1024, 100 * 1024 * 1024, 10**30])
def test_a_body_that_is_too_large_is_refused_before_it_is_read(server: Running, announced: int) -> None:
    connection = server.connect()  # it sends one byte and no more: who waits for the rest never answers
    connection.ask("POST", "/mcp", b"x", {"Content-Type": "application/json", "Content-Length": str(announced)})
    assert connection.answer().status in (400, 413)
    connection.close()


class Pieces:
    """A body that comes in pieces; after the last one nothing ever comes."""

    def __init__(self, *pieces: bytes, ends: bool = True) -> None:
        self.left, self.ends = list(pieces), ends

    async def receive(self) -> dict[str, Any]:
        if not self.left:
            await asyncio.Event().wait()
        piece = self.left.pop(0)
        return {"type": "http.request", "body": piece, "more_body": bool(self.left) or not self.ends}


@pytest.mark.parametrize(
    ("body", "more", "seen"),
    [
        (Pieces(b"ab"), True, (b"ab", True)),
        (Pieces(b"ab", b"cd"), True, (b"ab", False)),
        (Pieces(b"ab", b"cd"), False, (b"abcd", True)),
        (Pieces(b"ab", ends=False), False, (b"ab", False)),
    ],
)
def test_of_a_refused_body_its_beginning_is_seen(
    body: Pieces, more: bool, seen: tuple[bytes, bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(body_module, "PEEK", 0.2)
    headers = {b"transfer-encoding": b"chunked"} if more else {b"content-length": b"2"}
    assert asyncio.run(peek(body.receive, headers, Budget(SMALL, SMALL))) == seen


def test_where_many_refused_bodies_are_looked_into_another_is_not() -> None:
    budget, headers = Budget(SMALL, SMALL), {b"content-length": b"%d" % SMALL}
    with budget.hold("", headers, SMALL):
        assert asyncio.run(peek(Pieces(b"ab").receive, headers, budget)) == (b"", False)
    assert asyncio.run(peek(Pieces(b"ab").receive, headers, budget)) == (b"ab", True)


@pytest.mark.parametrize(
    ("announced", "taken"),
    [(b"2", True), (b"0" * 14 + b"2", True), (b"0" * 15 + b"2", False), (b"+2", False), (b"11", False), (b"10", True)],
)
def test_a_length_that_is_announced_is_a_short_number_within_the_bound(announced: bytes, taken: bool) -> None:
    reading = read_body(Pieces(b"ab").receive, {b"content-length": announced}, 10)
    if taken:
        assert asyncio.run(reading) == b"ab"
        return
    with pytest.raises(TooLarge) as refused:
        asyncio.run(reading)
    assert not refused.value.begun


@pytest.mark.parametrize(
    ("pieces", "taken"),
    [((b"ab",), True), ((b"abcd",), True), ((b"abcde",), False), ((b"ab", b"cd"), True), ((b"abcd", b"e"), False)],
)
def test_a_body_without_a_length_is_counted_while_it_comes(pieces: tuple[bytes, ...], taken: bool) -> None:
    reading = read_body(Pieces(*pieces).receive, {}, 4)
    if taken:
        assert asyncio.run(reading) == b"".join(pieces)
        return
    with pytest.raises(TooLarge) as refused:
        asyncio.run(reading)
    assert refused.value.begun


def test_a_body_has_ended_with_its_last_piece_or_with_its_client() -> None:
    last, piece = {"type": "http.request"}, {"type": "http.request", "more_body": True}

    async def follow(*messages: dict[str, Any]) -> list[bool]:
        coming = [*messages]

        async def receive() -> dict[str, Any]:
            return coming.pop(0)

        watched, ended = Watched(receive), list[bool]()
        while coming:
            assert await watched() in messages
            ended.append(watched.has_ended)
        return ended

    assert asyncio.run(follow(piece, piece, last)) == [False, False, True]
    assert asyncio.run(follow(piece, {"type": "http.disconnect"})) == [False, True]


def test_a_client_that_sends_it_all_still_reads_the_refusal(server: Running) -> None:
    connection = server.connect()
    body = b"x" * (20 * 1024 * 1024)
    connection.ask("POST", "/mcp", body, {"Content-Type": "application/json"})
    answer = connection.answer()
    assert (answer.status, answer.json()["error"]["data"]["status"]) == (413, 413)
    connection.close()


def test_chunks_that_add_up_to_too_much_are_refused(server: Running) -> None:
    connection = server.connect()
    head = (
        "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    connection.send(head.encode())
    chunk = b"10000\r\n" + b"x" * 65536 + b"\r\n"
    for _ in range(65):
        connection.send(chunk)
    assert connection.answer().status == 413
    connection.close()


def test_a_body_in_small_pieces_is_read(server: Running) -> None:
    connection = server.connect()
    body = json.dumps(request("echo", {"text": "slow"})).encode()
    connection.ask("POST", "/mcp", b"", {"Content-Type": "application/json", "Content-Length": str(len(body))})
    for byte in body:
        connection.send(bytes([byte]))
    assert connection.answer().json()["result"]["text"] == "slow"
    connection.close()


def test_a_body_of_almost_four_mebibytes_is_served(server: Running) -> None:
    text = "x" * (4 * 1024 * 1024 - 200)
    assert server.post(request("echo", {"text": text})).json()["result"]["text"] == text


def test_senders_that_fill_the_budget_do_not_shut_out_others() -> None:
    """Three addresses that each announced much and sent nothing held everybody's."""
    budget = Budget(120, 40, little=5)
    with ExitStack() as held:
        for sender in ("a", "b", "c"):
            held.enter_context(budget.hold(sender, {b"content-length": b"40"}, 60))
        with pytest.raises(TooMany), budget.hold("d", {b"content-length": b"6"}, 60):
            pass
        with pytest.raises(TooMany), budget.hold("a", {b"content-length": b"1"}, 60):
            pass
        for number in range(6):
            held.enter_context(budget.hold(f"good {number}", {b"content-length": b"5"}, 60))
        with pytest.raises(TooMany), budget.hold("e", {b"content-length": b"5"}, 60):
            pass


def test_a_budget_is_shared_and_each_sender_has_a_part_of_it() -> None:
    budget = Budget(100, 60, little=0)
    with budget.hold("a", {b"content-length": b"50"}, 60):
        with pytest.raises(TooMany), budget.hold("a", {b"content-length": b"11"}, 60):
            pass
        with pytest.raises(TooMany), budget.hold("b", {}, 60):  # not announced: as much as is taken
            pass
        with budget.hold("b", {b"content-length": b"50"}, 60):
            pass
    with budget.hold("a", {b"content-length": b"999"}, 60):  # refused later for its size, and counted as the largest
        pass
    assert budget._held == {}  # pyright: ignore[reportPrivateUsage] # memory is what this is about
