"""Bytes become lines of bounded length, whether they come from a pipe or from a file."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from postil.wire.protocol import jsonrpc
from postil.wire.transports.stdio_input import CHUNK, Input, Lines, is_pipe

pytestmark = pytest.mark.anyio

PATIENCE = 20


def test_lines_are_put_together_from_any_pieces() -> None:
    lines = Lines()
    assert lines.feed(b'{"a"') == []
    assert lines.feed(b":1}\r\n\n \t\n{}\n[") == [b'{"a":1}', b"{}"]
    assert lines.finish() == [b"["]
    assert lines.finish() == []


@pytest.mark.parametrize("more", [0, 1, 2, 5000])
def test_a_line_is_refused_when_it_is_longer_than_a_frame_and_its_end(more: int) -> None:
    lines = Lines()
    start = b'{"id":7,"a":"'
    whole = start + b"x" * (jsonrpc.LARGEST_FRAME + more - len(start))
    assert lines.feed(b"[]\n") == [b"[]"], "what came before does not count"
    for at in range(0, len(whole), 1 << 20):
        assert lines.feed(whole[at : at + (1 << 20)]) == []
    first, second = lines.feed(b"\n{}\n")
    assert second == b"{}", "the line behind it is read"
    if more <= 1:
        assert first == whole
    else:
        assert isinstance(first, jsonrpc.Invalid)
        assert (first.id, first.code) == (7, -32600)


def test_of_a_line_that_is_too_long_only_the_beginning_is_held() -> None:
    lines = Lines()
    for _ in range(2 * jsonrpc.LARGEST_FRAME // CHUNK):
        lines.feed(b"x" * CHUNK)
    assert sum(len(piece) for piece in vars(lines)["_pieces"]) == 0
    assert isinstance(lines.finish()[0], jsonrpc.Invalid)


class Fed:
    """What an input handed over."""

    def __init__(self) -> None:
        self.chunks: list[bytes] = []
        self.came = asyncio.Event()

    def take(self, data: bytes) -> None:
        self.chunks.append(data)
        self.came.set()

    async def until(self, chunks: list[bytes]) -> None:
        async with asyncio.timeout(PATIENCE):
            while self.chunks != chunks:
                await self.came.wait()
                self.came.clear()


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    ends = os.pipe()
    yield ends
    for end in ends:
        try:
            os.close(end)
        except OSError:  # the test has closed it
            pass


async def test_a_pipe_is_read_only_between_resume_and_pause(pipe: tuple[int, int]) -> None:
    source, sink = pipe
    fed = Fed()
    reading = Input(source, fed.take)
    reading.resume()
    reading.resume()
    os.write(sink, b"one")
    await fed.until([b"one"])
    reading.pause()
    reading.pause()
    os.write(sink, b"two")
    for _ in range(5):
        await asyncio.sleep(0)
    assert fed.chunks == [b"one"]
    reading.resume()
    await fed.until([b"one", b"two"])
    os.close(sink)
    await fed.until([b"one", b"two", b""])
    reading.resume()
    for _ in range(5):
        await asyncio.sleep(0)
    assert fed.chunks == [b"one", b"two", b""], "the end is told once"


async def test_a_file_is_read_chunk_by_chunk_as_it_is_resumed(tmp_path: Path) -> None:
    (tmp_path / "input").write_bytes(b"x" * CHUNK + b"y")
    source = os.open(tmp_path / "input", os.O_RDONLY)
    try:
        assert not is_pipe(source)
        fed = Fed()
        reading = Input(source, fed.take)
        expected: list[bytes] = []
        for chunk in (b"x" * CHUNK, b"y", b""):
            reading.resume()
            expected.append(chunk)
            await fed.until(expected)
    finally:
        os.close(source)


async def test_what_cannot_be_read_has_ended(tmp_path: Path) -> None:
    source = os.open(tmp_path, os.O_RDONLY)  # a folder
    try:
        fed = Fed()
        Input(source, fed.take).resume()
        await fed.until([b""])
    finally:
        os.close(source)
