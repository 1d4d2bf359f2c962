"""The gateway as a team meets it: `postil serve --http` in front of a GitLab, with the contract's own words."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import time
import urllib.request
from pathlib import Path
from typing import Any

import msgspec
import pytest
import redis as redis_client

from postil.app import App
from postil.settings.load import load
from postil.settings.model import Auth, HttpSettings, OAuthSettings, SecuritySettings
from postil.surfaces.gateway.compose import BadGateway, compose, read_secret
from postil.surfaces.gateway.signatures import signature
from tests.emulator.app import Emulator
from tests.emulator.server import running as emulating
from tests.emulator.world import DEVELOPER
from tests.storage.redis_server import redis_server
from tests.surfaces.programs import BIN, run
from tests.surfaces.served import Served, serve_http

LIST: dict[str, Any] = {"jsonrpc": "2.0", "method": "list_projects", "params": {}, "id": 1}


def test_the_contracts_call_works_with_a_gitlab_token(repository: Path) -> None:
    emulator = Emulator()
    with emulating(emulator) as gitlab, serve_http(repository, GITLAB_URL=gitlab) as server:
        answer, said = server.ask(LIST, DEVELOPER)
        assert answer.status == 200
        assert said["result"]["projects"]
        assert (answer.headers["X-RateLimit-Limit"], answer.headers["X-RateLimit-Remaining"]) == ("600", "599")
        refused, said = server.ask(LIST, "glpat-nobody-knows-it")
        assert (refused.status, said["error"]["code"], said["error"]["data"]["status"]) == (401, -32000, 401)
        batch = [LIST, {"jsonrpc": "2.0", "method": "workspace_info", "id": 2}]
        _, both = server.ask(batch, DEVELOPER)
        assert "projects" in both[0]["result"]
        assert both[1]["error"]["code"] == -32601  # a GitLab user is no user of this workspace
        _, mine = server.ask(batch[1], server.token)
        assert mine["result"]["branch"] == "main"
    assert {seen.token for seen in emulator.seen} <= {DEVELOPER, "glpat-nobody-knows-it"}


def test_kept_answers_are_said_to_be_kept(repository: Path) -> None:
    with emulating(Emulator()) as gitlab, serve_http(repository, "--auth", "pat", GITLAB_URL=gitlab) as server:
        kept = {**LIST, "params": {"cache": True, "cache_ttl": 300}}
        states = [server.ask(kept, DEVELOPER)[0].headers["X-Cache"] for _ in range(2)]
        assert states == ["MISS", "HIT"]
        assert server.ask(LIST, DEVELOPER)[0].headers["X-Cache"] is None


def test_the_metrics_count_calls_limits_kept_answers_and_what_gitlab_said(repository: Path, tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    own.write_text('[http]\noperators = ["*"]\n')
    given = {"POSTIL_CONFIG": str(own)}
    with emulating(Emulator()) as gitlab, serve_http(repository, "--auth", "pat", GITLAB_URL=gitlab, **given) as server:
        for params in ({"cache": True}, {"cache": True}, {"visibility": "odd"}):
            server.ask({**LIST, "params": params}, DEVELOPER)
        server.ask({**LIST, "method": "get_project", "params": {"project_id": 999999}}, DEVELOPER)
        server.ask(LIST, "glpat-nobody-knows-it")
        asked = urllib.request.Request(
            server.url.replace("/mcp", "/metrics"), headers={"Authorization": f"Bearer {DEVELOPER}"}
        )
        with urllib.request.urlopen(asked, timeout=20) as answer:
            lines = answer.read().decode().splitlines()
    counted = dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
    assert counted['postil_calls_total{operation="list_projects",outcome="ok"}'] == "2"
    assert counted['postil_calls_total{operation="list_projects",outcome="failed"}'] == "1"
    assert (counted['postil_cache_total{state="HIT"}'], counted['postil_cache_total{state="MISS"}']) == ("1", "1")
    assert (
        counted['postil_gitlab_answers_total{status="200"}'],
        counted['postil_gitlab_answers_total{status="404"}'],
    ) == ("1", "1")
    assert counted["postil_calls_over_limit_total"] == "0"
    assert counted["postil_wrong_credentials_total"] == "1"
    described = [line for line in lines if line.startswith("# TYPE")]
    assert len(described) == len(set(described)), "a metric is described once"


def test_a_token_is_written_nowhere(repository: Path, tmp_path: Path) -> None:
    state = tmp_path / "state"
    environ = {"XDG_STATE_HOME": str(state), "POSTIL_DEBUG": "1"}
    canary = DEVELOPER.encode()
    said = tmp_path / "said"
    with emulating(Emulator()) as gitlab, said.open("wb") as stderr:
        command = [BIN / "postil", "serve", "--http", "127.0.0.1:0", "--auth", "pat"]
        environment = {**os.environ, **environ, "GITLAB_URL": gitlab}
        with subprocess.Popen(command, cwd=repository, stderr=stderr, env=environment) as process:
            url = ""
            while not url:
                found = re.search(rb"serving (\S+)", said.read_bytes())
                url = found[1].decode() if found else ""
                assert process.poll() is None
            server = Served(url, "")
            for name, params in (
                ("list_projects", {"cache": True}),
                ("create_issue", {"project_id": 123, "title": "t"}),
                ("create_issue", {"project_id": DEVELOPER}),
                ("get_project", {"project_id": 999999}),
                ("nosuch", {}),
            ):
                _, answer = server.ask({"jsonrpc": "2.0", "id": 1, "method": name, "params": params}, DEVELOPER)
                assert name == "create_issue" or canary not in json.dumps(answer).encode()
            assert canary not in Path(f"/proc/{process.pid}/cmdline").read_bytes()
            process.terminate()
            process.wait(10)
    kept = [path for path in state.rglob("*") if path.is_file()]
    assert kept, "the audit was written"
    assert not [path for path in (*kept, said) if canary in path.read_bytes()]


def test_neither_tokens_nor_secrets_of_projects_are_in_redis(repository: Path) -> None:
    emulator = Emulator()
    emulator.faults.add("extra")  # GitLab's answers hold runners' tokens and addresses with passwords
    with redis_server() as redis, emulating(emulator) as gitlab:
        environ = {"POSTIL_STATE": redis.address, "POSTIL_SECRET": "of this installation"}
        with serve_http(repository, "--auth", "pat", GITLAB_URL=gitlab, **environ) as server:
            for name, params in (
                ("list_projects", {"cache": True}),
                ("get_project", {"project_id": 123, "cache": True}),
                ("create_issue", {"project_id": 123, "title": "t"}),
            ):
                body = {"jsonrpc": "2.0", "id": 1, "method": name, "params": params}
                assert "result" in server.ask(body, DEVELOPER, Idempotency_Key=f"key of {name}")[1]
            assert server.ask(LIST, "glpat-nobody-knows-it")[0].status == 401
        with redis_client.Redis.from_url(redis.address) as client:  # pyright: ignore[reportUnknownMemberType]
            names: list[bytes] = client.keys("*")  # type: ignore[assignment]
            dumped = [client.dump(name) for name in names]
        kept = (redis.folder / "appendonlydir").rglob("*")
        everything = [*names, *dumped, *(path.read_bytes() for path in kept if path.is_file())]
    held = b"\n".join(part for part in everything if isinstance(part, bytes))
    assert b"postil:kept:gitlab:" in held
    for secret in (DEVELOPER.encode(), b"glpat-", b"GR1348941", b"hunter2", b"runners_token"):
        assert secret not in held, secret


@pytest.mark.parametrize(("setting", "entry"), [("ip_whitelist", "bad.example"), ("blocked_ips", "no such/thing")])
def test_a_faulty_address_list_stops_the_start_and_is_quoted(
    repository: Path, tmp_path: Path, setting: str, entry: str
) -> None:
    config = tmp_path / "postil.yaml"
    config.write_text(f'security:\n  {setting}:\n    - "{entry}"\n')
    ended = run("postil", "--config", str(config), "serve", "--http", "127.0.0.1:0", cwd=repository)
    assert (ended.returncode, repr(entry) in ended.stderr) == (2, True)


def test_the_contracts_address_lists_work_as_they_are_written(repository: Path, tmp_path: Path) -> None:
    lists = (
        'security:\n  ip_whitelist:\n    - "192.168.1.0/24"\n    - "{}"\n  blocked_ips:\n    - "malicious.invalid"\n'
    )
    info = {"jsonrpc": "2.0", "method": "workspace_info", "id": 2}
    for network, status in (("10.0.0.0/8", 403), ("127.0.0.0/8", 200)):
        config = tmp_path / "postil.yaml"
        config.write_text(lists.format(network))
        with serve_http(repository, POSTIL_CONFIG=str(config)) as server:
            assert server.ask(info, server.token)[0].status == status


def test_a_key_made_to_be_signed_opens_nothing_unsigned(repository: Path, tmp_path: Path) -> None:
    (tmp_path / "shared").write_text("the shared secret of the team\n")
    config = tmp_path / "user.toml"
    config.write_text(f'[security]\nsigning_key_files = ["{tmp_path}/shared"]\n')
    environ = {"XDG_STATE_HOME": str(tmp_path / "state"), "POSTIL_CONFIG": str(config)}
    words = ("key", "create", "ci", "--workspace", "--require-signature", "--json")
    key = json.loads(run("postil", *words, cwd=repository, **environ).stdout)["key"]
    assert "signed only" in run("postil", "key", "list", cwd=repository, **environ).stdout
    info = {"jsonrpc": "2.0", "method": "workspace_info", "id": 2}
    stamp = str(int(time.time()))
    payload = f"{stamp}..{json.dumps(info)}".encode()
    sign = signature(b"the shared secret of the team", payload).decode()
    with serve_http(repository, "--auth", "key", **environ) as server:
        assert server.ask(info, key)[0].status == 401
        assert server.ask(info, key, X_MCP_Signature=sign, X_MCP_Timestamp=stamp)[0].status == 200


@pytest.mark.parametrize(("size", "good"), [(15, False), (16, True), (4096, True), (4097, False)])
def test_a_secret_has_sixteen_to_4096_bytes_without_its_newline(size: int, good: bool, tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_bytes(b"s" * size + b"\n" * (size < 4096))
    if good:
        assert read_secret(str(file)) == b"s" * size
        return
    with pytest.raises(BadGateway):
        read_secret(str(file))


def test_a_secret_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadGateway, match=str(tmp_path / "nothing")):
        read_secret(str(tmp_path / "nothing"))


def test_a_secret_that_everybody_can_read_is_warned_of(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_bytes(b"s" * 32)
    security = SecuritySettings(signing_key_files=(str(file),))
    for mode, warned in ((0o600, 0), (0o640, 0), (0o641, 0), (0o642, 1), (0o644, 1)):
        file.chmod(mode)
        assert len(compose(composition(tmp_path, security=security), "token").warnings) == warned


def composition(tmp_path: Path, **settings: Any) -> App:
    loaded = load({"HOME": str(tmp_path)}, str(tmp_path))
    return App(msgspec.structs.replace(loaded, **settings))


def test_a_signature_that_is_required_needs_a_secret(tmp_path: Path) -> None:
    with pytest.raises(BadGateway, match="no secret"):
        compose(composition(tmp_path, security=SecuritySettings(signature="required")), "token")


def test_oauth_needs_an_issuer_and_our_own_address(tmp_path: Path) -> None:
    for oauth in (OAuthSettings(issuer="https://id.example"), OAuthSettings(resource="https://postil.example/mcp")):
        with pytest.raises(BadGateway, match="issuer"):
            compose(composition(tmp_path, http=HttpSettings(auth="oauth"), oauth=oauth), "token")


@pytest.mark.parametrize(
    ("mode", "known"),
    [
        ("", ["LocalToken", "GitLabTokens"]),
        ("local", ["LocalToken"]),
        ("pat", ["GitLabTokens"]),
        ("key", ["AccessKeys"]),
        ("oauth", ["OAuthTokens"]),
    ],
)
def test_each_mode_knows_its_own_credentials(mode: Auth, known: list[str], tmp_path: Path) -> None:
    oauth = OAuthSettings(issuer="https://id.example", resource="https://postil.example/mcp")
    guard = compose(composition(tmp_path, http=HttpSettings(auth=mode), oauth=oauth), "token")
    assert [type(one).__name__ for one in guard.gateway.bearers.ways] == known
    assert (guard.page_for is not None) is (mode == "oauth")
    paths = ["/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-protected-resource", "/connect/gitlab"]
    assert list(guard.routes) == (paths if mode == "oauth" else [])
    assert (guard.hosts, guard.origins) == (
        (("postil.example",), ("https://postil.example",)) if mode == "oauth" else ((), ())
    )


def test_both_paths_of_the_metadata_say_where_to_get_a_token(tmp_path: Path) -> None:
    oauth = OAuthSettings(issuer="https://id.example", resource="https://postil.example/mcp")
    guard = compose(composition(tmp_path, http=HttpSettings(auth="oauth"), oauth=oauth), "token")

    async def ask(path: str) -> list[Any]:
        sent: list[Any] = []

        async def send(message: Any) -> None:
            sent.append(message)

        async def receive() -> Any:
            raise AssertionError("there is no body to be read")

        await guard.routes[path]({"type": "http", "method": "GET", "path": path}, {}, receive, send)
        return sent

    for path in ("/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-protected-resource"):
        sent = asyncio.run(ask(path))
        assert sent[0]["status"] == 200
        assert b'"https://id.example"' in b"".join(each.get("body", b"") for each in sent)


def test_without_gitlab_there_is_no_page_for_its_tokens(tmp_path: Path) -> None:
    oauth = OAuthSettings(issuer="https://id.example", resource="https://postil.example/mcp")
    settings: dict[str, Any] = {"http": HttpSettings(auth="oauth"), "oauth": oauth, "parts": ("inbox",)}
    assert compose(composition(tmp_path, **settings), "token").page_for is None


def test_a_webhook_is_heard_only_where_there_is_a_secret_for_it(tmp_path: Path) -> None:
    (tmp_path / "hook").write_text("the secret of the hook")
    security = SecuritySettings(webhook_key_files=(str(tmp_path / "hook"),))
    assert list(compose(composition(tmp_path, security=security), "token").routes) == ["/webhooks/gitlab"]
    assert compose(composition(tmp_path), "token").routes == {}
