"""Many replicas over one Redis: one limit, one effect a key, one bus, and nothing acknowledged is lost."""

from __future__ import annotations

import asyncio
import http.client
import itertools
import json
import os
import re
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from postil.wire.transports.http.sessions import LOOK_EVERY
from tests.storage.postgres_server import PostgresServer, postgres_server
from tests.storage.redis_server import RedisServer, redis_server
from tests.surfaces.programs import BIN, run
from tests.surfaces.proxy import RoundRobin
from tests.wire.http_client import BOTH, META, STATELESS, Connection, request

# Short by default, with a kill every hundred calls. The whole promise, by the clock:
# POSTIL_REPLICA_CALLS=10000 POSTIL_REPLICA_KILL_SECONDS=2
CALLS = int(os.environ.get("POSTIL_REPLICA_CALLS", "1000"))
KILL_SECONDS = float(os.environ.get("POSTIL_REPLICA_KILL_SECONDS", "0"))
KILL_CALLS = 100
CALLERS = 4
STALL_SECONDS = float(os.environ.get("POSTIL_REPLICA_STALL_SECONDS", "1.5"))
PER_MINUTE = 600


class Replicas:
    """Three servers behind a round-robin proxy, started again when they are killed."""

    def __init__(self, repository: Path, redis: RedisServer, **environ: str) -> None:
        self.repository = repository
        shared = {"POSTIL_STATE": redis.address, "POSTIL_EPHEMERAL": redis.address}
        self.environ = {**shared, "POSTIL_SECRET": "shared by all replicas", **environ}
        made = run("postil", "key", "create", "team", "--workspace", "--json", cwd=repository, **self.environ)
        self.key: str = json.loads(made.stdout)["key"]
        self.processes: list[subprocess.Popen[str]] = []
        self.ports = [0, 0, 0]
        for number in range(3):
            self.processes.append(self._start(number))
        self.proxy = RoundRobin(self.ports)

    def _start(self, number: int) -> subprocess.Popen[str]:
        command = [BIN / "postil", "serve", "--http", f"127.0.0.1:{self.ports[number]}", "--auth", "key"]
        environ = {**os.environ, **self.environ}
        process = subprocess.Popen(command, cwd=self.repository, stderr=subprocess.PIPE, text=True, env=environ)
        assert process.stderr is not None
        said = process.stderr.readline()
        found = re.search(r":(\d+)/mcp", said)
        assert found is not None, said + process.stderr.read()
        self.ports[number] = int(found[1])
        return process

    def kill_one(self, number: int) -> None:
        """Kill -9 and start again on the same port."""
        self.end(self.processes[number])
        self.processes[number] = self._start(number)

    @staticmethod
    def end(process: subprocess.Popen[str]) -> None:
        process.kill()
        process.wait()
        assert process.stderr is not None
        process.stderr.close()

    def close(self) -> None:
        self.proxy.close()
        for process in self.processes:
            self.end(process)

    def call(self, method: str, params: dict[str, Any], key: str = "") -> tuple[int, Any]:
        """The status and the answer."""
        said, answer = self.ask(method, params, key)
        return said.status, answer

    def until(self, status: int, method: str, params: dict[str, Any], key: str) -> Any:
        """Again and again, with one key, until the status is this one: what a client does that is told to retry."""
        end = time.monotonic() + 20
        while True:
            said, answer = self.ask(method, params, key)
            if said.status == status:
                return answer
            assert (said.status, time.monotonic() < end) == (503, True), answer
            time.sleep(0.2)

    def ask_once(self, method: str, params: dict[str, Any]) -> tuple[int, Any]:
        """Ask through the proxy, once."""
        connection = http.client.HTTPConnection("127.0.0.1", self.proxy.port, timeout=60)
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self.key}"}
        try:
            connection.request("POST", "/mcp", json.dumps(request(method, params)), headers)
            answer = connection.getresponse()
            return answer.status, None if answer.status == 502 else json.loads(answer.read())
        finally:
            connection.close()

    def ask(
        self, method: str, params: dict[str, Any], key: str = "", tries: int = 60
    ) -> tuple[http.client.HTTPResponse, Any]:
        """Ask through the proxy; when the connection breaks, again with the same key."""
        body = json.dumps(request(method, params)).encode()
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self.key}"}
        if key:
            headers["Idempotency-Key"] = key
        for _ in range(tries):
            connection = http.client.HTTPConnection("127.0.0.1", self.proxy.port, timeout=60)
            try:
                connection.request("POST", "/mcp", body, headers)
                answer = connection.getresponse()
                if answer.status != 502:  # the proxy's own: nobody was there
                    return answer, json.loads(answer.read())
                time.sleep(0.05)
            except (OSError, http.client.HTTPException):
                time.sleep(0.05)  # what a client does before it tries again
            finally:
                connection.close()
        raise AssertionError("no replica answered")


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


READS: list[tuple[str, dict[str, Any]]] = [
    ("inbox_list", {}),
    ("workspace_info", {}),
    ("tools/list", {}),
    ("tools/call", {"name": "inbox_list", "arguments": {}}),
]


class Calls:
    """Counts the calls made, and makes trouble every so many of them, or every so many seconds."""

    def __init__(self) -> None:
        self.troubles = 0
        self._made = 0
        self._over = False
        self._changed = threading.Condition()

    def count(self) -> None:
        with self._changed:
            self._made += 1
            self._changed.notify_all()

    def over(self) -> None:
        with self._changed:
            self._over = True
            self._changed.notify_all()

    def make_trouble(self, trouble: Callable[[int], None]) -> None:
        for number in itertools.cycle(range(3)):
            with self._changed:
                if KILL_SECONDS:
                    self._changed.wait_for(lambda: self._over, KILL_SECONDS)
                else:
                    due = (self.troubles + 1) * KILL_CALLS
                    self._changed.wait_for(lambda due=due: self._over or self._made >= due)
                if self._over:
                    return
            self.troubles += 1
            trouble(number)


