"""The stdio transport as a real process: how it ends, what it bounds, what it keeps off stdout."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import IO, Any

import msgspec
import pytest

from postil.core.registry import Registry
from postil.wire.protocol import jsonrpc
from postil.wire.protocol.session import IN_FLIGHT
from postil.wire.server import UNITED, Face, Server
from postil.wire.transports import stdio, waiting
from postil.wire.transports.stdio import StdioConnection
from postil.wire.transports.timeouts import Timeouts
from tests.core.echo import Echo

ROOT = Path(__file__).parents[3]
SERVER = [sys.executable, "-m", "tests.wire.echo_server"]
MIB = 1024 * 1024


def call(request_id: int, tool: str = "count", **arguments: Any) -> bytes:
    params = {"name": tool, "arguments": arguments}
    return msgspec.json.encode({"jsonrpc": "2.0", "id": request_id, "method": "tools/call", "params": params}) + b"\n"


@pytest.fixture
def start() -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    started: list[subprocess.Popen[bytes]] = []

    def run(stdin: int | IO[bytes] = subprocess.PIPE, command: list[str] = SERVER) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            command, cwd=ROOT, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0
        )
        started.append(process)
        return process

    yield run
    for process in started:
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream:
                stream.close()


def ask(process: subprocess.Popen[bytes], frame: bytes) -> Any:
    assert process.stdin
    assert process.stdout
    process.stdin.write(frame)
    return msgspec.json.decode(process.stdout.readline())


def answers(output: bytes) -> list[Any]:
    return [msgspec.json.decode(line) for line in output.splitlines()]


def resident(process: subprocess.Popen[bytes]) -> int:
    for line in Path(f"/proc/{process.pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) * 1024
    raise AssertionError


@pytest.mark.parametrize("tool", ["count", "echo"])
def test_what_was_read_before_the_end_of_input_is_answered(start: Callable[..., Any], tool: str) -> None:
    arguments = {"text": "a"} if tool == "echo" else {}
    for _ in range(3):
        output, _ = start().communicate(b"".join(call(n, tool, **arguments) for n in range(1000)), timeout=30)
        assert sorted(answer["id"] for answer in answers(output)) == list(range(1000))


def test_a_file_as_input_is_answered_whole(start: Callable[..., Any], tmp_path: Path) -> None:
    source = tmp_path / "frames"
    source.write_bytes(b"".join(call(n) for n in range(600)) + call(600).rstrip())
    with source.open("rb") as stdin:
        process = start(stdin)
        output, _ = process.communicate(timeout=30)
    assert len(answers(output)) == 601
    assert process.returncode == 0


def test_no_input_at_all_ends_at_once(start: Callable[..., Any]) -> None:
    process = start(subprocess.DEVNULL)
    assert process.communicate(timeout=10) == (b"", b"")
    assert process.returncode == 0


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("busy", [False, True])
def test_a_signal_ends_it(start: Callable[..., Any], number: int, status: int, busy: bool) -> None:
    process = start()
    assert ask(process, call(1))["id"] == 1
    if busy:
        process.stdin.write(call(2, "sleep"))
    process.send_signal(number)
    assert process.wait(timeout=5) == status


def test_a_call_that_never_ends_does_not_outlive_the_input_by_more_than_the_drain(start: Callable[..., Any]) -> None:
    process = start()
    assert ask(process, call(1))["id"] == 1
    process.stdin.write(call(2, "sleep"))
    process.stdin.close()
    process.stdin = None
    assert process.wait(timeout=10) == 0


@pytest.fixture
def pipe(tmp_path: Path) -> str:
    """A named pipe."""
    os.mkfifo(tmp_path / "held")
    return str(tmp_path / "held")


def test_work_that_was_read_is_answered_after_the_end_of_input(start: Callable[..., Any], pipe: str) -> None:
    process = start()
    process.stdin.write(call(1, "hold", path=pipe) + call(2, "sleep"))
    process.stdin.close()
    process.stdin = None
    with open(pipe, "wb") as writer:  # opens when the call has begun to read
        writer.write(b"four")
    assert [answer["id"] for answer in answers(process.communicate(timeout=30)[0])] == [
        1
    ]  # what only waited is given up
    assert process.returncode == 0


@pytest.mark.parametrize("end", ["signal", "stdout"])
def test_work_that_nobody_wants_any_more_does_not_keep_it(start: Callable[..., Any], pipe: str, end: str) -> None:
    process = start()
    assert ask(process, call(1))["id"] == 1
    process.stdin.write(call(2, "hold", path=pipe))
    process.stdin.close()
    writer = os.open(pipe, os.O_WRONLY)  # opens when the call has begun to read
    if end == "signal":
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=20) == 143
    else:
        process.stdout.close()
        assert process.wait(timeout=20) == 0
    os.close(writer)


def test_a_closed_stdout_ends_it_while_stdin_is_open(start: Callable[..., Any]) -> None:
    process = start()
    assert ask(process, call(1))["id"] == 1
    process.stdout.close()
    assert process.wait(timeout=10) == 0


def test_a_dead_parent_ends_it(start: Callable[..., Any], tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "input")
    keeper = os.open(tmp_path / "input", os.O_RDWR)
    script = f"{sys.executable} -m tests.wire.echo_server <'{tmp_path}/input' & echo $!; read line"
    shell = start(command=["sh", "-c", script])
    server = int(shell.stdout.readline())
    os.write(keeper, call(1))
    assert msgspec.json.decode(shell.stdout.readline())["id"] == 1
    shell.kill()
    shell.wait()
    deadline = time.monotonic() + 10
    while Path(f"/proc/{server}").exists() and "Z" not in Path(f"/proc/{server}/stat").read_text().split()[2]:
        assert time.monotonic() < deadline, "the server outlived its parent"
        time.sleep(0.05)
    os.close(keeper)


def test_shutdown_is_answered_null_and_then_it_exits_although_stdin_is_open(start: Callable[..., Any]) -> None:
    process = start()
    assert ask(process, b'{"jsonrpc":"2.0","id":1,"method":"shutdown"}\n') == {
        "jsonrpc": "2.0",
        "id": 1,
        "result": None,
    }
    assert process.wait(timeout=5) == 0


def test_a_frame_over_the_limit_is_refused_by_id_and_never_held(start: Callable[..., Any]) -> None:
    process = start()
    ask(process, call(1))
    before = resident(process)
    piece = b"x" * MIB
    process.stdin.write(b'{"jsonrpc":"2.0","id":77,"method":"tools/call","params":{"name":"echo","arguments":{"text":"')
    for _ in range(100):
        process.stdin.write(piece)
    process.stdin.write(b'"}}}\n')
    refused = msgspec.json.decode(process.stdout.readline())
    assert (refused["id"], refused["error"]["code"]) == (77, -32600)
    assert resident(process) - before < 20 * MIB
    assert ask(process, call(2))["id"] == 2


def test_more_calls_than_fit_wait_their_turn_and_all_are_answered(start: Callable[..., Any]) -> None:
    frames = b"".join(call(n, "sleep", seconds=0.001) for n in range(1000))
    output, _ = start().communicate(frames, timeout=30)
    assert len({answer["id"] for answer in answers(output) if "result" in answer}) == 1000


def test_a_client_that_does_not_read_makes_it_stop_reading_not_grow(start: Callable[..., Any]) -> None:
    process = start()
    ask(process, call(1))
    before = resident(process)
    os.set_blocking(process.stdin.fileno(), False)
    frame, sent, stalled = call(2, "echo", text="y" * 10_000), 0, 0
    while stalled < 50 and sent < 200 * MIB:
        try:
            sent += os.write(process.stdin.fileno(), frame)
            stalled = 0
        except BlockingIOError:
            stalled += 1
            time.sleep(0.01)
    assert sent < 20 * MIB
    assert resident(process) - before < 20 * MIB


def test_nothing_but_frames_reaches_stdout(start: Callable[..., Any]) -> None:
    output, errors = start().communicate(call(1, "chatter"), timeout=30)
    assert [answer["id"] for answer in answers(output)] == [1]
    assert {b"a stray print", b"a stray write", b"a stray child"} <= set(errors.splitlines())


def test_odd_frames_are_answered_in_a_row_and_the_next_call_is_served(start: Callable[..., Any]) -> None:
    from tests.wire.protocol.test_jsonrpc import ODD

    frames = b"".join(frame + b"\r\n" for frame, _, _ in ODD.values())
    output, errors = start().communicate(frames + call(999), timeout=60)
    *refused, last = answers(output)
    assert [(answer["id"], answer["error"]["code"]) for answer in refused] == [(i, c) for _, i, c in ODD.values()]
    assert last["id"] == 999
    assert errors == b""


def test_blank_lines_are_no_frames(start: Callable[..., Any]) -> None:
    output, _ = start().communicate(b"\n\r\n  \n" + call(1), timeout=30)
    assert len(answers(output)) == 1


def stuck(count: int) -> bytes:
    return b"".join(call(number, "sleep") for number in range(count))


def cancel(request_id: int | str) -> bytes:
    params = {"requestId": request_id}
    return msgspec.json.encode({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}) + b"\n"


def read(process: subprocess.Popen[bytes], count: int) -> dict[object, Any]:
    """The next answers, by their ids."""
    assert process.stdout
    came = [msgspec.json.decode(process.stdout.readline()) for _ in range(count)]
    return {answer["id"]: answer for answer in came}


def test_many_open_requests_stop_neither_pings_nor_cancellations_nor_the_end(start: Callable[..., Any]) -> None:
    """256 open requests killed a connection for good: no cancellation and no end of input was read."""
    process = start()
    process.stdin.write(stuck(IN_FLIGHT + 50) + b'{"jsonrpc":"2.0","id":"p","method":"ping"}\n')
    came = read(process, 51)
    assert came.pop("p")["result"] == {}
    assert set(came) == set(range(IN_FLIGHT, IN_FLIGHT + 50))  # those that waited, and no call ended
    assert {answer["error"]["code"] for answer in came.values()} == {-32000}
    process.stdin.write(b"".join(cancel(number) for number in range(10)))
    assert "result" in ask(process, call(5000))
    process.stdin.close()
    assert process.wait(30) == 0


def test_a_request_that_waits_for_room_can_be_given_up(start: Callable[..., Any]) -> None:
    process = start()
    frames = stuck(IN_FLIGHT) + call(1000) + cancel(1000) + cancel(0) + call(1001)
    assert ask(process, frames)["id"] == 1001


def test_the_end_of_input_is_heard_while_requests_wait(start: Callable[..., Any]) -> None:
    process = start()
    process.stdin.write(stuck(IN_FLIGHT + 5))
    process.stdin.close()
    assert len(read(process, 5)) == 5
    assert process.wait(30) == 0


# ----- the same inside this process ----------------------------------------------------------------------------------


class Inside:
    """A connection on two pipes of this process."""

    def __init__(self, timeouts: Timeouts | None = None) -> None:
        self.part = Echo()
        source, self._sink = os.pipe()
        self._source, sink = os.pipe()
        os.set_blocking(self._source, False)
        self._ends = [source, self._sink, self._source, sink]
        server = Server(Registry.of([("echo", self.part)]), Face("echo", "1", UNITED))
        self.connection = StdioConnection(server, source, sink, timeouts)
        self.running = asyncio.ensure_future(self.connection.run())
        self._read = b""

    def send(self, *frames: bytes) -> None:
        for frame in frames:
            os.write(self._sink, frame)

    def end_input(self) -> None:
        self._ends.remove(self._sink)
        os.close(self._sink)

    async def answers(self, count: int) -> list[Any]:
        """So many answers, in the order of their ids."""
        async with asyncio.timeout(30):
            while self._read.count(b"\n") < count:
                await asyncio.sleep(0.001)
                try:
                    self._read += os.read(self._source, 1 << 16)
                except BlockingIOError:
                    pass
        lines = self._read.split(b"\n")
        self._read = b"\n".join(lines[count:])
        return sorted((msgspec.json.decode(line) for line in lines[:count]), key=lambda each: str(each["id"]))

    async def until(self, claim: Callable[[], object]) -> None:
        async with asyncio.timeout(30):
            while not claim():  # noqa: ASYNC110 - nothing announces it
                await asyncio.sleep(0.001)

    async def status(self) -> int:
        return await asyncio.wait_for(self.running, 30)

    async def close(self) -> None:
        self.running.cancel()
        await asyncio.wait([self.running])
        for end in self._ends:
            os.close(end)


@pytest.fixture
async def inside() -> AsyncIterator[Callable[..., Inside]]:
    made: list[Inside] = []

    def make(timeouts: Timeouts | None = None) -> Inside:
        made.append(Inside(timeouts))
        return made[-1]

    yield make
    for each in made:
        await each.close()


@pytest.mark.anyio
async def test_what_was_asked_is_answered_and_the_end_of_input_is_the_end(inside: Callable[..., Inside]) -> None:
    client = inside()
    client.send(call(1), b"x\n", call(2)[:-1])
    assert (await client.answers(2))[1]["error"]["code"] == -32700
    client.end_input()
    assert (await client.answers(1))[0]["id"] == 2, "a last line without its end"
    assert await client.status() == 0


@pytest.mark.anyio
async def test_a_line_that_is_too_long_is_answered_in_its_place(inside: Callable[..., Inside]) -> None:
    client = inside()
    line = b'{"jsonrpc":"2.0","id":7,"method":"' + b"x" * jsonrpc.LARGEST_FRAME + b'"}\n'
    client.connection._fed(line)  # pyright: ignore[reportPrivateUsage]
    client.send(call(8))
    refused, answered = await client.answers(2)
    assert (refused["id"], refused["error"]["code"], answered["id"]) == (7, -32600, 8)


@pytest.mark.anyio
async def test_a_call_at_work_is_given_up_when_it_is_stopped(inside: Callable[..., Inside]) -> None:
    client = inside()
    client.send(call(1, "sleep"))
    await client.until(lambda: client.connection.runner.running)
    client.connection._stop(143)  # pyright: ignore[reportPrivateUsage]
    assert await client.status() == 143
    assert client.connection.runner.running == {}


@pytest.mark.anyio
async def test_it_does_not_end_before_a_client_that_reads_has_read_all(inside: Callable[..., Inside]) -> None:
    client = inside()
    client.connection.output.write(b'{"id":1,"long":"' + b"x" * 1_000_000 + b'"}')
    client.end_input()
    reading = asyncio.ensure_future(client.answers(1))
    assert await client.status() == 0
    assert vars(client.connection.output)["_unwritten"] == []
    assert len((await reading)[0]["long"]) == 1_000_000


@pytest.mark.anyio
async def test_behind_a_shutdown_nothing_is_answered(inside: Callable[..., Inside]) -> None:
    client = inside()
    client.send(b'{"jsonrpc":"2.0","id":1,"method":"shutdown"}\n' + call(2))
    assert await client.status() == 0
    assert [answer["id"] for answer in await client.answers(1)] == [1]
    assert client.part.count == 0


@pytest.mark.anyio
async def test_requests_for_which_no_room_comes_are_refused_and_the_next_are_served(
    inside: Callable[..., Inside], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "STALL", 0.01)
    monkeypatch.setattr(waiting, "MOST", 2)
    monkeypatch.setattr(stdio, "IN_FLIGHT", 1)
    client = inside()
    client.send(call(1, "sleep"), call(2), call(3), call(4))
    assert [(each["id"], each["error"]["code"]) for each in await client.answers(3)] == [
        (number, -32000) for number in (2, 3, 4)
    ]
    client.send(b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}\n')
    await client.until(lambda: not client.connection.runner.running)
    client.send(call(5))
    assert "result" in (await client.answers(1))[0]
    client.end_input()
    assert await client.status() == 0


@pytest.mark.anyio
async def test_a_request_that_waits_is_served_when_a_call_ends(
    inside: Callable[..., Inside], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "STALL", 3600.0)
    monkeypatch.setattr(stdio, "IN_FLIGHT", 1)
    monkeypatch.setattr("postil.wire.runtime.runner.IN_FLIGHT", 1)
    client = inside()
    client.send(*(call(number) for number in range(1, 10)))
    assert [each["id"] for each in await client.answers(9)] == [*range(1, 10)]
    client.end_input()
    assert await client.status() == 0


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("timeouts", "speaks", "status", "said"),
    [
        (Timeouts(handshake=0.01, level="info"), False, 1, "error: no client introduced itself within 0.01 s"),
        (Timeouts(handshake=3600, idle=0.01, level="info"), True, 0, "info: no request for 0.01 s"),
        (Timeouts(idle=0.01, level="info"), True, 0, "info: no request for 0.01 s"),
    ],
)
async def test_a_silent_client_is_given_up_in_words(
    inside: Callable[..., Inside],
    capsys: pytest.CaptureFixture[str],
    timeouts: Timeouts,
    speaks: bool,
    status: int,
    said: str,
) -> None:
    client = inside(timeouts)
    if speaks:
        client.send(call(1))
    assert await client.status() == status
    assert capsys.readouterr().err.splitlines() == ["info: serving on stdin and stdout", said]


@pytest.mark.anyio
async def test_a_client_that_waits_for_its_answer_is_not_silent(inside: Callable[..., Inside]) -> None:
    client = inside(Timeouts(idle=0.01))
    client.send(call(1, "sleep", seconds=0.2))
    assert [each["id"] for each in await client.answers(1)] == [1]
    assert await client.status() == 0
