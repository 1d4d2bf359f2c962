"""Built-in commands: tools, call, key and audit."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.surfaces.programs import run
from tests.surfaces.shell_of_echo import postil

Capture = pytest.CaptureFixture[str]


def test_tools_are_listed_with_their_schema(capsys: Capture) -> None:
    assert postil("tools", "--json") == 0
    listed = {tool["name"]: tool for tool in json.loads(capsys.readouterr().out)}
    assert listed["echo"]["inputSchema"]["required"] == ["text"]
    assert postil("tools") == 0
    assert "Say it again" in capsys.readouterr().out


def test_a_key_is_made_listed_and_revoked_by_the_shell(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "a state of its own"))
    made = run("postil", "key", "create", "ci", "--workspace", "--json", cwd=repository)
    key = json.loads(made.stdout)["key"]
    assert key.startswith("postil_")
    listed = json.loads(run("postil", "key", "list", "--json", cwd=repository).stdout)
    assert [(one["name"], one["may"]) for one in listed] == [("ci", ["workspace"])]
    assert key not in run("postil", "key", "list", cwd=repository).stdout
    assert run("postil", "key", "create", "ci", cwd=repository).returncode == 6
    assert run("postil", "key", "create", "../x", cwd=repository).returncode == 2
    assert run("postil", "key", "revoke", "ci", cwd=repository).returncode == 0
    assert run("postil", "key", "revoke", "ci", cwd=repository).returncode == 5
    assert "No writes yet" in run("postil", "audit", cwd=repository).stdout
