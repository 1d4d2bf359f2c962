"""The measurements, each over one server. Times are CPU seconds unless a name says wall."""

from __future__ import annotations

import threading
import time
from statistics import median

import msgspec
from msgspec import Struct

from bench.server import INITIALIZE, Process, Server, started

WINDOW = 64


class Start(Struct, frozen=True):
    """A cold start, until the first answer was read."""

    cpu: float
    wall: float
    rss: int


class Calls(Struct, frozen=True):
    """Calls of the echo tool over stdio."""

    sequential: float
    pipelined: float
    rss_before: int
    rss_after: int


def call(number: int) -> dict[str, object]:
    params = {"name": "echo", "arguments": {"text": "hello"}}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


def cold_start(server: Server) -> Start:
    """Start, send `initialize`, read the answer."""
    begun = time.perf_counter()
    with started(server) as process:
        process.send(INITIALIZE)
        answer = process.receive()
        wall = time.perf_counter() - begun
        cpu, rss = process.cpu(), process.rss()
        assert "result" in answer, answer
    return Start(cpu, wall, rss)


def middle(starts: list[Start]) -> Start:
    return Start(median(s.cpu for s in starts), median(s.wall for s in starts), int(median(s.rss for s in starts)))


def calls(server: Server, total: int, sequential: int) -> Calls:
    """CPU per call one after another, then with many under way; and what the process holds before and after them."""
    with started(server) as process:
        process.handshake()
        for number in range(1, 201):  # warm: caches filled, specialised bytecode, compiled JavaScript
            check(one(process, number), number)
        before = process.cpu()
        for number in range(1, sequential + 1):
            check(one(process, number), number)
        each_sequential = (process.cpu() - before) / sequential
        pipeline(process, 2_000)
        rss_before = process.rss()
        before = process.cpu()
        pipeline(process, total)
        each_pipelined = (process.cpu() - before) / total
        return Calls(each_sequential, each_pipelined, rss_before, process.rss())


def one(process: Process, number: int) -> dict[str, object]:
    process.send(call(number))
    return process.receive()


def check(answer: dict[str, object], number: int) -> None:
    if answer.get("id") != number or "result" not in answer:
        raise RuntimeError(f"a wrong answer to call {number}: {answer}")


def pipeline(process: Process, total: int) -> None:
    """Keep a window of calls under way until all are answered, each exactly once."""
    room = threading.Semaphore(WINDOW)

    def write() -> None:
        sent = 0
        while sent < total:
            room.acquire()
            batch = 1
            while sent + batch < total and batch < WINDOW // 2 and room.acquire(blocking=False):
                batch += 1
            process.send(*(call(sent + offset) for offset in range(batch)))
            sent += batch

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    answered = bytearray(total)
    for _ in range(total):
        line = process.stdout.readline()
        if not line:
            raise RuntimeError("the server ended in the middle of the calls")
        answer = msgspec.json.decode(line, type=Answer)
        if answer.error is not msgspec.UNSET or answered[answer.id]:
            raise RuntimeError(f"a wrong answer: {line!r}")
        answered[answer.id] = 1
        room.release()
    writer.join()


class Answer(Struct, frozen=True):
    id: int
    error: object = msgspec.UNSET
