"""What is handed on to another replica: sealed, whole, and given up when that one is gone."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from postil.core.call import Caller
from postil.surfaces.http import forward as forwarding
from postil.surfaces.http.forward import PeerGone, forward
from postil.wire.transports.http.asked import Asked

pytestmark = pytest.mark.anyio
SEALED = b"1 2 3 4"
HEADERS = {b"authorization": b"Bearer x", b"content-type": b"application/json", b"origin": b"http://evil"}
Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class Client:
    """What the one who asked gets."""

    def __init__(self) -> None:
        self.status, self.body, self.headers = 0, b"", dict[bytes, bytes]()
        self.has_left = asyncio.Event()

    async def send(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            self.status, self.headers = message["status"], dict(message["headers"])
        else:
            self.body += message["body"]

    async def receive(self) -> Any:
        await self.has_left.wait()
        return {"type": "http.disconnect"}


async def ask(serve: Serve, client: Client, *, still: bool = True) -> None:
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"

    async def serves_still() -> bool:
        return still

    asked = Asked(HEADERS, Caller(), client.receive, client.send, body=b"body", carried=[(b"x-left", b"5")])
    try:
        await forward(address, SEALED, "POST", "/w/a/mcp", asked, serves_still)
    finally:
        server.close()


def answering(*pieces: bytes, seen: list[bytes] | None = None) -> Serve:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        if seen is not None:
            seen.extend([head, await reader.readexactly(4)])
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
        writer.close()

    return serve


async def test_the_answer_comes_back_as_it_was_with_the_limits_of_who_asked() -> None:
    client, seen = Client(), list[bytes]()
    said = b"HTTP/1.1 202 Fine\r\nContent-Type: a/b\r\nConnection: close\r\nContent-Length: 5\r\n\r\n"
    await ask(answering(said, b"he", b"llo", seen=seen), client)
    assert (client.status, client.body) == (202, b"hello")
    assert client.headers == {b"content-type": b"a/b", b"content-length": b"5", b"x-left": b"5"}
    assert b"origin" not in seen[0]
    assert seen[1] == b"body"


async def test_a_stream_is_handed_on_piece_by_piece() -> None:
    client = Client()
    said = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    await ask(answering(said, b"3\r\none\r\n", b"3;x=y\r\ntwo\r\n", b"0\r\n\r\n"), client)
    assert client.body == b"onetwo"


@pytest.mark.parametrize(
    ("pieces", "sent", "started"),
    [
        ((), True, False),
        ((b"HTTP/1.1 200 OK\r\n",), True, False),
        ((b"nonsense\r\n\r\n",), True, False),
        ((b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf",), True, True),
        ((b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nha",), True, True),
        ((b"HTTP/1.1 503 No\r\nX-Postil-Moved: 1\r\nContent-Length: 0\r\n\r\n",), False, False),
    ],
)
async def test_an_answer_that_breaks_off_is_told_apart_from_none(
    pieces: tuple[bytes, ...], sent: bool, started: bool
) -> None:
    with pytest.raises(PeerGone) as gone:
        await ask(answering(*pieces), Client())
    assert (gone.value.sent, gone.value.started) == (sent, started)


@pytest.mark.parametrize(
    "said",
    [
        b"Content-Length: -1\r\n\r\n",
        b"Content-Length: +9\r\n\r\n",
        b"Content-Length: 1_0\r\n\r\n",
        b"Transfer-Encoding: chunked\r\n\r\n-1\r\n",
        b"Transfer-Encoding: chunked\r\n\r\n\r\n",
    ],
)
async def test_of_less_than_nothing_nothing_is_read(said: bytes) -> None:
    """To a reader less than nothing means everything: it would be held until the other end stops."""
    client = Client()
    with pytest.raises(PeerGone):
        await ask(answering(b"HTTP/1.1 200 OK\r\n" + said, b"x" * 1_000_000), client)
    assert len(client.body) == 0


@pytest.mark.parametrize(
    "status", [b"100", b"101", b"0", b"99", b"600", b"-10", b"2 0", b"301", b"302", b"307", b"304"]
)
async def test_a_status_that_ends_no_request_or_leads_elsewhere_is_no_answer(status: bytes) -> None:
    client = Client()
    with pytest.raises(PeerGone) as gone:
        await ask(answering(b"HTTP/1.1 " + status + b" Odd\r\nContent-Length: 0\r\n\r\n"), client)
    assert (client.status, gone.value.started) == (0, False)


@pytest.mark.parametrize(
    "said",
    [
        b"Content-Length: 5\r\nContent-Length: 4\r\n",
        b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
        b"Transfer-Encoding: gzip\r\n",
        b"Content-Length: 5\r\nX-Odd: a\nSet-Cookie: b=c\r\n",
        b"Content-Length: 5\r\nContent-Type: a\rb\r\n",
        b"Content-Length: 5\r\nContent-Type: a\0b\r\n",
        b"Content-Length: " + b"9" * 5000 + b"\r\n",
    ],
)
async def test_an_answer_that_contradicts_itself_or_hides_another_is_none(said: bytes) -> None:
    client = Client()
    with pytest.raises(PeerGone) as gone:
        await ask(answering(b"HTTP/1.1 200 OK\r\n" + said + b"\r\n", b"hello"), client)
    assert (client.status, client.body, gone.value.started) == (0, b"", False)


async def test_who_listens_there_sets_nothing_in_the_browser_of_who_asked() -> None:
    client = Client()
    odd = b"Set-Cookie: a=b\r\nLocation: http://evil\r\nAccess-Control-Allow-Origin: *\r\nX-Request-Id: 1\r\n"
    said = b"HTTP/1.1 200 OK\r\nContent-Type: a/b\r\nMcp-Session-Id: s\r\n" + odd + b"Content-Length: 2\r\n\r\n"
    await ask(answering(said, b"{}HTTP/1.1 200 OK\r\n\r\nmore than it said"), client)
    kept = {b"content-type": b"a/b", b"mcp-session-id": b"s", b"content-length": b"2", b"x-left": b"5"}
    assert (client.headers, client.body) == (kept, b"{}")


async def test_nobody_there_is_known_to_have_done_nothing() -> None:
    async def serves_still() -> bool:
        return True

    client = Client()
    asked = Asked(HEADERS, Caller(), client.receive, client.send)
    with pytest.raises(PeerGone) as gone:
        await forward("http://127.0.0.1:1", SEALED, "POST", "/w/a/mcp", asked, serves_still)
    assert not gone.value.sent


async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read()
    writer.close()


async def test_one_that_hangs_is_given_up_when_it_serves_the_workspace_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forwarding, "LOOK_EVERY", 0.01)
    with pytest.raises(PeerGone) as gone:
        await ask(hang, Client(), still=False)
    assert gone.value.sent


async def test_a_client_that_leaves_ends_it() -> None:
    client = Client()
    client.has_left.set()
    await ask(hang, client)
    assert client.status == 0
