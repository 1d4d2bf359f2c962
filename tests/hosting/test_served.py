"""Many workspaces of one gateway: settings that cannot be, and rooms that do not mix."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from postil.hosting.served import check
from postil.settings.load import load
from postil.settings.model import BadSettings, Settings, StateSettings, WorkspaceSettings
from tests.surfaces.programs import BIN, run
from tests.wire.http_client import Connection


@pytest.mark.parametrize(
    ("name", "workspace", "said"),
    [
        ("a/b", WorkspaceSettings(path="/"), "letters, digits"),
        ("", WorkspaceSettings(path="/"), "letters, digits"),
        ("a", WorkspaceSettings(), "neither a path nor a remote"),
        ("a", WorkspaceSettings(path="/nowhere/at/all"), "is no folder"),
        ("a", WorkspaceSettings(path="/", branch="main"), "branch is for remotes"),
        ("a", WorkspaceSettings(remote="--upload-pack=x"), "begins with a hyphen"),
        ("a", WorkspaceSettings(remote="https://example.org/a.git"), "kept in PostgreSQL"),
    ],
)
def test_a_workspace_that_cannot_be_served_is_named(name: str, workspace: WorkspaceSettings, said: str) -> None:
    with pytest.raises(BadSettings, match=re.escape(f"workspaces.{name}")) as refused:
        check(Settings(workspaces={name: workspace}))
    assert said in refused.value.message


def test_replicas_that_forward_need_a_secret_that_they_share() -> None:
    shared = {"a": WorkspaceSettings(remote="https://example.org/a.git")}
    state = StateSettings(address="postgresql:///x")
    with pytest.raises(BadSettings, match="share a secret"):
        check(Settings(workspaces=shared, state=state))
    check(Settings(workspaces=shared, state=state, secret="sixteen or more of them"))


def test_workspaces_are_read_from_the_operators_file_and_no_others(tmp_path: Path) -> None:
    file = tmp_path / "postil.toml"
    file.write_text('[workspaces.our-app]\npath = "/"\nmembers = ["alice"]\n')
    assert load({"HOME": str(tmp_path)}, str(tmp_path), file=str(file)).workspaces == {
        "our-app": WorkspaceSettings(path="/", members=("alice",))
    }
    (tmp_path / ".git").mkdir()
    for name in ("HEAD", "objects", "refs"):
        (tmp_path / ".git" / name).mkdir()
    settings = load({"HOME": "/nowhere"}, str(tmp_path))
    assert settings.workspaces == {}
    assert "may not set `workspaces.NAME.members`" in settings.warnings[0]
    file.write_text('[workspaces.a]\npaht = "/"\n')
    with pytest.raises(BadSettings, match=r"unknown key `workspaces.NAME.paht`"):
        load({"HOME": str(tmp_path)}, str(tmp_path), file=str(file))


@contextmanager
def serving(folder: Path, settings: str, **environ: str) -> Generator[int]:
    """A gateway with these settings; gives its port."""
    config = folder / "gateway.toml"
    config.write_text(settings)
    process = subprocess.Popen(
        [BIN / "postil", "--config", str(config), "serve", "--http", "127.0.0.1:0", "--auth", "key"],
        cwd=folder, stderr=subprocess.PIPE, text=True, env={**os.environ, **environ},
    )  # fmt: skip
    assert process.stderr is not None
    try:
        found = re.search(r":(\d+)/mcp", process.stderr.readline())
        assert found is not None, process.stderr.read()
        yield int(found[1])
    finally:
        process.terminate()
        process.wait(20)
        process.stderr.close()


def call(port: int, key: str, path: str, method: str, params: dict[str, Any], once: str = "") -> Any:
    connection = Connection(port, timeout=30)
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    if once:
        headers["Idempotency-Key"] = once
    connection.ask("POST", path, body, headers)
    answer = connection.answer()
    connection.close()
    return answer.json().get("result", answer.status)


def test_each_workspace_has_its_own_files_members_keys_and_audit(tmp_path: Path) -> None:
    environ = {"XDG_STATE_HOME": str(tmp_path / "state")}
    for name in ("here", "web", "api"):
        subprocess.run(["git", "init", "-q", str(tmp_path / name)], check=True)
        (tmp_path / name / "a.py").write_text("one = 1\ntwo = 2\n")
    here = tmp_path / "here"
    made = {
        name: json.loads(run("postil", "key", "create", name, *more, "--json", cwd=here, **environ).stdout)["key"]
        for name, *more in (("alice",), ("bob",), ("carol", "--workspace"))
    }
    rooms = f"""
    [workspaces.web]
    path = "{tmp_path / "web"}"
    members = ["key:alice", "key:bob"]
    [workspaces.api]
    path = "{tmp_path / "api"}"
    members = ["key:bob"]
    readers = ["*"]
    """
    comment = {"filePath": "a.py", "line": 1, "text": "by bob"}
    with serving(here, rooms, **environ) as port:
        first = call(port, made["bob"], "/w/web/mcp", "add_comment", comment, once="same")
        second = call(port, made["bob"], "/w/api/mcp", "add_comment", comment, once="same")
        assert first["commentId"] != second["commentId"], "a key belongs to its workspace"
        assert call(port, made["bob"], "/w/web/mcp", "add_comment", comment, once="same") == first
        assert call(port, made["carol"], "/w/web/mcp", "comments_list", {}) == 404
        assert call(port, made["alice"], "/w/api/mcp", "add_comment", comment) == 200  # an error: it sees no writes
        assert "by bob" in json.dumps(call(port, made["alice"], "/w/api/mcp", "comments_list", {}))
        assert "by bob" not in json.dumps(call(port, made["carol"], "/mcp", "comments_list", {}))
    assert (tmp_path / "web" / "a.py.comments").read_text().count("by bob") == 1
    assert not (here / "a.py.comments").exists()
    audit = run("postil", "audit", cwd=here, **environ).stdout
    assert ("web/add_comment" in audit, "api/add_comment" in audit) == (True, True)


def test_a_remote_without_a_shared_state_ends_the_start_with_a_sentence(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    config = tmp_path / "gateway.toml"
    config.write_text('[workspaces.web]\nremote = "https://example.org/web.git"\n')
    done = run("postil", "--config", str(config), "serve", "--http", "127.0.0.1:0", cwd=tmp_path)
    assert (done.returncode, "kept in PostgreSQL" in done.stderr) == (2, True), done.stderr
