"""The access log: what a line holds, what never gets into it, and what happens when it cannot be written."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from postil.surfaces.http import access_log
from postil.surfaces.http.access_log import AccessLog, NoAccessLog, write_all
from tests.surfaces.gateway.gateways import RIGHT, TOKEN, gateway_of
from tests.surfaces.served import serve_http
from tests.wire.http_client import Running, request, running

KEY = b"k" * 32
SECRET = "glpat-SecretSecretSecret"


@contextmanager
def logging_server(tmp_path: Path, **options: Any) -> Generator[tuple[Running, list[Any]]]:
    """A server with an access log, and what is in the log once the server has ended."""
    log = AccessLog(str(tmp_path / "access.log"), KEY)
    lines: list[Any] = []
    with running(gateway_of(**options), log=log) as server:
        yield server, lines
    log.close(10)
    lines += [json.loads(line) for line in (tmp_path / "access.log").read_text().splitlines()]


def test_what_is_no_method_is_told_as_refused_alone_and_in_a_batch(tmp_path: Path) -> None:
    with logging_server(tmp_path) as (server, told):
        server.post(request("no_such"), Authorization=RIGHT)
        server.post([request("echo", {"text": "x"}), request("no_such", request_id=2), 5], Authorization=RIGHT)
    assert (told[0]["method"], told[0]["outcome"], told[0].get("tool")) == ("direct", "refused", None)
    assert told[1]["calls"] == {"ok": 1, "refused": 2}


def test_a_line_says_who_called_what_how_long_it_took_and_how_it_ended(tmp_path: Path) -> None:
    with logging_server(tmp_path) as (server, told):
        echo = server.post(request("echo", {"text": "x"}), Authorization=RIGHT)
        server.post(request("tools/call", {"name": "echo", "arguments": {"text": "x"}}), Authorization=RIGHT)
        server.post(request("fail"), Authorization=RIGHT)
        server.post(request("tools/list"), Authorization=RIGHT)
        server.post([request("echo", {"text": "x"}), request("fail", request_id=2)], Authorization=RIGHT)
        server.post(request("echo", {"text": "x"}), Authorization="Bearer wrong")
        server.ask("GET", "/healthz")
        server.ask("GET", f"/{SECRET}", Authorization=RIGHT)
    direct, tool, failed, listed, batch, refused, health, lost = told
    assert direct["request"] == echo.headers["x-request-id"]
    assert direct["http"] == "POST /mcp"
    assert (direct["method"], direct["tool"], direct["outcome"], direct["status"]) == ("direct", "echo", "ok", 200)
    assert direct["bytes_in"] == len(json.dumps(request("echo", {"text": "x"})).encode())
    assert direct["bytes_out"] == len(echo.body)
    assert 0 < direct["seconds"] < 60
    assert direct["principal"] == tool["principal"] != ""
    assert (tool["method"], tool["tool"]) == ("tools/call", "echo")
    assert (failed["outcome"], failed["code"]) == ("failed", -32602)
    assert (listed["method"], listed["outcome"], listed.get("tool")) == ("tools/list", "ok", None)
    assert (batch["method"], batch["calls"]) == ("batch", {"ok": 1, "failed": 1})
    assert (refused["outcome"], refused["status"], refused.get("principal")) == ("refused", 401, None)
    assert health["http"] == "GET /healthz"
    assert (lost["http"], lost["status"]) == ("GET other", 404)


def test_nothing_that_a_caller_chose_reaches_the_log(tmp_path: Path) -> None:
    words = dict.fromkeys(("User_Agent", "X_Request_Id", "Idempotency_Key", "Mcp_Session_Id", "Cookie"), SECRET)
    frames: list[Any] = [
        {"jsonrpc": "2.0", "id": SECRET, "method": "echo", "params": {"text": SECRET}},
        {"jsonrpc": "2.0", "id": 1, "method": SECRET},
        {"jsonrpc": "2.0", "id": 1, "method": f"tools/{SECRET}"},
        {"jsonrpc": "2.0", "method": f"notifications/{SECRET}"},
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": SECRET, "arguments": {SECRET: SECRET}}},
        {"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": {"uri": SECRET}},
        [{"jsonrpc": "2.0", "id": SECRET, "method": SECRET}],
        {"jsonrpc": "2.0", "id": SECRET, "result": SECRET},
    ]
    with logging_server(tmp_path) as (server, told):
        for frame in frames:
            server.post(frame, Authorization=RIGHT)
            server.post(frame, Authorization=RIGHT, **words)
            server.post(frame, Authorization=f"Bearer {SECRET}", **words)
        server.ask("GET", f"/mcp?token={SECRET}", Authorization=RIGHT)
        server.ask("PROPFIND", "/mcp", Authorization=RIGHT)
    raw = (tmp_path / "access.log").read_text()
    assert len(told) == 3 * len(frames) + 2
    assert SECRET.lower().replace("-", "") not in raw.lower().replace("-", "")
    assert TOKEN not in raw
    assert "local" not in raw  # the principal is hashed
    assert (tmp_path / "access.log").stat().st_mode & 0o777 == 0o600


def test_hashes_are_stable_for_one_secret_and_tell_nothing_without_it(tmp_path: Path) -> None:
    logs = [AccessLog(str(tmp_path / "log"), key) for key in (KEY, KEY, b"j" * 32)]
    names = [log.hash("gitlab:alice") for log in logs]
    assert names[0] == names[1] != names[2]
    for number in range(2 * access_log.MOST_REMEMBERED):
        logs[0].hash(f"user{number}")
    assert len(vars(logs[0])["_names"]) <= access_log.MOST_REMEMBERED
    for log in logs:
        log.close()


def test_after_a_rotation_lines_go_to_the_new_file(tmp_path: Path) -> None:
    with logging_server(tmp_path) as (server, told):
        server.ask("GET", "/healthz")
        until(lambda: (tmp_path / "access.log").read_text() != "")
        (tmp_path / "access.log").rename(tmp_path / "access.log.1")
        server.ask("GET", "/healthz")
    assert len(told) == 1
    assert len((tmp_path / "access.log.1").read_text().splitlines()) == 1


def test_lines_that_cannot_be_written_are_counted_in_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hold = threading.Event()
    real = access_log.write_all

    def held(file: int, raw: bytes) -> int:
        hold.wait(20)
        return real(file, raw)

    monkeypatch.setattr(access_log, "write_all", held)
    monkeypatch.setattr(access_log, "MOST_WAITING", 2)
    with logging_server(tmp_path) as (server, told):
        for _ in range(6):
            server.ask("GET", "/healthz")
        until(lambda: server.app.metrics.requests >= 6)
        hold.set()
        until(lambda: not vars(log_of(server))["_lines"])
        server.ask("GET", "/healthz")
        asked = server.app.metrics.requests  # a client whose connection was closed asks twice
    assert len(told) + sum(line.get("dropped", 0) for line in told) == asked >= 7
    assert sum(line.get("dropped", 0) for line in told) >= 1  # the writer holds two lines at most, two wait


def test_a_log_that_cannot_be_opened_stops_the_start(tmp_path: Path) -> None:
    with pytest.raises(NoAccessLog) as caught:
        AccessLog(str(tmp_path / "missing" / "log"), KEY)
    assert "No such file" in caught.value.message


def test_a_short_write_is_gone_on_with() -> None:
    written: list[bytes] = []

    def write(file: int, raw: bytes) -> int:
        written.append(raw[:2])
        return len(raw[:2])

    assert write_all(1, b"abcde", write) == 5
    assert written == [b"ab", b"cd", b"e"]


def test_a_line_that_a_dying_server_left_half_swallows_no_other(tmp_path: Path) -> None:
    file = tmp_path / "access.log"
    file.write_bytes(b'{"time":"2026-11-18T12:00:00.000Z","requ')
    end_request(log := AccessLog(str(file), KEY))
    log.close(10)
    end_request(log := AccessLog(str(file), KEY))
    log.close(10)
    half, *whole = file.read_text().splitlines()
    assert half == '{"time":"2026-11-18T12:00:00.000Z","requ'
    assert [json.loads(line)["http"] for line in whole] == ["GET /healthz"] * 2


def test_a_line_that_a_full_disk_left_half_swallows_no_other_and_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = AccessLog(str(tmp_path / "access.log"), KEY)
    end_request(log)
    log.close(10)
    real = access_log.write_all

    def fill(file: int, raw: bytes) -> int:
        return real(file, raw[: len(raw) - 9])

    log = AccessLog(str(tmp_path / "access.log"), KEY)
    with monkeypatch.context() as full:
        full.setattr(access_log, "write_all", fill)
        end_request(log)
        until(lambda: vars(log)["_dropped"] == 1)
    end_request(log)
    log.close(10)
    first, half, last = (tmp_path / "access.log").read_text().splitlines()
    assert json.loads(first)["http"] == json.loads(last)["http"] == "GET /healthz"
    assert not half.endswith("}")
    assert json.loads(last)["dropped"] == 1


def test_half_a_line_in_a_pipe_swallows_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    log = AccessLog(str(tmp_path / "pipe"), KEY)
    real = access_log.write_all

    def tear(file: int, raw: bytes) -> int:
        return real(file, raw[:9])

    with monkeypatch.context() as full:
        full.setattr(access_log, "write_all", tear)
        end_request(log)
        until(lambda: vars(log)["_dropped"] == 1)
    end_request(log)
    log.close(10)
    half, whole = os.read(reader, 65536).decode().splitlines()
    os.close(reader)
    assert len(half) == 9
    assert json.loads(whole)["dropped"] == 1


def test_a_client_that_leaves_is_noted_as_such(tmp_path: Path) -> None:
    log = AccessLog(str(tmp_path / "log"), KEY)
    end_request(log)
    log.close(10)
    assert json.loads((tmp_path / "log").read_text())["outcome"] == "left"


def test_the_setting_turns_it_on_and_without_it_there_is_none(tmp_path: Path) -> None:
    os.makedirs(tmp_path / "w")
    file = tmp_path / "w" / "access.log"
    with serve_http(tmp_path / "w", POSTIL_ACCESS_LOG=str(file), XDG_STATE_HOME=str(tmp_path / "s")) as server:
        answer, _ = server.ask(request("workspace_status"), server.token)
        assert answer.headers["X-Request-Id"]
        until(lambda: bool(file.read_text()))
    line = json.loads(file.read_text())
    assert (line["method"], line["request"]) == ("direct", answer.headers["X-Request-Id"])
    assert server.token not in file.read_text()
    with serve_http(tmp_path / "w", XDG_STATE_HOME=str(tmp_path / "s")) as server:
        answer, _ = server.ask(request("workspace_status"), server.token)
        assert "X-Request-Id" not in answer.headers


def end_request(log: AccessLog) -> None:
    """A request that got no answer."""

    async def begin() -> None:
        async def send(message: Any) -> None:
            return

        log.end(log.begin({"method": "GET", "path": "/healthz"}, send, {"/healthz"}))

    asyncio.run(begin())


def log_of(server: Running) -> AccessLog:
    return vars(server.app)["_log"]


def until(holds: Callable[[], bool]) -> None:
    """Wait until it holds, for twenty seconds at most."""
    waited = threading.Event()
    for _ in range(1000):
        if holds():
            return
        waited.wait(0.02)
    raise AssertionError("it did not come to hold")


def test_a_log_that_cannot_be_looked_at_goes_on_and_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its thread ended at the first fault of a disk, and no line was ever written or missed again."""
    log = AccessLog(str(tmp_path / "access.log"), KEY)
    with monkeypatch.context() as broken:

        def fail(self: AccessLog, file: int) -> bool:
            raise OSError(errno.EIO, "the disk fails")

        broken.setattr(AccessLog, "_has_half_a_line", fail)
        end_request(log)
        until(lambda: vars(log)["_dropped"] == 1)
    end_request(log)
    end_request(log)
    log.close(10)
    lines = [json.loads(line) for line in (tmp_path / "access.log").read_text().splitlines()]
    assert [line.get("dropped", 0) for line in lines] == [1, 0]
