"""Real assistants connect by what `postil setup` writes: Claude Code, Codex and Gemini CLI, without an account.

They are large, so `make test` installs them in CI only; elsewhere `make assistants` does.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.needs import needs, needs_assistant

pytestmark = pytest.mark.judge

POSTIL = Path(sys.executable).with_name("postil")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository to work in, with a home for the assistant beside it."""
    folder = tmp_path / "project"
    subprocess.run(["git", "init", "--quiet", str(folder)], check=True)
    (tmp_path / "home").mkdir()
    return folder


def run(project: Path, *command: str, stdin: str = "") -> str:
    """Run an assistant's program in the project; gives all it printed."""
    home = project.parent / "home"
    quiet = {"DISABLE_AUTOUPDATER": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "NO_COLOR": "1"}
    path = f"{POSTIL.parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, **quiet, "HOME": str(home), "XDG_STATE_HOME": str(home / "state"), "PATH": path}
    ran = subprocess.run(command, cwd=project, env=environment, input=stdin, capture_output=True, text=True, timeout=90)
    return ran.stdout + ran.stderr


def set_up(project: Path, client: str) -> None:
    """Write our entry into the client's file, as people do."""
    assert "Wrote" in run(project, str(POSTIL), "setup", client, "--write")


def test_claude_code_connects(project: Path) -> None:
    needs_assistant("@anthropic-ai/claude-code")
    claude = str(needs_assistant("@anthropic-ai/claude-code-linux-x64") / "claude")
    settings = project.parent / "home" / ".claude"
    settings.mkdir()
    (settings / "settings.json").write_text(json.dumps({"enableAllProjectMcpServers": True}))
    set_up(project, "claude")
    listed = run(project, claude, "mcp", "list")
    assert "Connected" in line_about_postil(listed), listed


def test_gemini_cli_connects(project: Path) -> None:
    gemini = needs_assistant("@google/gemini-cli") / "bundle" / "gemini.js"
    settings = project.parent / "home" / ".gemini"
    settings.mkdir()
    set_up(project, "gemini")
    (settings / "trustedFolders.json").write_text(json.dumps({str(project): "TRUST_FOLDER"}))
    listed = run(project, needs("node"), str(gemini), "mcp", "list")
    assert "Connected" in line_about_postil(listed), listed


def test_codex_connects_and_sees_the_tools(project: Path) -> None:
    codex = needs_assistant("@openai/codex") / "bin" / "codex.js"
    set_up(project, "codex")
    status = ask_codex(project, [needs("node"), str(codex), "app-server"])
    (postil,) = status["result"]["data"]
    assert postil["serverInfo"]["name"] == "postil"
    assert "workspace_info" in postil["tools"]


def ask_codex(project: Path, command: list[str]) -> Any:
    """Codex checks no health on its command line; its app server does, and lists what it found."""
    environment = {**os.environ, "HOME": str(project.parent / "home")}
    with subprocess.Popen(
        command, cwd=project, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            hello = {"clientInfo": {"name": "postil-tests", "title": "tests", "version": "1"}}
            messages: list[dict[str, Any]] = [
                {"id": 0, "method": "initialize", "params": hello},
                {"method": "initialized"},
                {"id": 1, "method": "mcpServerStatus/list", "params": {}},
            ]
            for message in messages:
                process.stdin.write(json.dumps(message).encode() + b"\n")
            process.stdin.flush()
            for line in process.stdout:
                answer = json.loads(line)
                if answer.get("id") == 1:
                    return answer
            raise AssertionError("Codex ended without an answer")
        finally:
            process.kill()


def line_about_postil(listed: str) -> str:
    return next((line for line in listed.splitlines() if "postil" in line and "serve" in line), "")
