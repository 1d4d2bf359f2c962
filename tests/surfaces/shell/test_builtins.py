"""Built-in commands: tools, call, key and audit."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.surfaces.programs import hello, run, talk
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
    shown_keys = run("postil", "key", "list", cwd=repository).stdout
    assert key not in shown_keys
    assert shown_keys.split("\n")[0].split() == ["NAME", "KEY", "CREATED", "MAY"]
    assert run("postil", "key", "create", "ci", cwd=repository).returncode == 6
    assert run("postil", "key", "create", "../x", cwd=repository).returncode == 2
    assert run("postil", "key", "create", "x", "--days", "0", cwd=repository).returncode == 2
    assert run("postil", "key", "create", "guest", "--days", "30", cwd=repository).returncode == 0
    shown = json.loads(run("postil", "key", "list", "--json", cwd=repository).stdout)
    assert ["expires" in key for key in shown] == [False, True]
    assert "until 20" in run("postil", "key", "list", cwd=repository).stdout
    assert run("postil", "key", "revoke", "guest", cwd=repository).returncode == 0
    assert run("postil", "key", "revoke", "ci", cwd=repository).returncode == 0
    assert run("postil", "key", "revoke", "ci", cwd=repository).returncode == 5


def test_an_older_name_is_called_with_its_older_arguments(repository: Path) -> None:
    (repository / "b.py").write_text("one\ntwo\n")
    run("postil", "call", "comments_add", '{"filePath": "a.py", "line": 1, "text": "words"}', cwd=repository)
    [comment] = json.loads(run("postil", "comments", "list", "--json", cwd=repository).stdout)["comments"]
    old = {"commentId": comment["id"], "file": "b.py", "line": 2}
    moved = run("postil", "call", "comments_move", json.dumps(old), cwd=repository)
    assert moved.returncode == 0, moved.stderr
    [now] = json.loads(run("postil", "comments", "list", "--json", cwd=repository).stdout)["comments"]
    assert (now["filePath"], now["line"]) == ("b.py", 2)
    copied = run("postil", "call", "comments_copy", json.dumps(old | {"line": 1}), cwd=repository)
    assert copied.returncode == 0, copied.stderr
    call = {"name": "comments_move", "arguments": old | {"line": 1}}
    answers = talk(
        "postil",
        "serve",
        frames=[hello(), {"id": 2, "method": "tools/call", "params": call}],
        cwd=repository,
    )
    assert not answers[-1]["result"].get("isError"), answers[-1]
    made = run("postil", "call", "mile.create", '{"kind": "issue", "title": "T"}', cwd=repository)
    assert made.returncode == 0, made.stderr


def test_json_of_a_person_is_read_as_that_of_an_assistant(repository: Path) -> None:
    called = run("postil", "call", "git_mile_list", '{"entity": "issue", "limit": 5.0, "cursor": ""}', cwd=repository)
    assert called.returncode == 0, called.stderr
    after = run("postil", "call", "git_mile_list", "--json", '{"entity": "issue"}', cwd=repository)
    assert json.loads(after.stdout)["items"] == []


def test_what_is_done_to_keys_is_in_the_audit(repository: Path) -> None:
    assert "No writes yet" in run("postil", "audit", cwd=repository).stdout
    made = run("postil", "key", "create", "ci", cwd=repository)
    run("postil", "key", "create", "ci", cwd=repository)
    run("postil", "key", "revoke", "ci", cwd=repository)
    rows = [row.split() for row in run("postil", "audit", cwd=repository).stdout.splitlines()]
    assert [row[1:] for row in rows] == [
        ["local", "key", "create", "name=ci", "ok"],
        ["local", "key", "create", "name=ci", "failed", "(KeyExists)"],
        ["local", "key", "revoke", "name=ci", "ok"],
    ]
    verified = run("postil", "audit", "verify", cwd=repository)
    assert (verified.returncode, verified.stdout.count("3 writes")) == (0, 1)
    held = run("postil", "audit", "--json", cwd=repository).stdout
    assert made.stdout.strip() not in held
    run("postil", "key", "revoke", "ci", cwd=repository)
    last = json.loads(run("postil", "audit", "--json", cwd=repository).stdout)
    assert [row.get("stored", False) for row in last] == [True, False, True, False], "what was refused had no effect"
