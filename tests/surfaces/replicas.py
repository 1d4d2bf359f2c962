"""Three replicas behind a proxy, callers that remember what they were told, and trouble meanwhile."""

from __future__ import annotations

import http.client
import itertools
import json
import os
import re
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Protocol

from tests.storage.redis_server import RedisServer
from tests.surfaces.programs import BIN, run
from tests.surfaces.proxy import RoundRobin
from tests.wire.http_client import request

# Short by default, with a kill every hundred calls. The whole promise, by the clock: `make replicas`.
KILL_SECONDS = float(os.environ.get("POSTIL_REPLICA_KILL_SECONDS", "0"))
KILL_CALLS = 100
CALLERS = 4


class Proxy(Protocol):
    """What stands before the replicas."""

    @property
    def port(self) -> int:
        """Where it listens."""
        ...

    def close(self) -> None:
        """End it."""
        ...


class Replicas:
    """Three servers behind a round-robin proxy, started again when they are killed."""

    def __init__(
        self,
        repository: Path,
        redis: RedisServer,
        make_proxy: Callable[[Sequence[int]], Proxy] = RoundRobin,
        **environ: str,
    ) -> None:
        self.repository = repository
        shared = {"POSTIL_STATE": redis.address, "POSTIL_EPHEMERAL": redis.address}
        self.environ = {**shared, "POSTIL_SECRET": "shared by all replicas", **environ}
        made = run("postil", "key", "create", "team", "--workspace", "--json", cwd=repository, **self.environ)
        self.key: str = json.loads(made.stdout)["key"]
        self.processes: list[subprocess.Popen[str]] = []
        self.ports = [0, 0, 0]
        for number in range(3):
            self.processes.append(self._start(number))
        self.proxy: Proxy = make_proxy(self.ports)

    def _start(self, number: int) -> subprocess.Popen[str]:
        command = [BIN / "postil", "serve", "--http", f"127.0.0.1:{self.ports[number]}", "--auth", "key"]
        environ = {**os.environ, **self.environ}
        end = time.monotonic() + 60
        while True:
            process = subprocess.Popen(command, cwd=self.repository, stderr=subprocess.PIPE, text=True, env=environ)
            assert process.stderr is not None
            said = process.stderr.readline()
            found = re.search(r":(\d+)/mcp", said)
            if found is not None:
                self.ports[number] = int(found[1])
                return process
            # As a service manager does: a server that finds its state away ends, and is started again.
            said += process.stderr.read()
            assert ("cannot be reached" in said, time.monotonic() < end) == (True, True), said
            self.end(process)

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
            content = answer.read()
            is_ours = answer.headers.get_content_type() == "application/json"  # a proxy's own page is not
            return (answer.status, json.loads(content)) if is_ours else (502, None)
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
                content = answer.read()
                if answer.headers.get_content_type() == "application/json":
                    return answer, json.loads(content)
                time.sleep(0.05)  # the proxy's own: nobody was there
            except (OSError, http.client.HTTPException):
                time.sleep(0.05)  # what a client does before it tries again
            finally:
                connection.close()
        raise AssertionError("no replica answered")


READS: list[tuple[str, dict[str, Any]]] = [
    ("inbox_list", {}),
    ("workspace_info", {}),
    ("tools/list", {}),
    ("tools/call", {"name": "inbox_list", "arguments": {}}),
]


class Calls:
    """Counts the calls made, and makes trouble every so many of them, or every so many seconds."""

    def __init__(self, every: int) -> None:
        self.troubles = 0
        self._every = every
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
                    due = (self.troubles + 1) * self._every
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


def call_meanwhile(
    replicas: Replicas,
    count: int,
    trouble: Callable[[int], None],
    made: Callable[[], None] = lambda: None,
    every: int = KILL_CALLS,
) -> tuple[Ledger, int]:
    """Make mixed calls while there is trouble. Returns what was told, and how much trouble there was."""
    folder, environ = replicas.repository, replicas.environ
    sent = run("postil", "inbox", "send", "--file", "a.py", "-c", "please look", "--json", cwd=folder, **environ)
    assert sent.returncode == 0, sent.stderr
    calls, ledger = Calls(every), Ledger(replicas)
    maker = threading.Thread(target=calls.make_trouble, args=[trouble])
    maker.start()

    def one(n: int) -> None:
        (ledger.read, ledger.read, ledger.write, ledger.read, ledger.read, ledger.write_once)[n % 6](n)
        calls.count()
        made()

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
