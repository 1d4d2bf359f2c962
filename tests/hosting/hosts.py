"""Three hosts with clones of their own over one bare repository, as real processes that can be killed and paused."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.storage.postgres_server import PostgresServer
from tests.surfaces.programs import BIN, run

SETTINGS = """
[limits]
per_minute = 0
[workspaces.team-one]
remote = "{bare}"
members = ["key:member"]
readers = ["key:reader"]
[workspaces.elsewhere]
remote = "{bare}"
members = ["key:stranger"]
"""


def make_bare(folder: Path) -> Path:
    """A bare repository with one commit on main."""
    seed, bare = folder / "seed", folder / "bare.git"
    subprocess.run(["git", "init", "-q", str(seed)], check=True)
    (seed / "a.py").write_text("".join(f"value_{n} = {n}\n" for n in range(40)))
    (seed / "b.py").write_text("def two():\n    return 2\n")
    for words in (["add", "."], ["commit", "-qm", "first"]):
        subprocess.run(["git", *words], cwd=seed, check=True)
    subprocess.run(["git", "clone", "-q", "--bare", str(seed), str(bare)], check=True)
    return bare


class Hosts:
    """The hosts, each with a state folder and so a clone of its own."""

    def __init__(self, folder: Path, postgres: PostgresServer, count: int = 3, *, peers: Sequence[str] = ()) -> None:
        self.folder, self.bare = folder, make_bare(folder)
        config = folder / "postil.toml"
        config.write_text(SETTINGS.format(bare=self.bare))
        self.environ = {
            "POSTIL_STATE": postgres.address,
            "POSTIL_SECRET": "shared by all the hosts",
            "POSTIL_CONFIG": str(config),
        }
        self.keys = {name: self._make_key(name) for name in ("member", "reader", "stranger")}
        self.ports = [0] * count
        self._peers = peers
        """The addresses by which the hosts reach one another, where these are not their own."""
        self.processes = [self._start(number) for number in range(count)]
        self.paused: set[int] = set()

    def _make_key(self, name: str) -> str:
        made = run("postil", "key", "create", name, "--json", cwd=self.folder, **self.environ)
        assert made.returncode == 0, made.stderr
        return json.loads(made.stdout)["key"]

    def _start(self, number: int) -> subprocess.Popen[str]:
        home = self.folder / f"host{number}"
        home.mkdir(exist_ok=True)
        own = {f"XDG_{name}_HOME": str(home / name.lower()) for name in ("STATE", "CACHE")}
        if self._peers:
            own["POSTIL_PEER_ADDRESS"] = self._peers[number]
        command = [BIN / "postil", "serve", "--http", f"127.0.0.1:{self.ports[number]}", "--auth", "key"]
        process = subprocess.Popen(
            command, cwd=home, stderr=subprocess.PIPE, text=True, env={**os.environ, **self.environ, **own}
        )
        assert process.stderr is not None
        said = process.stderr.readline()
        found = re.search(r":(\d+)/mcp", said)
        assert found is not None, said + process.stderr.read()
        self.ports[number] = int(found[1])
        return process

    def kill(self, number: int) -> None:
        self.go_on(number)
        self.processes[number].kill()
        self.processes[number].wait()

    def start(self, number: int) -> None:
        stderr = self.processes[number].stderr
        if stderr is not None:
            stderr.close()
        self.processes[number] = self._start(number)

    def pause(self, number: int) -> None:
        self.processes[number].send_signal(signal.SIGSTOP)
        self.paused.add(number)

    def go_on(self, number: int) -> None:
        self.processes[number].send_signal(signal.SIGCONT)
        self.paused.discard(number)

    def end(self, number: int) -> int:
        """Ask it to end; returns its status."""
        self.processes[number].terminate()
        return self.processes[number].wait(30)

    def close(self) -> None:
        for number, process in enumerate(self.processes):
            with suppress(ProcessLookupError):
                self.kill(number)
            if process.stderr is not None:
                process.stderr.close()

    def ask(
        self,
        number: int,
        method: str,
        params: dict[str, Any],
        *,
        key: str = "",
        who: str = "member",
        path: str = "/w/team-one/mcp",
        timeout: float = 60,
        headers: dict[str, str] | None = None,
    ) -> tuple[int, Any]:
        """The status and the answer of one host. Raises OSError or HTTPException where there is none."""
        connection = http.client.HTTPConnection("127.0.0.1", self.ports[number], timeout=timeout)
        sent = {"Content-Type": "application/json", "Authorization": f"Bearer {self.keys.get(who, who)}"}
        if key:
            sent["Idempotency-Key"] = key
        try:
            body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
            connection.request("POST", path, body, {**sent, **(headers or {})})
            answer = connection.getresponse()
            content = answer.read()
            return answer.status, json.loads(content) if content else None
        finally:
            connection.close()

    def until_done(self, number: int, method: str, params: dict[str, Any], **more: Any) -> Any:
        """Ask again and again, as the answers advise, until there is a result."""
        end = time.monotonic() + 60
        while True:
            status, answer = self.ask(number, method, params, **more)
            if status == 200 and "result" in answer:
                return answer["result"]
            assert (status in (503, 504), time.monotonic() < end) == (True, True), answer
            time.sleep(0.1)


def find_holder(hosts: Hosts, postgres: PostgresServer) -> int:
    """The host that has the lease, by its address."""
    ((address,),) = postgres.execute("SELECT address FROM postil_leases WHERE name = 'team-one'")
    return hosts.ports.index(int(str(address).rpartition(":")[2]))


def find_numbers(hosts: Hosts, number: int) -> list[int]:
    """The numbers of all comments and issues that were written as `write N`, as this host's clone holds them."""
    clone = hosts.folder / f"host{number}" / "state" / "postil" / "workspaces" / "team-one"
    private = {"XDG_STATE_HOME": str(hosts.folder / "look"), "XDG_CACHE_HOME": str(hosts.folder / "look")}
    comments = run("postil", "comments", "export", "json", cwd=clone, **private)
    issues = run("postil", "issue", "list", "--limit", "100000", "--json", cwd=clone, **private)
    assert (comments.returncode, issues.returncode) == (0, 0), comments.stderr + issues.stderr
    shown = [each["title"] for each in json.loads(issues.stdout)["items"]]
    texts = re.findall(r'"(?:text|content)": ?"write (\d+)"', comments.stdout)
    return [*map(int, texts), *(int(title.split()[1]) for title in shown if title.startswith("write "))]