class Ledger:
    """What callers were told of each write."""

    def __init__(self, replicas: Replicas) -> None:
        self.replicas = replicas
        self.acknowledged: set[int] = set()
        self.denied: set[int] = set()
        self.unknown: set[int] = set()

    def read(self, n: int) -> None:
        method, params = READS[n % len(READS)]
        end = time.monotonic() + 90
        while True:
            status, answer = self.replicas.call(method, params)
            if status == 200 and "result" in answer:
                return
            assert (status, time.monotonic() < end) == (503, True), answer
            time.sleep(0.2)

    def write(self, n: int) -> None:
        """A write under a key, made again as the answers advise, until one says how it ended."""
        end = time.monotonic() + 90
        while True:
            status, answer = self.replicas.call("inbox_reply", {"id": 1, "text": f"reply {n:05d}"}, key=f"key-{n}")
            if status == 200 and "result" in answer:
                return self.acknowledged.add(n)
            message = answer["error"]["message"]
            if "took effect, but its answer was lost" in message:
                return self.acknowledged.add(n)
            if "interrupted" in message:  # killed between its claim and its effect, or its effect and its answer
                return self.unknown.add(n)
            assert status in (503, 504) or "still running" in message, answer
            assert time.monotonic() < end, answer
            time.sleep(0.2)

    def write_once(self, n: int) -> None:
        """A write without a key: whatever the answer says has to be so."""
        try:
            status, answer = self.replicas.ask_once("inbox_reply", {"id": 1, "text": f"reply {n:05d}"})
        except (OSError, http.client.HTTPException):
            return self.unknown.add(n)
        if status == 200 and "result" in answer:
            return self.acknowledged.add(n)
        if status in (502, 504):  # nobody answered; or somebody who says that it is not known
            return self.unknown.add(n)
        assert status == 503, answer
        return self.denied.add(n)

    def check(self, replies: list[int]) -> None:
        assert len(replies) == len(set(replies)), "a reply was made twice"
        assert self.acknowledged <= set(replies), "an acknowledged reply was lost"
        assert self.denied.isdisjoint(replies), "an answer denied what had happened"


def call_meanwhile(replicas: Replicas, count: int, trouble: Callable[[int], None]) -> tuple[Ledger, int]:
    """Make mixed calls while there is trouble. Returns what was told, and how much trouble there was."""
    folder, environ = replicas.repository, replicas.environ
    sent = run("postil", "inbox", "send", "--file", "a.py", "-c", "please look", "--json", cwd=folder, **environ)
    assert sent.returncode == 0, sent.stderr
    calls, ledger = Calls(), Ledger(replicas)
    maker = threading.Thread(target=calls.make_trouble, args=[trouble])
    maker.start()

    def one(n: int) -> None:
        (ledger.read, ledger.read, ledger.write, ledger.read, ledger.read, ledger.write_once)[n % 6](n)
        calls.count()

    try:
        with ThreadPoolExecutor(CALLERS) as callers:
            list(callers.map(one, range(count)))  # raises what one of them raised
    finally:
        calls.over()
        maker.join(60)
    shown = json.loads(run("postil", "inbox", "show", "1", "--json", cwd=folder, **environ).stdout)
    ledger.check([int(found) for found in re.findall(r"reply (\d{5})", json.dumps(shown))])
    assert calls.troubles, "there was no trouble: more calls are needed"
    return ledger, calls.troubles


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
        ledger, _ = call_meanwhile(replicas, CALLS // 2, trouble)
        assert ledger.acknowledged
        verified = run("postil", "audit", "verify", cwd=folder, **replicas.environ)
        assert "The chains are whole" in verified.stdout, verified.stdout + verified.stderr
    finally:
        postgres.go_on()
        postgres.start()
        replicas.close()


def test_the_601st_call_in_a_window_is_refused_wherever_it_lands(folder: Path, redis: RedisServer) -> None:
    replicas = Replicas(folder, redis)
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
    send(replicas, folder, "first")
    try:
        connection = Connection(replicas.ports[0])
        params = {"notifications": {"resourceSubscriptions": ["lazygit://messages"]}, "_meta": META}
        body = json.dumps(request("subscriptions/listen", params)).encode()
        headers = {"MCP-Protocol-Version": STATELESS, "Mcp-Method": "subscriptions/listen", "Accept": BOTH}
        headers |= {"Authorization": f"Bearer {replicas.key}", "Content-Type": "application/json"}
        connection.ask("POST", "/mcp", body, headers)
        assert connection.head()[0] == 200
        heard = connection.events()
        assert next(heard)["method"].endswith("acknowledged")
        time.sleep(0.5)  # the watch itself begins after the acknowledgement; nothing tells when
        begun = time.monotonic()
        assert at_replica(replicas, 1, request("inbox_resolve", {"id": 1})) == 200
        told = next(heard)
        assert told.get("method") == "notifications/resources/updated", told
        assert time.monotonic() - begun < 1
        connection.close()
    finally:
        replicas.close()


def test_a_write_whose_answer_was_cut_off_is_answered_by_another_replica_and_made_once(
    folder: Path, redis: RedisServer
) -> None:
    replicas = Replicas(folder, redis)
    try:
        send(replicas, folder, "please look")
        for n in range(10):
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
        time.sleep(2 * LOOK_EVERY)  # the others look that often
        statuses = {in_session(replicas, port, session) for port in replicas.ports}
        assert statuses == {404}, "the client ended it, so no replica knows it any more"
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
