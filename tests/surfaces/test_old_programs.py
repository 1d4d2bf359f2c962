"""The three old executables: their words, their servers, their exit statuses."""

import json
from pathlib import Path

import pytest

from postil.app import PARTS
from postil.contracts import CONTRACTS
from tests.surfaces.programs import hello, run, talk

SERVERS = {
    "inbox": ("lazygit-mcp-bridge", "server"),
    "comments": ("paired-comments-mcp-server",),
    "tracker": ("git-mile", "mcp-server"),
}


@pytest.mark.parametrize("part", [part for part in SERVERS if part in PARTS])
@pytest.mark.parametrize("asked", ["2024-11-05", "2025-11-25"])
def test_an_old_server_is_exactly_its_contract(part: str, asked: str, repository: Path) -> None:
    contract = CONTRACTS[part]
    frames = [hello(asked), {"id": 2, "method": "tools/list"}]
    for command in (SERVERS[part], ("postil", "serve", "--parts", part)):
        answers = {answer["id"]: answer for answer in talk(*command, frames=frames, cwd=repository)}
        result = answers[1]["result"]
        assert result["protocolVersion"] == "2024-11-05"
        assert result["serverInfo"] == contract.face.info()
        assert result["capabilities"] == contract.face.capabilities
        assert {tool["name"] for tool in answers[2]["result"]["tools"]} == contract.tools


def test_the_bridge_without_words_and_with_piped_input_is_a_server(repository: Path) -> None:
    answers = talk("lazygit-mcp-bridge", frames=[hello()], cwd=repository)
    assert answers[0]["result"]["serverInfo"]["name"] == "lazygit-mcp-bridge"


def test_the_bridge_sends_and_says_so(repository: Path) -> None:
    done = run("lazygit-mcp-bridge", "send", "-f", "a.py", "-c", "-1 is `wrong` $(here)", cwd=repository)
    assert (done.returncode, done.stdout) == (0, "Message sent successfully for a.py\n")
    listed = json.loads(run("postil", "inbox", "list", "--json", cwd=repository).stdout)
    assert [message["comment"] for message in listed["messages"]] == ["-1 is `wrong` $(here)"]


@pytest.mark.parametrize("words", [["send"], ["send", "-f", "../x", "-c", "y"], ["sned"], ["inbox", "list"]])
def test_every_failure_of_the_bridge_has_status_one(words: list[str], repository: Path) -> None:
    done = run("lazygit-mcp-bridge", *words, cwd=repository)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error: ")


def test_git_mile_knows_the_trackers_commands_alone(repository: Path) -> None:
    shown = run("git-mile", "--help", cwd=repository).stdout
    assert "ready" in shown
    assert "inbox" not in shown
    assert run("git-mile", "ready", "--json", cwd=repository).returncode == 0
    assert "identity create" in shown
    assert "create identity" not in shown  # the same in other words: understood, not listed a second time
    assert "Give a claimed issue back" in shown
    assert "issue, mile, milestone" in run("git-mile", "create", "--help", cwd=repository).stdout


def test_a_retry_with_the_same_key_sends_one_message(repository: Path) -> None:
    words = ["inbox", "send", "-f", "a.py", "-c", "once", "--idempotency-key", f"k-{repository}", "--json"]
    first, second = (run("postil", *words, cwd=repository) for _ in range(2))
    assert first.returncode == second.returncode == 0, second.stderr
    assert first.stdout == second.stdout
    listed = json.loads(run("postil", "inbox", "list", "--json", cwd=repository).stdout)
    assert [message["comment"] for message in listed["messages"]] == ["once"]
    other = run("postil", *words[:4], "-c", "other", *words[6:], cwd=repository)
    assert other.returncode == 6
