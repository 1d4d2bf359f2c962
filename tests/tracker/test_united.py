"""The tracker in the united server: a real `postil serve`, its tools, its keys, and what subscribers hear."""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.tracker.programs import answered, git, said

SERVE = "import sys; from postil.surfaces.shell.main import main; sys.exit(main())"
WRITES = ("create", "update", "comment", "close", "label", "link", "claim")
PROMPTLY = 1.0


class Client:
    """One connection to a server, whose notifications are kept apart from its answers."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._answers: queue.Queue[dict[str, Any]] = queue.Queue()
        self.heard: queue.Queue[dict[str, Any]] = queue.Queue()
        self._last = 0
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            frame = json.loads(line)
            (self._answers if "id" in frame else self.heard).put(frame)

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        assert self._process.stdin is not None
        self._last += 1
        frame = {"jsonrpc": "2.0", "id": self._last, "method": method, "params": params}
        self._process.stdin.write(json.dumps(frame) + "\n")
        self._process.stdin.flush()
        return self._answers.get(timeout=20)

    def call(self, tool: str, arguments: dict[str, Any], key: str = "") -> dict[str, Any]:
        meta = {"_meta": {"postil/idempotencyKey": key}} if key else {}
        return self.ask("tools/call", name=f"git_mile.{tool}", arguments=arguments, **meta)


@contextmanager
def connected(where: Path) -> Generator[Client]:
    command = [sys.executable, "-c", SERVE, "serve"]
    with subprocess.Popen(command, cwd=where, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        client = Client(process)
        client.ask(
            "initialize",
            protocolVersion="2025-06-18",
            capabilities={},
            clientInfo={"name": "test", "version": "1"},
        )
        yield client
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(timeout=20) == 0


@pytest.fixture
def client(repository: Path) -> Iterator[Client]:
    with connected(repository) as one:
        yield one


MORE = {"list", "show", "ready", "blocked", "prime", "next", "check", "edit_comment"}


def test_all_tools_are_listed_within_ten_kilobytes(client: Client):
    tools = [tool for tool in client.ask("tools/list")["result"]["tools"] if tool["name"].startswith("git_mile_")]
    assert {tool["name"].removeprefix("git_mile_") for tool in tools} == {*WRITES, *MORE}
    assert len(json.dumps(tools, separators=(",", ":"), ensure_ascii=False).encode()) <= 10000


def events(where: Path) -> int:
    return answered(where, "metrics", "dump")["events"]


def test_the_same_key_gives_every_write_one_effect_and_one_answer(client: Client, repository: Path):
    one = answered(repository, "create", "issue", "One")["id"]
    two = answered(repository, "create", "issue", "Two")["id"]
    asked: dict[str, dict[str, Any]] = {
        "create": {"title": "Three"},
        "update": {"id": one, "title": "New"},
        "comment": {"id": one, "body": "hello"},
        "label": {"id": one, "add": ["x"]},
        "link": {"id": one, "type": "blocks", "target": two},
        "claim": {"id": one},
        "close": {"id": one, "comment": "done"},
    }
    assert {*asked} == {*WRITES}
    for tool, arguments in asked.items():
        before = events(repository)
        first = client.call(tool, arguments, key=f"key of {tool}")
        after = events(repository)
        assert first["result"]["isError"] is False
        assert after > before
        again = client.call(tool, arguments, key=f"key of {tool}")
        assert again["result"] == first["result"]
        assert events(repository) == after, tool
        other = client.call(
            tool, {**arguments, **({"title": "x"} if "title" in arguments else {"id": two})}, f"key of {tool}"
        )
        assert other.get("error") or other["result"]["isError"], tool


def hears(client: Client, uri: str, since: float) -> float:
    """How long after a moment the client was told that a resource changed."""
    while True:
        frame = client.heard.get(timeout=10)
        if frame["method"] == "notifications/resources/updated" and frame["params"]["uri"] == uri:
            return time.monotonic() - since


def test_a_subscriber_hears_within_a_second_of_another_process(client: Client, repository: Path):
    issue = answered(repository, "create", "issue", "Watched")["id"]
    mile = answered(repository, "create", "milestone", "1.0")["id"]
    said(repository, "save", "bugs", "label:bug")
    addresses = [f"issue://{issue}", f"milestone://{mile}", "issues://query/bugs", f"milestone://{mile}/burndown.svg"]
    for uri in addresses:
        assert "result" in client.ask("resources/subscribe", uri=uri)
        assert "result" in client.ask("resources/read", uri=uri)
    said(repository, "label", "issue", issue, "--add", "bug")
    ended = time.monotonic()
    assert hears(client, addresses[0], ended) < PROMPTLY
    said(repository, "edit", issue, "--milestone", "1.0")
    ended = time.monotonic()
    assert hears(client, addresses[1], ended) < PROMPTLY
    read = client.ask("resources/read", uri=addresses[2])["result"]["contents"][0]["text"]
    assert [item["title"] for item in json.loads(read)["items"]] == ["Watched"]
    said(repository, "close", issue)
    ended = time.monotonic()
    assert hears(client, addresses[3], ended) < PROMPTLY
    (picture,) = client.ask("resources/read", uri=addresses[3])["result"]["contents"]
    assert picture["mimeType"] == "image/svg+xml"
    assert "0 open, 1 closed" in picture["text"]


def test_a_subscriber_hears_within_a_second_of_a_plain_fetch_and_of_packed_refs(repository: Path, tmp_path: Path):
    git(tmp_path, "clone", "--quiet", str(repository), "theirs")
    theirs = tmp_path / "theirs"
    issue = answered(repository, "create", "issue", "Shared")["id"]
    said(theirs, "pull")
    git(repository, "remote", "add", "origin", str(theirs))
    said(repository, "init")
    with connected(repository) as client:
        uri = f"issue://{issue}"
        client.ask("resources/subscribe", uri=uri)
        for turn, words in enumerate((("fetch",), ("fetch", "--prune"))):
            said(theirs, "comment", "issue", issue, f"turn {turn}")
            git(repository, *words, "--quiet", "origin")
            fetched = time.monotonic()
            assert hears(client, uri, fetched) < PROMPTLY
            git(repository, "pack-refs", "--all")
        shown = client.ask("resources/read", uri=uri)["result"]["contents"][0]["text"]
        assert [comment["body"] for comment in json.loads(shown)["comments"]] == ["turn 0", "turn 1"]


def test_what_an_assistant_is_refused_comes_with_advice_and_the_contracts_code(client: Client, repository: Path):
    one, two = (answered(repository, "create", "issue", title)["id"] for title in ("One", "Two"))
    client.call("link", {"id": one, "type": "blocks", "target": two})
    said(repository, "claim", one, "--who", "ann")
    for tool, arguments, words in (
        ("link", {"id": two, "type": "blocks", "target": one}, "close a circle"),
        ("claim", {"id": one, "who": "bob"}, "is claimed by ann"),
        ("create", {"title": "x" * 300_000}, "at most 1000"),
        ("create", {"title": "\u001b[2J"}, "control character"),
        ("update", {"id": one, "status": "done"}, "status"),
        ("close", {"id": "*"}, "is not an id"),
        ("show", {"entity": "issue", "id": ""}, "is not an id"),
        ("list", {"entity": "issue", "filter": "lables contains x"}, "did you mean `labels`?"),
    ):
        answer = client.call(tool, arguments)
        text = answer["error"]["message"] if "error" in answer else answer["result"]["content"][0]["text"]
        assert "error" in answer or answer["result"]["isError"]
        assert words in text, (tool, text)
        assert len(json.dumps(answer)) < 4000
