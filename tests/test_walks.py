"""The way of a call through the house: how many files somebody has to open who follows it. `-s` prints every way.

The ceilings are what was reached; who makes a way longer says why.
"""

import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.emulator.app import Emulator
from tests.emulator.server import running
from tests.emulator.world import DEVELOPER
from tests.needs import ROOT
from tests.test_claims import first_cells, section
from tests.traced import Way, read


class Ceiling(NamedTuple):
    """How long a way may be."""

    calls: int
    files: int
    switches: int


ADD_COMMENT = Ceiling(234, 41, 34)  # 232 calls, and 2 for a thread more where that of the call before is not back yet
GET_ISSUE = Ceiling(322, 45, 62)  # 277 calls, and 9 more each time that the loop goes round before the thread ends
ISSUE_LIST = Ceiling(255, 37, 46)  # with names on one line, a git directory of our own, git's options and memory
SEND = Ceiling(275, 34, 74)  # git is hardened and bound, hunk and code are cut, a repeat and a moved repository known
CHECK_MESSAGES = Ceiling(310, 35, 140)  # the first text that is not ASCII loads the cleaning of others' words


CLIENT = {"name": "test", "version": "1"}


def keeps(way: Way, ceiling: Ceiling, name: str) -> None:
    print(f"\n{name}: {way}")
    assert 0 < way.calls <= ceiling.calls
    assert way.files <= ceiling.files
    assert way.switches <= ceiling.switches


def traced(out: Path, function: str, *words: str) -> list[str]:
    return [sys.executable, "-m", "tests.traced", str(out), function, *words]


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), **more}


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repo"
    folder.mkdir()
    (folder / "a.py").write_text("".join(f"line_{number} = {number}\n" for number in range(40)))
    for words in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-qm", "first"]):
        subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True)
    return folder


class Visit:
    """A client of a traced server on stdio, which notes when it asked and when it was answered."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.asked = self.answered = 0

    def ask(self, method: str, **params: object) -> Any:
        assert self.process.stdin
        assert self.process.stdout
        self.asked = time.monotonic_ns()
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 7, "method": method, "params": params}) + "\n")
        self.process.stdin.flush()
        while "id" not in (frame := json.loads(self.process.stdout.readline())):
            pass  # news that nobody asked for
        self.answered = time.monotonic_ns()
        assert "result" in frame, frame
        return frame["result"]


@contextmanager
def visit(out: Path, folder: Path, function: str, *words: str) -> Generator[Visit]:
    """A server on stdio that has shaken hands; it has ended, and its way is written, when the block ends."""
    with subprocess.Popen(
        traced(out, function, *words),
        cwd=folder,
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            client = Visit(process)
            client.ask("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=CLIENT)
            yield client
            assert process.stdin
            process.stdin.close()
            assert process.wait(20) == 0
        finally:
            process.kill()


def test_a_comment_is_added(repository: Path, tmp_path: Path) -> None:
    with visit(tmp_path / "way", repository, "main", "serve") as client:
        for line in (3, 12, 30):
            arguments = {"filePath": "a.py", "line": line, "text": "why?", "tag": "QUESTION"}
            assert not client.ask("tools/call", name="add_comment", arguments=arguments).get("isError")
    way = read(tmp_path / "way", client.asked, client.answered)
    keeps(way, ADD_COMMENT, "stdio add_comment, warm")
    passed = list(dict.fromkeys(step.file for step in way.steps))
    described = first_cells(section("The way of a call"))
    assert described == sorted(described, key=passed.index), "docs/architecture.md names them in another order"
    assert len(described) >= 12


def test_an_issue_is_read_over_http(repository: Path, tmp_path: Path) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": "get_issue", "params": {"project_id": 123, "issue_iid": 1}}
    words = traced(tmp_path / "way", "main", "serve", "--http", "127.0.0.1:0", "--auth", "pat")
    asked = answered = 0
    with running(Emulator()) as gitlab:
        settings = environment(GITLAB_URL=gitlab, POSTIL_STATE=str(tmp_path / "state.db"))
        with subprocess.Popen(words, cwd=repository, env=settings, stderr=subprocess.PIPE, text=True) as process:
            assert process.stderr
            try:
                said = process.stderr.readline()
                endpoint = said.partition("serving ")[2].strip()
                assert endpoint, said
                for _ in range(3):
                    asked, answered = post(endpoint, body)
            finally:
                process.terminate()
                process.wait(20)
    keeps(read(tmp_path / "way", asked, answered), GET_ISSUE, "HTTP direct get_issue, warm")


def post(endpoint: str, body: object) -> tuple[int, int]:
    """When it was asked and when it was answered."""
    request = urllib.request.Request(endpoint, json.dumps(body).encode(), method="POST")
    request.add_header("Content-Type", "application/json")
    request.add_header("Authorization", f"Bearer {DEVELOPER}")
    asked = time.monotonic_ns()
    with urllib.request.urlopen(request, timeout=20) as response:
        assert "result" in json.load(response)
    return asked, time.monotonic_ns()


def run(out: Path, folder: Path, function: str, *words: str, **environ: str) -> str:
    done = subprocess.run(
        traced(out, function, *words),
        cwd=folder,
        env=environment(**environ),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_issues_are_listed_the_ordinary_way(repository: Path, tmp_path: Path) -> None:
    for title in ("one", "two", "three"):
        run(tmp_path / "way", repository, "main", "issue", "create", title)
    usual = {"POSTIL_DEBUG": "0"}  # any setting turns the short cut off
    run(tmp_path / "way", repository, "main", "issue", "list", **usual)
    assert "three" in run(tmp_path / "way", repository, "main", "issue", "list", **usual)
    keeps(read(tmp_path / "way"), ISSUE_LIST, "postil issue list, the ordinary way")


def test_a_message_is_sent_and_read(repository: Path, tmp_path: Path) -> None:
    words = ("send", "-f", "a.py", "-l", "3", "-c", "look here")
    run(tmp_path / "way", repository, "lazygit_mcp_bridge", *words)
    run(tmp_path / "way", repository, "lazygit_mcp_bridge", *words[:-1], "look again")
    keeps(read(tmp_path / "way"), SEND, "lazygit-mcp-bridge send")
    with visit(tmp_path / "read", repository, "lazygit_mcp_bridge", "server") as client:
        client.ask("tools/call", name="check_lazygit_messages", arguments={})
        times: list[tuple[int, int]] = []
        for text in ("look there", "look up", "look down"):  # equal ones would be one
            run(tmp_path / "way", repository, "lazygit_mcp_bridge", *words[:-1], text)
            assert text in str(client.ask("tools/call", name="check_lazygit_messages", arguments={}))
            times.append((client.asked, client.answered))
    ways = [read(tmp_path / "read", *each) for each in times]  # on a loaded machine news are told meanwhile
    keeps(min(ways, key=lambda way: way.calls), CHECK_MESSAGES, "check_lazygit_messages, warm")
