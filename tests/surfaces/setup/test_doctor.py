"""`postil doctor`: what is wrong is said, and repaired where a command of ours can."""

import json
import re
from pathlib import Path

import pytest

from postil.core.failure import Unreachable
from postil.settings.model import Folders, Settings
from postil.surfaces.setup import doctor
from postil.surfaces.setup.clients import Client
from postil.surfaces.setup.doctor import repair_once
from postil.surfaces.setup.probe import Answered
from tests.surfaces.programs import BIN, run
from tests.surfaces.setup.homes import home


def test_doctor_says_for_each_check_what_was_seen(repository: Path, tmp_path: Path) -> None:
    (repository / "postil.toml").write_text('[gitlab]\nurl = "https://evil.example"\n')
    rows = json.loads(run("postil", "doctor", "--json", cwd=repository, **home(tmp_path)).stdout)
    seen = {(row["part"], row["name"]): row for row in rows}
    assert seen["workspace", "git"]["status"] == "ok"
    assert seen["settings", "files"]["status"] == "warning"
    assert "gitlab.url" in seen["settings", "files"]["seen"]
    told = run("postil", "doctor", cwd=repository, **home(tmp_path))
    assert (told.stdout + told.stderr).count("may not set `gitlab.url`") == 1
    assert "postil init" in seen["assistants", "any"]["fix"]


def test_doctor_repairs_what_a_command_of_ours_can_repair(repository: Path, tmp_path: Path) -> None:
    run("postil", "comments", "add", "a.py", "1", "why?", cwd=repository, **home(tmp_path))
    sidecar = repository / "a.py.comments"
    assert sidecar.exists()
    sidecar.write_text("{ damaged")

    def row(*words: str) -> dict[str, str]:
        rows = json.loads(run("postil", "doctor", *words, "--json", cwd=repository, **home(tmp_path)).stdout)
        return next(row for row in rows if row["name"] == "comment files")

    assert row()["status"] == "error"
    assert sidecar.read_text() == "{ damaged"
    repaired = row("--fix")
    assert repaired["status"] == "ok", repaired
    assert repaired["fixed"]
    assert row()["status"] == "ok"


def test_doctor_tells_a_path_of_one_person_in_a_file_of_the_team(repository: Path, tmp_path: Path) -> None:
    entry = {"command": str(BIN / "postil"), "args": ["serve"]}
    (repository / ".mcp.json").write_text(json.dumps({"mcpServers": {"postil": entry}}))
    done = run("postil", "doctor", "--json", cwd=repository, **home(tmp_path))
    (row,) = [row for row in json.loads(done.stdout) if row["name"] == "claude"]
    assert row["status"] == "warning"
    assert "a path of this machine" in row["seen"]
    assert "postil setup claude --write" in row["fix"]
    entry["command"] = "/home/ann/.venv/bin/postil"
    (repository / ".mcp.json").write_text(json.dumps({"mcpServers": {"postil": entry}}))
    done = run("postil", "doctor", "--json", cwd=repository, **home(tmp_path))
    (row,) = [row for row in json.loads(done.stdout) if row["name"] == "claude"]
    assert (row["status"], done.returncode) == ("error", 1)


def test_a_repair_that_two_findings_name_is_made_once_and_says_what_it_did() -> None:
    """The second run of the same command found nothing to do, and its words were the ones shown."""
    runs: list[str] = []

    def repair(named: re.Match[str]) -> str:
        runs.append(named[2])
        return "Wrote the binding anew" if len(runs) == 1 else "There is nothing to write anew"

    advice = ["Run `postil setup lazygit --fix`", "or `postil setup lazygit --fix`", "Look at the docs"]
    assert repair_once(advice, repair) == "Wrote the binding anew"
    assert runs == ["setup lazygit --fix"]


def test_the_servers_of_all_assistants_are_waited_for_together(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ten entries that never answered took fifteen seconds each."""
    given: list[float] = []

    def wait(client: Client, found: dict[str, object], root: str, patience: float) -> Answered:
        given.append(patience)
        clock[0] += patience
        raise Unreachable("it did not end")

    clock = [0.0]
    monkeypatch.setattr(doctor, "try_entry", wait)
    monkeypatch.setattr(doctor.time, "monotonic", lambda: clock[0])
    entry = {"mcpServers": {"postil": {"command": "postil", "args": ["serve"]}}}
    for name in (
        ".mcp.json",
        ".cursor/mcp.json",
        ".gemini/settings.json",
        ".junie/mcp/mcp.json",
        ".qwen/settings.json",
    ):
        (repository / name).parent.mkdir(parents=True, exist_ok=True)
        (repository / name).write_text(json.dumps(entry))
    folders = Folders(*(str(tmp_path / name / "x") for name in ("config", "state", "cache", "home")))
    settings = Settings(folders=folders, cwd=str(repository))
    rows = list(doctor.check_assistants(settings))
    assert [row.status for row in rows] == ["error"] * 5
    assert given == [15.0, 5.0, 1.0, 1.0, 1.0]
