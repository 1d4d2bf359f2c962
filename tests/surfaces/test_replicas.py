"""Many replicas over one Redis: one limit, one effect a key, one bus, and nothing acknowledged is lost."""

from __future__ import annotations

import asyncio
import http.client
import itertools
import json
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

import pytest

from postil.wire.transports.http.sessions import LOOK_EVERY
from tests.storage.postgres_server import PostgresServer, postgres_server
from tests.storage.redis_server import RedisServer, redis_server
from tests.surfaces.programs import run
from tests.surfaces.proxy import RoundRobin
from tests.surfaces.real_proxies import Caddy, Nginx
from tests.surfaces.replicas import CALLERS, Replicas, call_meanwhile
from tests.wire.http_client import BOTH, META, STATELESS, Connection, request

# Short by default, with a kill every hundred calls. The whole promise, by the clock: `make replicas`.
CALLS = int(os.environ.get("POSTIL_REPLICA_CALLS", "500"))
STALL_SECONDS = float(os.environ.get("POSTIL_REPLICA_STALL_SECONDS", "1.5"))
PER_MINUTE = 60
PATIENCE = 60
"""Seconds for what happens within one on a machine that is not busy."""
TURNS = (1, 5, 20, 60)
"""Seconds that a stream gets to hear of a write, before another is made."""


@pytest.fixture(scope="module")
def redis() -> Iterator[RedisServer]:
    with redis_server() as server:
        yield server


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresServer]:
    with postgres_server() as server:
        yield server


@pytest.fixture
def folder(repository: Path, redis: RedisServer) -> Path:
    redis.clear()
    return repository


def config(tmp_path: Path, text: str) -> str:
    path = tmp_path / "postil.toml"
    path.write_text(text)
    return str(path)


