"""The official Inspector's command line, over both transports and in both eras. It gets a home of its own."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.needs import ROOT, needs, needs_package

pytestmark = pytest.mark.judge


def inspect(server: tuple[str, ...], era: str, home: Path, *options: str) -> tuple[int, dict[str, Any]]:
    """Run the Inspector once; gives its exit status and what it printed."""
    program = needs_package("@modelcontextprotocol/inspector")
    script = msgspec.json.decode((program / "package.json").read_bytes())["bin"]["mcp-inspector"]
    kind, *target = server
    transport = ["--transport", "http"] if kind == "http" else []
    command = [needs("node"), str(program / script), "--cli", *target, *transport, "--protocol-era", era]
    environment = {**os.environ, "HOME": str(home)}
    ran = subprocess.run(
        [*command, "--format", "json", "-q", *options], cwd=ROOT, env=environment, capture_output=True, timeout=60
    )
    printed = ran.stdout.strip()
    return ran.returncode, msgspec.json.decode(printed) if printed.startswith(b"{") else {"stderr": ran.stderr.decode()}


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_the_inspector_calls_a_tool(server: tuple[str, ...], era: str, tmp_path: Path) -> None:
    status, printed = inspect(server, era, tmp_path, "--method", "tools/call", "--tool-name", "test_simple_text")
    assert status == 0, printed
    assert printed["result"]["content"][0]["text"] == "This is a simple text response for testing."


@pytest.mark.parametrize("method", ["tools/list", "resources/list", "prompts/list", "resources/templates/list"])
def test_the_inspector_lists(server: tuple[str, ...], method: str, tmp_path: Path) -> None:
    status, printed = inspect(server, "auto", tmp_path, "--method", method)
    assert status == 0, printed
    listed = {"resources/templates/list": "resourceTemplates"}.get(method, method.split("/", maxsplit=1)[0])
    assert len(printed["result"][listed]) > 0


def test_the_inspector_sees_a_failed_tool_as_failed(server: tuple[str, ...], tmp_path: Path) -> None:
    status, printed = inspect(server, "auto", tmp_path, "--method", "tools/call", "--tool-name", "test_error_handling")
    assert status == 5, printed
