"""Our hooks in Claude Code's settings, beside the user's own."""

import json
from pathlib import Path

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
    path.write_text(json.dumps(settings))
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