@pytest.mark.slow
@pytest.mark.timeout(max(280, CALLS // 10))
def test_no_acknowledged_write_is_lost_and_none_is_made_twice_while_replicas_die(
    folder: Path, redis: RedisServer, tmp_path: Path
) -> None:
    replicas = Replicas(folder, redis, POSTIL_CONFIG=config(tmp_path, "[limits]\nper_minute = 0\n"))
    try:
        ledger, killed = call_meanwhile(replicas, CALLS, replicas.kill_one)
        assert len(ledger.unknown) <= killed * CALLERS, "a kill can interrupt only what is on its way"
    finally:
        replicas.close()


@pytest.mark.slow
@pytest.mark.timeout(max(280, CALLS // 5))
def test_no_answer_lies_while_replicas_die_and_postgresql_hangs_and_restarts(
    folder: Path, redis: RedisServer, postgres: PostgresServer, tmp_path: Path
) -> None:
    limits = config(tmp_path, "[limits]\nper_minute = 0\n")
    replicas = Replicas(folder, redis, POSTIL_CONFIG=limits, POSTIL_STATE=postgres.address)
    turns = itertools.cycle([postgres.pause, replicas.kill_one, postgres.stop, postgres.pause, postgres.kill])

    def trouble(number: int) -> None:
        turn = next(turns)
        if turn == replicas.kill_one:
            replicas.kill_one(number)
            return
        turn()  # type: ignore[call-arg]
        time.sleep(STALL_SECONDS)  # the stall itself
        postgres.go_on()
        postgres.start()

    try:
        ledger, _ = call_meanwhile(replicas, CALLS // 2, trouble, every=40)
        assert ledger.acknowledged
        verified = run("postil", "audit", "verify", cwd=folder, **replicas.environ)
        assert "The chains are whole" in verified.stdout, verified.stdout + verified.stderr
    finally:
        postgres.go_on()
        postgres.start()
        replicas.close()


@pytest.mark.slow
@pytest.mark.timeout(280)
@pytest.mark.parametrize("proxy", [Nginx, Caddy])
def test_a_killed_replica_behind_a_real_proxy_costs_a_client_that_repeats_nothing(
    proxy: type[Nginx | Caddy], folder: Path, redis: RedisServer, postgres: PostgresServer, tmp_path: Path
) -> None:
    postgres.clear()
    limits = config(tmp_path, "[limits]\nper_minute = 0\n")
    replicas = Replicas(folder, redis, proxy, POSTIL_CONFIG=limits, POSTIL_STATE=postgres.address)
    try:
        ledger, _ = call_meanwhile(replicas, 120, replicas.kill_one, every=50)
        assert ledger.acknowledged
    finally:
        replicas.close()


def test_the_call_beyond_a_window_is_refused_wherever_it_lands(
    folder: Path, redis: RedisServer, tmp_path: Path
) -> None:
    limits = config(tmp_path, f"[limits]\nper_minute = {PER_MINUTE}\n")
    replicas = Replicas(folder, redis, POSTIL_CONFIG=limits)
    try:
        begun = time.monotonic()
        statuses = [replicas.call("workspace_info", {})[0] for _ in range(PER_MINUTE // 2)]
        replicas.kill_one(1)  # what it counted is not forgotten with it
        statuses += [replicas.call("workspace_info", {})[0] for _ in range(PER_MINUTE // 2)]
        beyond = [replicas.call("workspace_info", {}) for _ in range(3)]  # the proxy gives each replica one
        assert time.monotonic() - begun < 60, "this machine is too slow to fill the window"
        assert statuses == [200] * PER_MINUTE
        assert [(status, answer["error"]["code"]) for status, answer in beyond] == [(429, -32000)] * 3
    finally:
        replicas.close()


def test_a_stream_on_one_replica_hears_a_write_on_another(folder: Path, redis: RedisServer, tmp_path: Path) -> None:
    replicas = Replicas(folder, redis)
    for number in range(len(TURNS)):
        send(replicas, folder, f"remark {number}")
    try:
        connection = Connection(replicas.ports[0], 2 * PATIENCE)
        params = {"notifications": {"resourceSubscriptions": ["lazygit://messages"]}, "_meta": META}
        body = json.dumps(request("subscriptions/listen", params)).encode()
        headers = {"MCP-Protocol-Version": STATELESS, "Mcp-Method": "subscriptions/listen", "Accept": BOTH}
        headers |= {"Authorization": f"Bearer {replicas.key}", "Content-Type": "application/json"}
        connection.ask("POST", "/mcp", body, headers)
        assert connection.head()[0] == 200
        heard = connection.events()
        assert next(heard)["method"].endswith("acknowledged")
        with ThreadPoolExecutor(1) as reader:
            told = reader.submit(next, heard)
            try:
                # The watch itself begins after the acknowledgement, and nothing tells when: so write until it hears.
                for number, seconds in enumerate(TURNS, 1):
                    assert at_replica(replicas, 1, request("inbox_resolve", {"id": number})) == 200
                    if wait([told], seconds).done:
                        break
            finally:
                connection.close()
            assert told.result()["method"] == "notifications/resources/updated"
    finally:
        replicas.close()


def test_a_write_whose_answer_was_cut_off_is_answered_by_another_replica_and_made_once(
    folder: Path, redis: RedisServer
) -> None:
    replicas = Replicas(folder, redis)
    try:
        send(replicas, folder, "please look")
        for n in range(10):
            assert isinstance(replicas.proxy, RoundRobin)
            replicas.proxy.cut = 2  # the next replica's answer to the retry is lost as well
            status, answer = replicas.call("inbox_reply", {"id": 1, "text": f"reply {n}"}, key=f"cut-{n}")
            assert (status, "result" in answer, replicas.proxy.cut) == (200, True, 0)
            assert replicas.call("inbox_reply", {"id": 1, "text": f"reply {n}"}, key=f"cut-{n}") == (status, answer)
        shown = json.loads(run("postil", "inbox", "show", "1", "--json", cwd=folder, **replicas.environ).stdout)
        assert [reply["text"] for reply in shown["replies"]] == [f"reply {n}" for n in range(10)]
        audit = run("postil", "audit", cwd=folder, **replicas.environ).stdout
        assert audit.count("inbox_reply") == 10
    finally:
        replicas.close()


@pytest.mark.parametrize("how", ["gone", "hanging"])
def test_while_redis_is_away_reads_are_answered_and_writes_are_to_be_made_again(
    folder: Path, redis: RedisServer, how: str
) -> None:
    replicas = Replicas(folder, redis)
    comment = {"filePath": "a.py", "line": 1, "text": "meanwhile", "tag": "TODO"}
    try:
        run("postil", "inbox", "send", "--file", "a.py", "-c", "please look", cwd=folder, **replicas.environ)
        assert replicas.call("inbox_reply", {"id": 1, "text": "before"})[0] == 200
        for _ in range(3):
            assert replicas.ask("inbox_list", {})[0].headers["X-Postil-Stale"] is None
        redis.kill() if how == "gone" else redis.pause()
        for _ in range(3):
            said, answer = replicas.ask("inbox_list", {})
            assert (said.status, answer["result"]["messages"][0]["comment"]) == (200, "please look")
            assert int(said.headers["X-Postil-Stale"]) < 60
        assert replicas.call("workspace_info", {})[0] == 200
        assert replicas.call("list_comments", {"filePath": "a.py"})[0] == 200
        for method, params in (("inbox_reply", {"id": 1, "text": "meanwhile"}), ("add_comment", comment)):
            said, answer = replicas.ask(method, params, key=f"{method}-meanwhile")
            assert (said.status, answer["error"]["data"]["status"]) == (503, 503)
            assert int(said.headers["Retry-After"]) >= 1
        assert not (folder / "a.py.comments").exists()
        redis.start() if how == "gone" else redis.go_on()
        after = replicas.until(200, "inbox_reply", {"id": 1, "text": "after"}, key="after")
        assert "result" in after
        shown = run("postil", "inbox", "show", "1", "--json", cwd=folder, **replicas.environ).stdout
        assert ("before" in shown, "meanwhile" in shown, shown.count('"after"')) == (True, False, 1)
        said, _ = replicas.ask("inbox_list", {})
        assert said.headers["X-Postil-Stale"] is None
    finally:
        redis.go_on()
        redis.start()
        replicas.close()


@pytest.mark.judge
@pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")
def test_a_session_of_the_python_sdk_is_served_by_every_replica(folder: Path, redis: RedisServer) -> None:
    import httpx2
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client

    replicas = Replicas(folder, redis)
    heard = asyncio.Event()

    async def hear(message: object) -> None:
        if "resources/updated" in str(message) or "ResourceUpdated" in type(message).__name__:
            heard.set()

    async def visit() -> str:
        authorization = {"Authorization": f"Bearer {replicas.key}"}
        answered: list[httpx2.Response] = []

        async def note(response: httpx2.Response) -> None:
            answered.append(response)

        async with httpx2.AsyncClient(headers=authorization, timeout=20, event_hooks={"response": [note]}) as http:
            transport = streamable_http_client(f"http://127.0.0.1:{replicas.proxy.port}/mcp", http_client=http)
            async with Client(transport, mode="legacy", read_timeout_seconds=20, message_handler=hear) as client:
                assert client.protocol_version == "2025-11-25"
                for _ in range(6):  # twice round
                    assert "inbox_list" in [tool.name for tool in (await client.list_tools()).tools]
                    assert not (await client.call_tool("workspace_info", {})).is_error
                await client.subscribe_resource("lazygit://messages")  # pyright: ignore[reportDeprecated] - its era
                await asyncio.to_thread(send, replicas, folder, "to be heard")
                await asyncio.wait_for(heard.wait(), 10)
                taken = await client.call_tool("check_lazygit_messages", {})
                assert "to be heard" in str(taken.content)
                replicas.kill_one(0)
                for _ in range(3):
                    assert "No new messages" in str((await client.call_tool("check_lazygit_messages", {})).content)
        return answered[1].request.headers["mcp-session-id"]

    try:
        session = asyncio.run(visit())
        # The client ended it, so soon no replica knows it any more: the others look every half second.
        wait_until(lambda: {in_session(replicas, port, session) for port in replicas.ports} == {404})
    finally:
        replicas.close()


def test_a_session_is_known_only_to_its_own_principal_on_every_replica(folder: Path, redis: RedisServer) -> None:
    replicas = Replicas(folder, redis)
    try:
        made = run("postil", "key", "create", "other", "--workspace", "--json", cwd=folder, **replicas.environ)
        other: str = json.loads(made.stdout)["key"]
        params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
        said, _ = replicas.ask("initialize", params)
        session = said.headers["Mcp-Session-Id"]
        assert [in_session(replicas, port, session, other) for port in replicas.ports] == [404] * 3
        assert [in_session(replicas, port, session) for port in replicas.ports] == [200] * 3
        assert [in_session(replicas, port, "x" * 32) for port in replicas.ports] == [404] * 3
    finally:
        replicas.close()


def wait_until(is_so: Callable[[], bool]) -> None:
    """Wait for what other processes do, bounded; asked so seldom that the limit of calls is not what answers."""
    end = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < end, "it never came"
        time.sleep(LOOK_EVERY)


def send(replicas: Replicas, folder: Path, comment: str) -> None:
    sent = run("postil", "inbox", "send", "--file", "a.py", "-c", comment, cwd=folder, **replicas.environ)
    assert sent.returncode == 0, sent.stderr


def in_session(replicas: Replicas, port: int, session: str, key: str = "") -> int:
    """The status of a ping in this session at this replica."""
    return at_replica(replicas, replicas.ports.index(port), request("ping"), key, **{"Mcp-Session-Id": session})


def at_replica(replicas: Replicas, number: int, message: Any, key: str = "", **more: str) -> int:
    """The status of what this one replica answers, without the proxy."""
    connection = http.client.HTTPConnection("127.0.0.1", replicas.ports[number], timeout=20)
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {key or replicas.key}", "Accept": BOTH}
    connection.request("POST", "/mcp", json.dumps(message), {**headers, **more})
    status = connection.getresponse().status
    connection.close()
    return status
