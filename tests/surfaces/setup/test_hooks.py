"""Our hooks in the settings of assistants, beside the user's own."""

import json
from pathlib import Path

import pytest

from postil.surfaces.setup.hooks import SHAPES, find, put, remove, wanted
from tests.surfaces.programs import BIN, run
from tests.surfaces.setup.homes import file_of, home

POSTIL = str(BIN / "postil")


def test_hooks_stand_beside_the_users_own(repository: Path, tmp_path: Path) -> None:
    path = file_of("claude-hooks", repository, tmp_path)
    path.parent.mkdir()
    own = {"hooks": [{"type": "command", "command": "say done"}]}
    path.write_text(json.dumps({"hooks": {"Stop": [own]}, "model": "x"}))
    run("postil", "setup", "claude-hooks", "--write", cwd=repository, **home(tmp_path))
    hooks = json.loads(path.read_text())["hooks"]
    assert hooks["Stop"][0] == own
    assert hooks["Stop"][1]["hooks"][0]["command"] == f"{POSTIL} inbox hook stop"
    assert set(hooks) == {"SessionStart", "UserPromptSubmit", "Stop"}
    changed = path.read_text().replace('"x"', '"y"')
    path.write_text(changed)  # so that removing has to take ours out, not bring the old bytes back
    run("postil", "setup", "claude-hooks", "--remove", cwd=repository, **home(tmp_path))
    assert json.loads(path.read_text()) == {"hooks": {"Stop": [own]}, "model": "y"}


def test_what_is_left_of_our_hooks_can_be_removed(repository: Path, tmp_path: Path) -> None:
    path = file_of("claude-hooks", repository, tmp_path)
    run("postil", "setup", "claude-hooks", "--write", cwd=repository, **home(tmp_path))
    settings = json.loads(path.read_text())
    del settings["hooks"]["Stop"]  # the user took one out by hand
    path.write_text(json.dumps(settings | {"theme": "dark"}))
    said = run("postil", "setup", "claude-hooks", "--remove", cwd=repository, **home(tmp_path))
    assert "Took our entry out" in said.stdout
    assert "inbox hook" not in path.read_text()
    again = run("postil", "setup", "claude-hooks", "--remove", cwd=repository, **home(tmp_path))
    assert "There is no entry of ours" in again.stdout


def test_checking_the_hooks_takes_no_message(repository: Path, tmp_path: Path) -> None:
    run("postil", "setup", "claude-hooks", "--write", cwd=repository, **home(tmp_path))
    run("postil", "inbox", "send", "-f", "a.py", "-c", "why?", cwd=repository, **home(tmp_path))
    assert run("postil", "setup", "claude-hooks", "--check", cwd=repository, **home(tmp_path)).returncode == 0
    listed = json.loads(run("postil", "inbox", "list", "--json", cwd=repository, **home(tmp_path)).stdout)
    assert [message["state"] for message in listed["messages"]] == ["queued"]


def test_who_sets_up_the_hooks_of_codex_is_told_to_trust_them(repository: Path, tmp_path: Path) -> None:
    said = run("postil", "setup", "codex-hooks", "--write", cwd=repository, **home(tmp_path))
    assert "type /hooks in Codex once and trust them" in said.stdout


def test_a_hook_that_waits_is_the_persons_own(repository: Path, tmp_path: Path) -> None:
    path = file_of("claude-hooks", repository, tmp_path)
    path.parent.mkdir()
    own = {"hooks": [{"type": "command", "command": "postil inbox hook idle >&2 && exit 2; exit 0"}]}
    path.write_text(json.dumps({"hooks": {"Stop": [own]}}))
    run("postil", "setup", "claude-hooks", "--write", cwd=repository, **home(tmp_path))
    assert json.loads(path.read_text())["hooks"]["Stop"][0] == own


DOCUMENTED = {
    # each as its client documents it
    "claude": {"SessionStart": [{"hooks": [{"type": "command", "command": "/p inbox hook start"}]}]},
    "codex": {
        "Stop": [{"hooks": [{"type": "command", "command": "/p inbox hook stop --client codex", "timeout": 30}]}]
    },
    "gemini": {
        "BeforeAgent": [
            {"hooks": [{"type": "command", "command": "/p inbox hook prompt --client gemini", "timeout": 30000}]}
        ]
    },
    "cursor": {"stop": [{"command": "/p inbox hook stop --client cursor"}]},
    "copilot": {"agentStop": [{"type": "command", "bash": "/p inbox hook stop --client copilot", "timeoutSec": 30}]},
}


@pytest.mark.parametrize("client", SHAPES)
def test_each_client_has_its_documented_shape(client: str) -> None:
    hooks = wanted("/p", SHAPES[client])
    for event, groups in DOCUMENTED[client].items():
        assert hooks[event] == groups


@pytest.mark.parametrize("client", SHAPES)
def test_putting_and_removing_leaves_the_others(client: str) -> None:
    shape = SHAPES[client]
    event = next(iter(shape.events))
    other = {"command": "say inbox"} if shape.form == "bare" else {"hooks": [{"command": "x hook inbox"}]}
    before = json.dumps({"hooks": {event: [other]}})
    text = put(before, "/my tools/postil", shape)
    assert put(text, "/my tools/postil", shape) == text
    assert find(text, shape) is not None
    assert json.loads(text).get("version", 0) == shape.version
    assert json.loads(remove(text, shape))["hooks"] == {event: [other]}


@pytest.mark.parametrize("client", SHAPES)
def test_setup_writes_checks_and_removes_them(client: str, repository: Path, tmp_path: Path) -> None:
    name = f"{client}-hooks"
    path = file_of(name, repository, tmp_path)
    assert run("postil", "setup", name, "--write", cwd=repository, **home(tmp_path)).returncode == 0
    printed = json.loads(run("postil", "setup", name, "--print", cwd=repository, **home(tmp_path)).stdout)
    assert json.loads(path.read_text()) == printed
    assert run("postil", "setup", name, "--check", cwd=repository, **home(tmp_path)).returncode == 0
    run("postil", "setup", name, "--remove", cwd=repository, **home(tmp_path))
    assert not path.exists()


def test_a_file_with_two_entries_of_ours_keeps_the_one_that_stays(repository: Path, tmp_path: Path) -> None:
    for name in ("gemini", "gemini-hooks"):
        run("postil", "setup", name, "--write", cwd=repository, **home(tmp_path))
    path = file_of("gemini", repository, tmp_path)
    both = json.loads(path.read_text())
    assert set(both) == {"mcpServers", "hooks"}
    run("postil", "setup", "gemini-hooks", "--remove", cwd=repository, **home(tmp_path))
    assert json.loads(path.read_text()) == {"mcpServers": both["mcpServers"]}
