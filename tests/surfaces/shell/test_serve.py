"""`postil serve` over stdio: what it introduces itself as, and what it offers."""

import base64
import json
import os
import subprocess
from pathlib import Path
from typing import Any

from mcp import types

from postil import __version__
from tests.surfaces.programs import BIN, hello, imported_by, run, talk
from tests.surfaces.served import serve_http


def test_the_united_server_introduces_itself(repository: Path) -> None:
    answers = talk("postil", "serve", frames=[hello("2025-11-25"), {"id": 2, "method": "tools/list"}], cwd=repository)
    result = answers[0]["result"]
    info = result["serverInfo"]
    (icon,) = info.pop("icons")
    assert info == {"name": "postil", "version": __version__, "title": "Postil"}
    assert base64.b64decode(icon["src"].removeprefix("data:image/svg+xml;base64,")).startswith(b"<svg ")
    assert result["capabilities"]["resources"] == {"subscribe": True}
    assert result["capabilities"]["prompts"] == {}
    assert {"logging", "completions", "tools"} <= result["capabilities"].keys()
    assert 0 < len(result["instructions"]) <= 600
    assert "workspace_info" in {tool["name"] for tool in answers[1]["result"]["tools"]}


def test_hidden_tools_can_be_neither_listed_nor_called(repository: Path) -> None:
    call = {"id": 3, "method": "tools/call", "params": {"name": "workspace_check"}}
    frames = [hello("2024-11-05"), {"id": 2, "method": "tools/list"}, call]
    talked = talk("postil", "serve", "--deny-tool", "workspace_ch*", frames=frames, cwd=repository)
    listed, called = sorted(talked[1:], key=lambda answer: answer["id"])
    assert "workspace_check" not in {tool["name"] for tool in listed["result"]["tools"]}
    assert called["error"]["code"] == -32601


def test_progress_is_reported_while_the_files_are_walked(repository: Path) -> None:
    params = {"name": "workspace_check", "arguments": {}, "_meta": {"progressToken": "p"}}
    frames = [hello(), {"id": 2, "method": "tools/call", "params": params}]
    _, progress, answer = talk("postil", "serve", "--structured", frames=frames, cwd=repository)
    assert progress["params"] == {"progressToken": "p", "progress": 1, "total": 1, "message": "1 of 1 files"}
    assert answer["result"]["structuredContent"] == {"files": 1, "faults": []}


def test_the_workspace_is_a_resource_and_a_prompt(repository: Path) -> None:
    frames = [
        hello(),
        {"id": 2, "method": "resources/read", "params": {"uri": "postil://workspace"}},
        {"id": 3, "method": "prompts/get", "params": {"name": "workspace_overview"}},
    ]
    answers = {answer["id"]: answer for answer in talk("postil", "serve", frames=frames, cwd=repository)}
    read, prompt = answers[2], answers[3]
    assert json.loads(read["result"]["contents"][0]["text"])["branch"] == "main"
    assert "Branch: main" in prompt["result"]["messages"][0]["content"]["text"]


def test_an_unknown_part_is_refused_with_a_guess(repository: Path) -> None:
    done = run("postil", "serve", "--parts", "inbx", cwd=repository)
    assert done.returncode == 2
    assert "Did you mean 'inbox'?" in done.stderr


HEAVY = {
    "asyncio",
    "http",
    "ssl",
    "socket",
    "uvicorn",
    "httpx2",
    "tree_sitter",
    "yaml",
    "tomllib",
    "tomlkit",
    "inspect",
}


def test_the_server_imports_no_http_and_no_part(repository: Path) -> None:
    heavy = HEAVY - {"asyncio", "ssl", "socket", "inspect"}
    parts = {"postil.inbox.part", "postil.comments.operations.contract", "postil.tracker.part", "postil.gitlab.part"}
    assert imported_by(repository, ["serve"]) & (heavy | parts | {"argparse"}) == set()


def test_schemas_of_results_are_declared_only_where_structure_is_asked_for(repository: Path) -> None:
    """Claude Code, Codex and pydantic-ai show their model only the structure where there is one."""
    call: dict[str, Any] = {"id": 3, "method": "tools/call", "params": {"name": "workspace_check", "arguments": {}}}
    frames = [hello(), {"id": 2, "method": "tools/list"}, call]
    _, listed, called = talk("postil", "serve", frames=frames, cwd=repository)
    assert not any("outputSchema" in tool for tool in listed["result"]["tools"])
    assert "structuredContent" not in called["result"]
    _, listed, called = talk("postil", "serve", "--structured", frames=frames, cwd=repository)
    (tool,) = (tool for tool in listed["result"]["tools"] if tool["name"] == "workspace_check")
    assert tool["outputSchema"]["required"] == ["files", "faults"]
    assert set(tool["outputSchema"]["properties"]) >= set(called["result"]["structuredContent"])


def introduced(answer: dict[str, Any]) -> types.Implementation:
    """What the official schema reads of a first answer."""
    return types.InitializeResult.model_validate(answer["result"]).server_info


def test_a_website_is_named_where_one_is_known(repository: Path) -> None:
    stdio = talk("postil", "serve", frames=[hello("2025-11-25")], cwd=repository)
    assert introduced(stdio[0]).website_url is None
    told = "https://postil.example.org/team"
    for version, named in (("2025-11-25", told), ("2025-06-18", None)):
        stdio = talk("postil", "serve", frames=[hello(version)], cwd=repository, POSTIL_WEBSITE=told)
        assert introduced(stdio[0]).website_url == named
    asked = {"jsonrpc": "2.0", **hello("2025-11-25")}
    with serve_http(repository) as served:
        _, answer = served.ask(asked, served.token, Accept="application/json, text/event-stream")
    assert introduced(answer).website_url == served.url.removesuffix("mcp")
    refused = run("postil", "status", cwd=repository, POSTIL_WEBSITE="javascript:alert(1)")
    assert refused.returncode == 2
    assert "website" in refused.stderr


def test_a_person_who_types_it_is_told_what_is_waited_for(repository: Path) -> None:
    master, slave = os.openpty()
    os.write(master, b"\x04")  # Ctrl-D: no assistant will come
    done = subprocess.run(
        [BIN / "postil", "serve"], cwd=repository, stdin=slave, stderr=slave, stdout=subprocess.PIPE, timeout=60
    )
    os.close(slave)
    told = os.read(master, 65536).decode()
    os.close(master)
    assert "Waiting for an assistant" in told
    assert (done.returncode, done.stdout) == (0, b"")
