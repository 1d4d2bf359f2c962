"""docs/deploy.md with real nginx and real Caddy: streams, addresses, bounds, and replicas that are killed."""

from __future__ import annotations

import json
import os
import re
import ssl
import subprocess
import threading
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import TypeAlias

import pytest

from tests.emulator.app import Emulator
from tests.emulator.server import running
from tests.emulator.world import DEVELOPER
from tests.needs import ROOT, needs
from tests.storage.redis_server import redis_server
from tests.surfaces.programs import BIN, run
from tests.surfaces.proxies import NAME, Proxy, caddy, nginx
from tests.wire.http_client import request

TEXT = (ROOT / "docs" / "deploy.md").read_text("utf-8")
Start: TypeAlias = Callable[[str, Path, dict[str, int]], AbstractContextManager[Proxy]]
CALLS = 60
AT_ONCE = 4


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", TEXT, re.DOTALL)


@contextmanager
def unit(address: str, folder: Path) -> Generator[int]:
    """The server as the page's unit starts it, with its settings; its port."""
    (ini,), (toml, *_) = blocks("ini"), blocks("toml")
    subprocess.run(["git", "init", "--quiet", str(folder / "workspace")], check=True)
    places = {"/etc": folder / "etc", "/var/lib": folder / "lib", "/var/cache": folder / "cache"}
    for place in places.values():
        (place / "postil").mkdir(parents=True)

    def here(text: str) -> str:
        for named, place in places.items():
            text = re.sub(rf"(?<=[=\" ]){named}\b", str(place), text)
        return text

    (folder / "etc" / "postil" / "postil.toml").write_text(here(toml))
    secret = folder / "etc" / "postil" / "webhook-secret"
    secret.write_bytes(subprocess.run(webhook_secret(), check=True, capture_output=True).stdout)
    environ = dict(re.findall(r"(\w+)=(\S+)", " ".join(re.findall(r"^Environment=(.*)$", here(ini), re.MULTILINE))))
    (started,) = re.findall(r"^ExecStart=/opt/postil/bin/(.*)$", here(ini), re.MULTILINE)
    assert "--http 127.0.0.1:3000" in started
    program, *words = started.replace("127.0.0.1:3000", "127.0.0.1:0").split()
    environ = {**environ, "GITLAB_URL": address, "PATH": os.environ["PATH"], "HOME": str(folder / "lib" / "postil")}
    with subprocess.Popen(
        [str(BIN / program), *words], cwd=folder / "workspace", env=environ, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            yield port_of(process)
            assert sorted(
                each.name for each in (folder / "lib" / "postil").iterdir()
            )  # the state is where the page says
        finally:
            process.terminate()
            process.communicate(timeout=60)


def webhook_secret() -> list[str]:
    (line,) = [line for line in blocks("sh")[0].splitlines() if "secrets.token_hex" in line]
    found = re.search(r"python3 -c '([^']+)'", line)
    assert found is not None
    return [needs("python3"), "-c", found[1]]


def port_of(process: subprocess.Popen[str]) -> int:
    assert process.stderr is not None
    line = process.stderr.readline()
    found = re.search(r":(\d+)/mcp", line)
    assert found is not None, line + process.stderr.read()
    return int(found[1])


@pytest.fixture(scope="module")
def gitlab() -> Generator[tuple[Emulator, str]]:
    emulator = Emulator()
    with running(emulator) as address:
        yield emulator, address


@pytest.mark.parametrize("start", [nginx, caddy])
@pytest.mark.timeout(300)
def test_one_machine_behind_a_proxy_as_the_page_says(
    start: Start, gitlab: tuple[Emulator, str], tmp_path: Path
) -> None:
    emulator, address = gitlab
    text = blocks(start.__name__ if start is nginx else "caddyfile")[0]
    with unit(address, tmp_path) as port, start(text, tmp_path / "proxy", {"127.0.0.1:3000": port}) as proxy:
        status, said, _ = proxy.post(request("get_project", {"project_id": 123}), DEVELOPER)
        assert (status, said["result"]["id"]) == (200, 123)
        status, said, _ = proxy.post(request("whoami", request_id="mine"), "glpat-unknown")
        assert (status, said["id"], said["error"]["data"]["status"]) == (401, "mine", 401)
        # A client's own word about its address does not pass: neither is believed, neither makes the request odd.
        lies = {"X_Forwarded_For": "203.0.113.7", "Forwarded": "for=203.0.113.8"}
        assert proxy.post(request("get_project", {"project_id": 123}), DEVELOPER, **lies)[0] == 200
        assert proxy.post(request("whoami"), DEVELOPER, Host="evil.example")[0] in (200, 403, 421)
        try:
            assert proxy.post(b"x" * (5 * 1024 * 1024), DEVELOPER)[0] == 413
        except (ssl.SSLError, ConnectionError):
            pass  # refused and cut off before all was sent: a client that only writes sees no more than that
        check_stream(proxy, emulator)


def check_stream(proxy: Proxy, emulator: Emulator) -> None:
    """What is said before the answer arrives before it: the pipeline ends only when its progress has been read."""
    _, said, _ = proxy.post(request("trigger_pipeline", {"project_id": 123, "ref": "main"}), DEVELOPER)
    number = said["result"]["id"]
    connection = proxy.connect()
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    headers = {
        "Host": NAME, "Content-Type": "application/json", "Authorization": f"Bearer {DEVELOPER}",
        "Accept": "application/json, text/event-stream",
    }  # fmt: skip
    connection.request("POST", "/mcp", json.dumps(request("initialize", params)), headers)
    opened = connection.getresponse()
    opened.read()
    session = opened.headers["Mcp-Session-Id"]
    arguments = {"project_id": 123, "pipeline_id": number, "timeout_seconds": 60}
    call = {"name": "wait_pipeline", "arguments": arguments, "_meta": {"progressToken": "p"}}
    raw = json.dumps(request("tools/call", call, 2))
    connection.request("POST", "/mcp", raw, {**headers, "Mcp-Session-Id": session})
    answer = connection.getresponse()
    assert answer.headers["Content-Type"].startswith("text/event-stream")
    first = next(line for line in answer if line.startswith(b"data: {"))
    assert b"notifications/progress" in first
    (pipeline,) = [row for row in emulator.world.projects[0].pipelines if row["id"] == number]
    pipeline["status"] = "success"
    last = [line for line in answer if line.startswith(b"data: {")][-1]
    assert b'"id":2' in last
    assert b"success" in last
    connection.close()


# -- replicas ------------------------------------------------------------------------------------------------


def replica_texts() -> dict[str, str]:
    """The page's texts for one machine with its lines for many in the place of `proxy_pass`, as it says."""
    one, many = blocks("nginx")
    upstream, _, rest = many.partition("# and above, in the location:\n")
    lines = "\n".join(re.sub(r"#.*", "", line.removeprefix("#")) for line in rest.splitlines())
    site = one.replace("    proxy_pass http://127.0.0.1:3000;\n", lines)
    assert site != one
    single, several = blocks("caddyfile")
    place = re.search(r"reverse_proxy 127.*?\n  }\n", single, re.DOTALL)
    assert place is not None
    balanced = several.replace("{\n", "{\n    header_up -Forwarded\n", 1)
    return {"nginx": f"{upstream}\n{site}", "caddy": single.replace(place[0], balanced)}


@pytest.mark.parametrize("start", [nginx, caddy])
@pytest.mark.timeout(300)
def test_a_killed_replica_costs_no_error_to_a_client_that_repeats_once(start: Start, tmp_path: Path) -> None:
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    with ExitStack() as stack:
        redis = stack.enter_context(redis_server())
        environ = {
            "POSTIL_STATE": redis.address, "POSTIL_EPHEMERAL": redis.address, "POSTIL_SECRET": "shared by all replicas",
            "POSTIL_ALLOWED_HOSTS": NAME, "POSTIL_TRUSTED_PROXIES": "127.0.0.1",
        }  # fmt: skip
        made = run("postil", "key", "create", "team", "--workspace", "--json", cwd=tmp_path, **environ)
        key = json.loads(made.stdout)["key"]
        replicas = [stack.enter_context(replica(tmp_path, 0, environ)) for _ in range(3)]
        ports = {f"10.0.0.1{number + 1}:3000": port_of(each) for number, each in enumerate(replicas)}
        proxy = stack.enter_context(start(replica_texts()[start.__name__], tmp_path / "proxy", ports))
        done = threading.Semaphore(0)

        (tmp_path / "a.txt").write_text("x\n")
        sent = run("postil", "inbox", "send", "--file", "a.txt", "--comment", "a remark", cwd=tmp_path, **environ)
        assert sent.returncode == 0, sent.stderr

        undecided: set[str] = set()

        def call(number: int) -> list[int]:
            message = request("inbox_reply", {"id": 1, "text": f"reply {number:04d}"})
            statuses: list[int] = []
            try:
                while statuses[-1:] != [200] and len(statuses) < 2:
                    status, said, _ = proxy.post(message, key, Idempotency_Key=f"call-{number}")
                    if status == 200 and "result" not in said:
                        # Its replica died between the key and the effect: nobody can know more before the key ends.
                        assert "still running" in said["error"]["message"], said
                        undecided.add(f"reply {number:04d}")
                    statuses.append(status)
            finally:
                done.release()
            return statuses

        with ThreadPoolExecutor(AT_ONCE) as pool:
            pending = [pool.submit(call, number) for number in range(CALLS)]
            for _ in range(CALLS // 3):
                assert done.acquire(timeout=60)
            replicas[0].kill()
            outcomes = [each.result(120) for each in pending]
        assert [statuses for statuses in outcomes if statuses[-1] != 200] == []
        shown = run("postil", "inbox", "show", "1", "--json", cwd=tmp_path, **environ)
        replies = re.findall(r"reply \d{4}", shown.stdout)
        assert len(replies) == len(set(replies))  # none twice
        assert {f"reply {number:04d}" for number in range(CALLS)} - set(replies) <= undecided  # none lost
        assert len(undecided) <= AT_ONCE  # no more than were under way when it died


@contextmanager
def replica(folder: Path, port: int, environ: dict[str, str]) -> Generator[subprocess.Popen[str]]:
    command = [str(BIN / "postil"), "serve", "--http", f"127.0.0.1:{port}", "--auth", "key"]
    with subprocess.Popen(
        command, cwd=folder, stderr=subprocess.PIPE, text=True, env={**os.environ, **environ}
    ) as process:
        try:
            yield process
        finally:
            process.kill()
