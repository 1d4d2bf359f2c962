"""Official clients on a visit to `git mile mcp-server`; the compatibility report names their versions."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.needs import ROOT, needs, needs_package
from tests.tracker.test_contract import ALPHA, PROGRAM, milestones

pytestmark = pytest.mark.judge
__all__ = ["milestones"]  # the fixture of the recorded session

SERVER = (sys.executable, "-c", PROGRAM, "mcp-server")
TITLES = ["Milestone Alpha", "Milestone Beta"]
REPORT = (ROOT / "docs/reference/mcp-clients.md").read_text()


def test_the_python_sdk_lists_shows_and_is_refused(milestones: Path):
    import mcp_types as types
    from mcp import Client
    from mcp.client.stdio import StdioServerParameters
    from mcp.shared.exceptions import MCPError

    def payload(result: types.CallToolResult) -> str:
        (block,) = result.content
        assert isinstance(block, types.TextContent)
        return block.text

    async def visit() -> None:
        started = StdioServerParameters(command=SERVER[0], args=list(SERVER[1:]), cwd=milestones, env=dict(os.environ))
        async with Client(started, mode="legacy", read_timeout_seconds=20) as session:
            assert session.protocol_version == "2024-11-05"
            assert [tool.name for tool in (await session.list_tools()).tools] == ["git_mile.list", "git_mile.show"]
            listed = json.loads(payload(await session.call_tool("git_mile.list", {"entity": "milestone"})))
            assert [item["title"] for item in listed["items"]] == TITLES
            shown = json.loads(payload(await session.call_tool("git_mile.show", {"entity": "milestone", "id": ALPHA})))
            assert [comment["body"] for comment in shown["comments"]] == ["kickoff"]
            with pytest.raises(MCPError) as refused:
                await session.call_tool("git_mile.list", {"entity": "issue", "filter": "status == "})
            assert refused.value.error.code == -32602

    asyncio.run(visit())


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_the_typescript_sdk_lists_shows_and_is_refused(milestones: Path, version: str):
    needs_package("@modelcontextprotocol/client")
    script = str(ROOT / "tests/node/clients/mile.mjs")
    ran = subprocess.run(
        [needs("node"), script, version, ALPHA, *SERVER], cwd=milestones, capture_output=True, timeout=60
    )
    assert ran.returncode == 0, ran.stderr.decode()
    assert json.loads(ran.stdout) == {
        "server": "git-mile",
        "tools": ["git_mile.list", "git_mile.show"],
        "listed": TITLES,
        "shown": ["kickoff"],
        "refused": -32602,
    }


def test_the_inspector_lists_and_calls(milestones: Path, tmp_path: Path):
    program = needs_package("@modelcontextprotocol/inspector")
    script = json.loads((program / "package.json").read_text())["bin"]["mcp-inspector"]
    # The Inspector takes words that begin with a hyphen for its own, so the server is a program with a name here.
    server = tmp_path / "git-mile-server"
    server.write_text(f"#!/bin/sh\ncd '{milestones}' && exec '{SERVER[0]}' -c '{PROGRAM}' mcp-server\n")
    server.chmod(0o755)
    command = [needs("node"), str(program / script), "--cli", str(server), "--protocol-era", "legacy"]
    call = ("tools/call", "--tool-name", "git_mile.list", "--tool-arg", "entity=milestone")
    answers: list[dict[str, object]] = []
    for words in (("tools/list",), call):
        ran = subprocess.run(
            [*command, "--format", "json", "-q", "--method", *words],
            cwd=ROOT,
            env={**os.environ, "HOME": str(tmp_path)},
            capture_output=True,
            timeout=60,
        )
        assert ran.returncode == 0, ran.stderr.decode()
        answers.append(json.loads(ran.stdout)["result"])
    assert "git_mile.show" in json.dumps(answers[0])
    assert "Milestone Beta" in json.dumps(answers[1])


@pytest.mark.parametrize("package", ["sdk", "client", "inspector"])
def test_the_report_names_the_versions_that_are_tried(package: str):
    wanted = json.loads((ROOT / "tests/node/package.json").read_text())["dependencies"]
    assert f"`@modelcontextprotocol/{package}` | {wanted[f'@modelcontextprotocol/{package}']} |" in REPORT


def test_the_report_names_the_version_of_the_python_sdk():
    found = re.search(r"^mcp==(\S+)", (ROOT / "requirements.lock").read_text(), re.MULTILINE)
    assert found is not None
    assert f"`mcp` | {found[1]} |" in REPORT
