"""Serving over HTTP: the address, who may reach it, HTTPS, and the end."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import ssl
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import pytest

from postil.settings.load import load
from postil.settings.model import HttpSettings, OAuthSettings, Settings
from postil.surfaces.http.serve import CannotListen, check_reach, warn_of_names, website_of
from tests.needs import needs
from tests.surfaces.programs import BIN, hello, run
from tests.surfaces.served import serve_http


@pytest.fixture
def served(repository: Path) -> Iterator[tuple[str, str, subprocess.Popen[str]]]:
    """A running server: its address, its token, its process."""
    command = [BIN / "postil", "serve", "--http", "127.0.0.1:0", "--deny-tool", "workspace_check"]
    with subprocess.Popen(command, cwd=repository, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        where, token = said(process.stderr, r"serving (\S+)"), said(process.stderr, r"token (\S+)")
        try:
            yield where, token, process
        finally:
            process.kill()


def said(stream: IO[str], pattern: str) -> str:
    """What the server said of itself on its next line."""
    found = re.search(pattern, stream.readline())
    assert found is not None
    return found[1]


def post(where: str, token: str, frame: dict[str, object]) -> dict[str, object]:
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    body = json.dumps({"jsonrpc": "2.0", **frame}).encode()
    with urllib.request.urlopen(urllib.request.Request(where, body, headers), timeout=30) as answer:
        return json.loads(answer.read())


def test_it_prints_its_address_and_a_token_that_lets_in(served: tuple[str, str, subprocess.Popen[str]]) -> None:
    where, token, _ = served
    assert where.endswith("/mcp")
    answer = post(where, token, {"id": 1, "method": "workspace_info", "params": {}})
    assert answer["result"]["branch"] == "main"  # type: ignore[index]


def test_what_it_prints_to_be_pasted_connects(served: tuple[str, str, subprocess.Popen[str]]) -> None:
    where, token, process = served
    assert process.stderr
    lines: list[str] = []
    while not lines or not lines[-1].startswith("printf "):
        lines.append(process.stderr.readline().strip())
        assert lines[-1], lines
    assert "it ends with this process" in lines[0]
    entry = json.loads(lines[lines.index("postil: for VS Code, in .vscode/mcp.json:") + 1])["servers"]["postil"]
    assert entry == {"type": "http", "url": where, "headers": {"Authorization": "Bearer ${input:postil-token}"}}
    assert "read -rs POSTIL_TOKEN && export POSTIL_TOKEN" in lines
    assert not any(token in line for line in lines), "a history and the list of processes would keep it"
    printing, _, calling = lines[lines.index("postil: for any program:") + 1].partition(" | ")
    shell = subprocess.run(["sh", "-c", printing], env={"POSTIL_TOKEN": token}, capture_output=True, text=True)
    assert shell.stdout == f"Authorization: Bearer {token}"
    words = shlex.split(calling)
    assert words[:5] == ["curl", "-s", where, "-H", "@-"]
    assert "result" in post(where, token, json.loads(words[-1]))


def test_without_the_token_nobody_is_let_in(served: tuple[str, str, subprocess.Popen[str]]) -> None:
    where, _, _ = served
    with pytest.raises(urllib.error.HTTPError) as refused:
        post(where, "", hello())
    assert refused.value.code == 401
    refused.value.close()


def test_hidden_tools_cannot_be_called_directly(served: tuple[str, str, subprocess.Popen[str]]) -> None:
    where, token, _ = served
    answer = post(where, token, {"id": 1, "method": "workspace_check", "params": {}})
    assert answer["error"]["code"] == -32601  # type: ignore[index]


def test_a_signal_ends_it(served: tuple[str, str, subprocess.Popen[str]]) -> None:
    where, _, process = served
    with urllib.request.urlopen(where.replace("/mcp", "/readyz"), timeout=30) as ready:
        assert ready.status == 200
    os.kill(process.pid, signal.SIGTERM)
    assert process.wait(10) == 143


def test_beyond_this_machine_a_mode_has_to_be_named(repository: Path) -> None:
    done = run("postil", "serve", "--http", "0.0.0.0:0", cwd=repository)
    assert done.returncode == 4
    assert "--auth" in done.stderr


def test_an_address_that_is_none_is_refused(repository: Path) -> None:
    for address in ("nonsense:port", "nonsense.invalid", "127.0.0.1:22222222", "999.1.1.1:0"):
        done = run("postil", "serve", "--http", address, cwd=repository)
        assert done.returncode == 2, address
        assert "no address" in done.stderr
        assert "127.0.0.1:3000" in done.stderr


def test_https_is_spoken_with_a_certificate(repository: Path, tmp_path: Path) -> None:
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    made = [needs("openssl"), "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost"]
    made += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(cert)]
    subprocess.run(made, check=True, capture_output=True)
    with serve_http(repository, "--tls-cert", str(cert), "--tls-key", str(key)) as server:
        assert server.url.startswith("https://")
        trusting = ssl.create_default_context(cafile=str(cert))
        info = {"jsonrpc": "2.0", "method": "workspace_info", "id": 2}
        origin = server.url.removesuffix("/mcp")
        assert server.ask(info, server.token, trusting, Origin=origin)[0].status == 200


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--http", "0.0.0.0:0"), "without a way to know who asks"),
        (("--http", "0.0.0.0:0", "--auth", "local"), "without a way to know who asks"),
        (("--http", "[::]:0"), "without a way to know who asks"),
        (("--http", "0.0.0.0:0", "--auth", "key"), "without HTTPS"),
        (("--http", "0.0.0.0:0", "--behind-proxy"), "a proxy that has no name"),
        (("--http", "127.0.0.1:0", "--behind-proxy"), "a proxy that has no name"),
        (("--http", "127.0.0.1:0", "--tls-cert", "nosuch.pem"), "both a certificate and its key"),
        (("--http", "127.0.0.1:0", "--tls-cert", "no.pem", "--tls-key", "no.key"), "cannot be used"),
        (("--http", "127.0.0.1:0", "--auth", "oauth"), "oauth.issuer"),
        (("--http", "a:b:c"), "HOST:PORT"),
    ],
)
def test_a_start_that_would_be_unsafe_is_refused(repository: Path, words: tuple[str, ...], said: str) -> None:
    ended = run("postil", "serve", *words, cwd=repository, GITLAB_TOKEN="glpat-static-token")
    assert ended.returncode != 0
    assert said in ended.stderr
    assert "serving" not in ended.stderr
    assert "glpat" not in ended.stderr


def test_a_workspace_that_cannot_be_served_stops_the_start_before_an_address_is_said(
    repository: Path, tmp_path: Path
) -> None:
    (settings := tmp_path / "settings.toml").write_text('[workspaces.api]\npath = "/nowhere"\nmembers = ["alice"]\n')
    ended = run(
        "postil", "serve", "--http", "127.0.0.1:0", "--auth", "key", cwd=repository, POSTIL_CONFIG=str(settings)
    )
    assert ended.returncode != 0
    assert "/nowhere" in ended.stderr
    assert "serving" not in ended.stderr


@pytest.mark.parametrize(
    "given",
    [
        {"behind_proxy": True, "trusted_proxies": ("10.0.0.2",)},
        {"trusted_proxies": ("10.0.0.2",)},
        {"tls_cert": "cert.pem", "tls_key": "key.pem"},
    ],
)
def test_beyond_this_machine_https_or_a_proxy_is_enough(given: dict[str, Any]) -> None:
    check_reach("0.0.0.0", Settings(http=HttpSettings(auth="key", **given)))


@pytest.mark.parametrize(("said", "heard"), [("1", True), ("true", True), ("0", False), ("", False)])
def test_the_environment_says_that_a_proxy_is_in_front(tmp_path: Path, said: str, heard: bool) -> None:
    assert load({"HOME": str(tmp_path), "POSTIL_BEHIND_PROXY": said}, str(tmp_path)).http.behind_proxy is heard


def test_behind_a_proxy_it_listens_beyond_this_machine(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POSTIL_TRUSTED_PROXIES", "10.0.0.2")
    with serve_http(repository, "--auth", "key", "--behind-proxy", "--http", "0.0.0.0:0") as server:
        assert "//0.0.0.0:" in server.url


def test_a_name_that_no_request_may_have_is_warned_of(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "POSTIL_ALLOWED_HOSTS" in warn_of_names("0.0.0.0", (), behind_proxy=False)
    assert "localhost and 10.0.0.5 are refused" in warn_of_names("10.0.0.5", (), behind_proxy=False)
    assert warn_of_names("127.0.0.1", (), behind_proxy=True)  # the proxy hands the callers' name on
    assert not warn_of_names("127.0.0.1", (), behind_proxy=False)
    assert not warn_of_names("0.0.0.0", ("postil.example.org",), behind_proxy=True)
    monkeypatch.setenv("POSTIL_TRUSTED_PROXIES", "10.0.0.2")
    command = [BIN / "postil", "serve", "--auth", "key", "--behind-proxy", "--http", "0.0.0.0:0"]
    with subprocess.Popen(command, cwd=repository, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            assert any("http.allowed_hosts is empty" in line for line in process.stderr)
        finally:
            process.kill()


def test_a_proxy_that_has_no_name_stops_the_start() -> None:
    for host in ("0.0.0.0", "127.0.0.1", "::1"):
        with pytest.raises(CannotListen, match="no name"):
            check_reach(host, Settings(http=HttpSettings(auth="key", behind_proxy=True)))


@pytest.mark.parametrize(
    ("missing", "auth", "said_first"), [("uvloop", "local", "serving"), ("jwt", "oauth", "gateway")]
)
def test_what_the_extra_brings_is_missed_by_name_or_done_without(
    repository: Path, tmp_path: Path, missing: str, auth: str, said_first: str
) -> None:
    (tmp_path / "without").mkdir()
    (tmp_path / "without" / f"{missing}.py").write_text("raise ImportError\n")
    (repository.parent / "oauth.toml").write_text(
        '[oauth]\nissuer = "https://issuer.example"\nresource = "https://postil.example/mcp"\n'
    )
    environ = {
        **os.environ,
        "PYTHONPATH": str(tmp_path / "without"),
        "POSTIL_CONFIG": str(repository.parent / "oauth.toml"),
    }
    command = [BIN / "postil", "serve", "--http", "127.0.0.1:0", "--auth", auth]
    with subprocess.Popen(command, cwd=repository, env=environ, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            assert said_first in process.stderr.readline()
        finally:
            process.kill()


OWN = "http://127.0.0.1:3000"


@pytest.mark.parametrize(
    ("given", "own", "website"),
    [
        ({}, OWN, "http://127.0.0.1:3000/"),
        ({}, "", ""),  # listens on every address
        ({"http": HttpSettings(behind_proxy=True)}, OWN, ""),
        ({"http": HttpSettings(trusted_proxies=("127.0.0.1",))}, OWN, ""),
        ({"http": HttpSettings(trusted_proxies=("::1",), allowed_hosts=("p.example",))}, OWN, "https://p.example/"),
        ({"http": HttpSettings(trusted_proxies=("::1",), allowed_hosts=("p.example", "q.example"))}, OWN, ""),
        ({"oauth": OAuthSettings(resource="https://p.example/mcp")}, OWN, "https://p.example/"),
        ({"website": "https://w.example"}, "", "https://w.example"),
    ],
)
def test_the_website_is_the_page_where_people_reach_it(given: dict[str, Any], own: str, website: str) -> None:
    assert website_of(Settings(**given), own) == website
