"""`postil serve --http`, as a user starts it."""

import json
import os
import re
import shlex
import signal
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pytest

from tests.surfaces.programs import BIN, hello, run


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
    lines = [process.stderr.readline().strip() for _ in range(10)]
    entry = json.loads(lines[lines.index("postil: for VS Code, in .vscode/mcp.json:") + 1])["servers"]["postil"]
    assert entry == {"type": "http", "url": where, "headers": {"Authorization": f"Bearer {token}"}}
    words = shlex.split(lines[lines.index("postil: for any program:") + 1])
    assert words[:3] == ["curl", "-s", where]
    assert f"Authorization: Bearer {token}" in words
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
    done = run("postil", "serve", "--http", "nonsense:port", cwd=repository)
    assert done.returncode == 4
    assert "HOST:PORT" in done.stderr
