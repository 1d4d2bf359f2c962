"""The assistants that can be connected: which file, which key, which shape."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from postil.settings.model import Folders
from postil.surfaces.setup.clients import CLIENTS, command_of, entry, executable, http_snippets, is_used, path_of

PROGRAM = "/opt/postil/bin/postil"


@pytest.mark.parametrize("name", CLIENTS)
def test_the_command_of_our_entry_is_our_program(name: str) -> None:
    command = command_of(CLIENTS[name], entry(CLIENTS[name], PROGRAM, "/repo"))
    assert command[0] == PROGRAM
    assert command[-1] == "serve" or command[1:4] == ["inbox", "hook", "start"]


def test_a_client_that_starts_servers_elsewhere_is_told_the_repository() -> None:
    assert entry(CLIENTS["claude-desktop"], PROGRAM, "/repo")["args"] == ["-C", "/repo", "serve"]
    assert entry(CLIENTS["claude-desktop"], PROGRAM, "")["args"] == ["serve"]
    assert entry(CLIENTS["claude"], PROGRAM, "/repo")["args"] == ["serve"]


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("claude", {"command": PROGRAM, "args": ["serve"]}),
        ("vscode", {"type": "stdio", "command": PROGRAM, "args": ["serve"]}),
        ("opencode", {"type": "local", "command": [PROGRAM, "serve"], "enabled": True}),
    ],
)
def test_an_entry_has_the_shape_that_the_client_reads(name: str, shape: dict[str, Any]) -> None:
    assert entry(CLIENTS[name], PROGRAM, "/repo") == shape


def folders(home: Path) -> Folders:
    return Folders(str(home / ".config" / "postil"), str(home / "state"), str(home / "cache"), str(home))


def test_the_file_is_in_the_repository_at_home_or_in_the_settings_folder(tmp_path: Path) -> None:
    assert path_of(CLIENTS["claude"], folders(tmp_path), "/repo") == "/repo/.mcp.json"
    assert path_of(CLIENTS["claude"], folders(tmp_path), "") == ""
    assert path_of(CLIENTS["codex"], folders(tmp_path), "") == str(tmp_path / ".codex/config.toml")
    assert path_of(CLIENTS["zed"], folders(tmp_path), "") == str(tmp_path / ".config/zed/settings.json")


def test_an_assistant_is_used_where_it_left_traces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    root, home = tmp_path / "repo", tmp_path / "home"
    root.mkdir()
    home.mkdir()
    cursor = CLIENTS["cursor"]
    assert not is_used(cursor, folders(home), str(root))
    (root / ".cursor").mkdir()
    assert is_used(cursor, folders(home), str(root))
    assert not is_used(cursor, folders(home), "")
    (home / ".cursor").mkdir()
    assert is_used(cursor, folders(home), "")


def test_an_assistant_is_used_where_its_program_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "zed"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert is_used(CLIENTS["zed"], folders(tmp_path / "home"), "")
    assert not is_used(CLIENTS["codex"], folders(tmp_path / "home"), "")


def test_the_running_program_is_ours_only_by_its_own_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = tmp_path / "pytest"
    other.write_text("#!/bin/sh\n")
    other.chmod(0o755)
    monkeypatch.setattr("sys.argv", [str(other)])
    assert Path(executable()).name == "postil"
    ours = tmp_path / "postil"
    ours.write_text("#!/bin/sh\n")
    monkeypatch.setattr("sys.argv", [str(ours)])
    assert executable() != str(ours), "it cannot be run"
    ours.chmod(0o755)
    assert executable() == str(ours)


def test_the_snippets_for_http_bring_the_address_and_no_token() -> None:
    """Some are files that a team commits; a command stays in a history and in the list of processes."""
    snippets = dict(http_snippets("http://127.0.0.1:1/mcp"))
    entries = {whom: json.loads(text) for whom, text in snippets.items() if text.startswith("{")}
    assert [whom.rpartition(" in ")[2] for whom in entries] == [
        CLIENTS[name].file for name in ("claude", "cursor", "vscode", "gemini")
    ]
    assert all("http://127.0.0.1:1/mcp" in text or text.startswith("read -rs") for text in snippets.values())
    assert "'Authorization: Bearer ${POSTIL_TOKEN}'" in snippets["Claude Code"], "Claude expands it"
    assert "| curl" in snippets["any program"]
    assert "-H @-" in snippets["any program"]
    read = entries["VS Code, in .vscode/mcp.json"]
    assert read["servers"]["postil"]["headers"] == {"Authorization": "Bearer ${input:postil-token}"}
    assert (read["inputs"][0]["id"], read["inputs"][0]["password"]) == ("postil-token", True)
    claude = entries["Claude Code, in .mcp.json"]["mcpServers"]["postil"]
    assert claude["headers"] == {"Authorization": "Bearer ${POSTIL_TOKEN}"}
