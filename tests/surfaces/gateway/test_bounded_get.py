"""What another server says about a credential: bounded in bytes and in time."""

from __future__ import annotations

import gzip

import httpx2
import pytest

from postil.core import limits
from postil.surfaces.gateway.bounded_get import get_bounded
from tests.gitlab.instance.test_client import DRIPPING_BODY, DRIPPING_HEAD, answering, dripping

pytestmark = pytest.mark.anyio


def in_memory(status: int, content: bytes) -> httpx2.Response:
    """An answer that other tests give without a server."""
    return httpx2.Response(status, stream=httpx2.ByteStream(content))


def say(body: bytes, *headers: str) -> bytes:
    lines = ["HTTP/1.1 200 OK", f"Content-Length: {len(body)}", "Connection: close", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


async def test_an_answer_is_given_as_it_came_up_to_the_bound() -> None:
    bomb = gzip.compress(b"0" * 50_000_000)
    for body, expected in (
        (b'{"id":1}', b'{"id":1}'),
        (b"x" * limits.VERDICT, b"x" * limits.VERDICT),
        (b"x" * (limits.VERDICT + 1), b""),
        (bomb, bomb),
    ):
        async with answering(say(body, "Content-Encoding: gzip")) as (address, _), httpx2.AsyncClient() as client:
            assert await get_bounded(client, address, {"authorization": "Bearer x"}) == (200, expected)


async def test_an_answer_that_is_too_large_gives_its_connection_back() -> None:
    body = b"x" * (limits.VERDICT * 4)
    one_at_a_time = httpx2.Limits(max_connections=1)
    async with answering(say(body)) as (address, _), httpx2.AsyncClient(limits=one_at_a_time, timeout=10) as client:
        for _ in range(3):  # with one left open the next would wait for its place in vain
            assert await get_bounded(client, address) == (200, b"")


@pytest.mark.parametrize("begin", [DRIPPING_HEAD, DRIPPING_BODY])
async def test_an_answer_that_drips_without_an_end_is_given_up(begin: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("postil.surfaces.gateway.bounded_get.DEADLINE", 0.3)
    async with dripping(begin) as (address, _), httpx2.AsyncClient() as client:
        with pytest.raises(TimeoutError):
            await get_bounded(client, address)
