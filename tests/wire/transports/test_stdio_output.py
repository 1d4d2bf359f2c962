"""Frames are written in order and never block; whether they were read is known."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator

import pytest

from postil.wire.transports.stdio_output import MOST_UNWRITTEN, Output

pytestmark = pytest.mark.anyio

PATIENCE = 20


class Client:
    """The other end of a pipe, which reads when it is told to."""

    def __init__(self) -> None:
        self.source, self.sink = os.pipe()
        os.set_blocking(self.source, False)
        self.happened: list[str] = []

    def output(self) -> Output:
        return Output(self.sink, lambda: self.happened.append("room"), lambda: self.happened.append("broke"))

    def read(self) -> bytes:
        pieces: list[bytes] = []
        try:
            while piece := os.read(self.source, 1 << 16):
                pieces.append(piece)
        except BlockingIOError:
            pass
        return b"".join(pieces)

    async def read_all(self, size: int) -> bytes:
        data = b""
        async with asyncio.timeout(PATIENCE):
            while len(data) < size:
                data += self.read()
                await asyncio.sleep(0)
        return data

    def close(self) -> None:
        if self.source >= 0:
            os.close(self.source)
        self.source = -1


@pytest.fixture
def client() -> Iterator[Client]:
    client = Client()
    yield client
    client.close()
    os.close(client.sink)


async def turn(claim: Callable[[], object]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not claim():  # noqa: ASYNC110 - nothing announces it
            await asyncio.sleep(0)


async def test_frames_are_lines_in_their_order(client: Client) -> None:
    output = client.output()
    for frame in (b"one", b"two", b"three"):
        output.write(frame)
    assert await client.read_all(14) == b"one\ntwo\nthree\n"
    assert output.is_read()


async def test_what_a_client_does_not_read_is_held_and_told_when_it_is_too_much(client: Client) -> None:
    output = client.output()
    frame = b"x" * (MOST_UNWRITTEN // 2 - 1)
    output.write(frame)
    output.write(frame)
    assert not output.is_full, "just as much as may be unwritten"
    output.write(b"")
    assert output.is_full
    await turn(lambda: not output.is_full)  # the pipe has taken some
    assert client.happened == ["room"]
    assert not output.is_read()
    output.write(frame)
    assert output.is_full
    data = await client.read_all(3 * len(frame) + 4)
    assert data == b"\n".join([frame, frame, b"", frame, b""])
    assert not output.is_full
    assert client.happened == ["room", "room"]


async def test_a_client_that_is_gone_is_noticed_by_the_next_frame(client: Client) -> None:
    output = client.output()
    client.close()
    output.write(b"one")
    await turn(lambda: client.happened)
    assert output.is_broken
    output.write(b"two")
    await asyncio.sleep(0)
    assert client.happened == ["broke"], "it is told once"
    assert await output.was_read(0.0) is False


async def test_a_client_that_is_gone_is_noticed_by_a_look(client: Client) -> None:
    output = client.output()
    output.look()
    assert client.happened == []
    assert not output.is_broken
    client.close()
    output.look()
    assert client.happened == ["broke"]
    assert output.is_broken


async def test_an_answer_was_read_when_no_byte_is_left_in_the_pipe(client: Client) -> None:
    loop = asyncio.get_running_loop()
    output = client.output()
    output.write(b"one")
    await output.drain(loop.time() + PATIENCE)
    assert not output.is_read()
    assert await output.was_read(loop.time() - 1) is False
    asked = asyncio.ensure_future(output.was_read(loop.time() + PATIENCE))
    await asyncio.sleep(0)
    assert not asked.done()
    assert client.read() == b"one\n"
    assert await asked is True
    assert output.is_read()


async def test_an_answer_in_the_pipe_of_a_dead_client_was_not_read(client: Client) -> None:
    loop = asyncio.get_running_loop()
    output = client.output()
    output.write(b"one")
    await output.drain(loop.time() + PATIENCE)
    asked = asyncio.ensure_future(output.was_read(loop.time() + PATIENCE))
    await asyncio.sleep(0)
    client.close()
    assert await asked is False


async def test_a_drain_ends_when_all_is_written_or_its_time_is_over(client: Client) -> None:
    loop = asyncio.get_running_loop()
    output = client.output()
    output.write(b"x" * MOST_UNWRITTEN)
    await output.drain(loop.time() - 1)
    assert not output.is_read()
    draining = asyncio.ensure_future(output.drain(loop.time() + 3600))
    await client.read_all(MOST_UNWRITTEN + 1)
    await asyncio.wait_for(draining, PATIENCE)
    assert output.is_read()


async def test_the_pipe_is_left_as_it_was_found(client: Client) -> None:
    assert os.get_blocking(client.sink)
    output = client.output()
    assert not os.get_blocking(client.sink)
    output.restore()
    assert os.get_blocking(client.sink)
