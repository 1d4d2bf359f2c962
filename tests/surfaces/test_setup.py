"""Connecting assistants: written with care, checked for real, removed without a trace."""

import json
import os
import subprocess
import tomllib
from pathlib import Path

import pytest

from postil.surfaces.setup.clients import CLIENTS
from tests.surfaces.programs import BIN, run

POSTIL = str(BIN / "postil")
JSON_BEFORE = """\
{
    // my servers
    "mcpServers": {
        "other": {"command": "x"}, // keep
    },
    "theme": "dark"
}
"""
TOML_BEFORE = '# mine\nmodel = "o9"\n\n[mcp_servers.other] # keep\ncommand = "x"\n'


def home(tmp_path: Path) -> dict[str, str]:
    """A home of one's own: these tests write into it."""
    return {
        "HOME": str(tmp_path / "home"),
        "XDG_CONFIG_HOME": str(tmp_path / "home" / ".config"),
        "XDG_STATE_HOME": str(tmp_path / "home" / "state"),
    }


def file_of(name: str, repository: Path, tmp_path: Path) -> Path:
    client = CLIENTS[name]
    places = {"repository": repository, "home": tmp_path / "home", "config": tmp_path / "home" / ".config"}
    return places[client.place] / client.file


@pytest.mark.parametrize("name", CLIENTS)
def test_the_printed_entry_is_what_writing_writes(name: str, repository: Path, tmp_path: Path) -> None:
    printed = run("postil", "setup", name, "--print", cwd=repository, **home(tmp_path))
    assert POSTIL in printed.stdout
    assert os.path.isabs(POSTIL)
    assert printed.stderr == ""
    done = run("postil", "setup", name, "--write", cwd=repository, **home(tmp_path))
    assert done.returncode == 0, done.stderr
    written = file_of(name, repository, tmp_path).read_text()
    read = tomllib.loads if CLIENTS[name].is_toml else json.loads
    assert read(written) == read(printed.stdout)


@pytest.mark.parametrize("name", CLIENTS)
def test_the_entry_answers_the_handshake(name: str, repository: Path, tmp_path: Path) -> None:
    run("postil", "setup", name, "--write", cwd=repository, **home(tmp_path))
    done = run("postil", "setup", name, "--check", "--json", cwd=repository, **home(tmp_path))
    assert json.loads(done.stdout)["server"] == "postil", done.stderr


@pytest.mark.parametrize("name", CLIENTS)
def test_removing_leaves_the_file_byte_for_byte(name: str, repository: Path, tmp_path: Path) -> None:
    path = file_of(name, repository, tmp_path)
    path.parent.mkdir(parents=True, exist_ok=True)
    before = (TOML_BEFORE if CLIENTS[name].is_toml else JSON_BEFORE).encode()
    path.write_bytes(before)
    for _ in range(2):  # the second write changes nothing, and must not become "what was before"
        assert run("postil", "setup", name, "--write", cwd=repository, **home(tmp_path)).returncode == 0
    assert b"// keep" in path.read_bytes() or b"# keep" in path.read_bytes()
    assert run("postil", "setup", name, "--remove", cwd=repository, **home(tmp_path)).returncode == 0
    assert path.read_bytes() == before


@pytest.mark.parametrize("name", CLIENTS)
def test_removing_what_was_made_leaves_nothing(name: str, repository: Path, tmp_path: Path) -> None:
    run("postil", "setup", name, "--write", cwd=repository, **home(tmp_path))
    run("postil", "setup", name, "--remove", cwd=repository, **home(tmp_path))
    assert not file_of(name, repository, tmp_path).exists()
    status = subprocess.run(["git", "status", "--short"], cwd=repository, capture_output=True, check=True)
    assert status.stdout == b""


@pytest.mark.parametrize("name", ["claude", "codex"])
def test_removing_keeps_what_the_user_changed_meanwhile(name: str, repository: Path, tmp_path: Path) -> None:
    path = file_of(name, repository, tmp_path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(TOML_BEFORE if CLIENTS[name].is_toml else JSON_BEFORE)
    run("postil", "setup", name, "--write", cwd=repository, **home(tmp_path))
    path.write_text(path.read_text().replace("keep", "keep this"))
    run("postil", "setup", name, "--remove", cwd=repository, **home(tmp_path))
    assert "keep this" in path.read_text()
    assert "postil" not in path.read_text()


@pytest.mark.parametrize(("name", "damaged"), [("claude", "{"), ("codex", "[x"), ("claude", '{"mcpServers": []}')])
def test_a_file_that_cannot_be_understood_is_not_touched(
    name: str, damaged: str, repository: Path, tmp_path: Path
) -> None:
    path = file_of(name, repository, tmp_path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(damaged)
    done = run("postil", "setup", name, "--write", cwd=repository, **home(tmp_path))
    assert done.returncode == 6
    assert str(path) in done.stderr
    assert path.read_text() == damaged


def test_a_symlink_in_a_repository_is_not_followed(repository: Path, tmp_path: Path) -> None:
    precious = tmp_path / "precious.json"
    precious.write_text("{}")
    (repository / ".mcp.json").symlink_to(precious)
    done = run("postil", "setup", "claude", "--write", cwd=repository, **home(tmp_path))
    assert done.returncode == 2
    assert precious.read_text() == "{}"


def test_a_symlink_at_home_is_the_users_own_and_stays_one(repository: Path, tmp_path: Path) -> None:
    path = file_of("codex", repository, tmp_path)
    path.parent.mkdir(parents=True)
    (tmp_path / "dotfiles.toml").write_text(TOML_BEFORE)
    path.symlink_to(tmp_path / "dotfiles.toml")
    assert run("postil", "setup", "codex", "--write", cwd=repository, **home(tmp_path)).returncode == 0
    assert path.is_symlink()
    assert "postil" in (tmp_path / "dotfiles.toml").read_text()


def test_checking_what_is_not_there_says_how_to_set_it_up(repository: Path, tmp_path: Path) -> None:
    done = run("postil", "setup", "cursor", "--check", cwd=repository, **home(tmp_path))
    assert done.returncode == 5
    assert "postil setup cursor --write" in done.stderr


def test_an_entry_whose_program_is_gone_is_unreachable(repository: Path, tmp_path: Path) -> None:
    path = file_of("codex", repository, tmp_path)
    path.parent.mkdir(parents=True)
    path.write_text('[mcp_servers.postil]\ncommand = "/nowhere/postil"\nargs = []\n')
    done = run("postil", "setup", "codex", "--check", cwd=repository, **home(tmp_path))
    assert done.returncode == 4
    doctor = run("postil", "doctor", "--json", cwd=repository, **home(tmp_path))
    assert doctor.returncode == 1
    rows = {(row["part"], row["name"]): row for row in json.loads(doctor.stdout)}
    assert rows["assistants", "codex"]["status"] == "error"


@pytest.mark.parametrize(
    "entry",
    [
        {"command": "touch", "args": ["{marker}"]},
        {"command": POSTIL, "args": ["setup", "cursor", "--write"]},
        {"command": POSTIL, "args": ["serve", "--config", "evil.toml"]},
        {"command": POSTIL},
        {"command": [POSTIL], "args": 3},
    ],
)
def test_what_a_cloned_repository_says_is_not_run(entry: dict[str, object], repository: Path, tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    text = json.dumps({"mcpServers": {"postil": entry}}).replace("{marker}", str(marker))
    (repository / ".mcp.json").write_text(text)
    done = run("postil", "setup", "claude", "--check", cwd=repository, **home(tmp_path))
    assert done.returncode == 6, done.stderr
    assert run("postil", "doctor", cwd=repository, **home(tmp_path)).returncode == 1
    assert not marker.exists()
    assert not (repository / ".cursor").exists()


def test_outside_a_repository_a_repositorys_client_is_refused(tmp_path: Path) -> None:
    done = run("postil", "setup", "claude", "--write", cwd=tmp_path, **home(tmp_path))
    assert done.returncode == 5
    assert "-C" in done.stderr


def test_init_writes_checks_and_says_how_to_undo_in_a_few_lines(repository: Path, tmp_path: Path) -> None:
    done = run("postil", "init", "--with", "cursor", cwd=repository, **home(tmp_path))
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) <= 12
    assert "postil setup claude --remove" in lines[0]
    assert json.loads((repository / ".mcp.json").read_text())["mcpServers"]["postil"]["command"] == POSTIL
    assert (repository / ".cursor" / "mcp.json").exists()
    assert "+++ .mcp.json" in done.stderr


@pytest.mark.parametrize("words", [["init"], ["setup", "claude", "--write"], ["setup", "claude", "--remove"]])
def test_read_only_writes_nothing(words: list[str], repository: Path, tmp_path: Path) -> None:
    done = run("postil", "--read-only", *words, cwd=repository, **home(tmp_path))
    assert done.returncode == 3
    assert not (repository / ".mcp.json").exists()


def test_init_with_dry_run_writes_nothing(repository: Path, tmp_path: Path) -> None:
    done = run("postil", "init", "--dry-run", cwd=repository, **home(tmp_path))
    assert done.returncode == 0
    assert '+  "mcpServers"' in done.stderr
    assert not (repository / ".mcp.json").exists()


def test_doctor_says_for_each_check_what_was_seen(repository: Path, tmp_path: Path) -> None:
    (repository / "postil.toml").write_text('[gitlab]\nurl = "https://evil.example"\n')
    rows = json.loads(run("postil", "doctor", "--json", cwd=repository, **home(tmp_path)).stdout)
    seen = {(row["part"], row["name"]): row for row in rows}
    assert seen["workspace", "git"]["status"] == "ok"
    assert seen["settings", "files"]["status"] == "warning"
    assert "gitlab.url" in seen["settings", "files"]["seen"]
    assert "postil init" in seen["assistants", "any"]["fix"]


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["stat"], "status"),
        (["workspace", ""], "check"),
        (["workspace", "check", "--j"], "--json"),
        (["setup", "vsc"], "vscode"),
        (["setup", "claude", "--w"], "--write"),
        (["completion", ""], "zsh"),
        (["call", "workspace_i"], "workspace_info"),
    ],
)
def test_completion_offers_what_may_come_next(words: list[str], offered: str, repository: Path) -> None:
    assert offered in run("postil", "complete-words", *words, cwd=repository).stdout.split()


def test_bash_completes_with_the_printed_script(repository: Path) -> None:
    script = (
        'eval "$(postil completion bash)"; COMP_WORDS=(postil workspace in); COMP_CWORD=2; _postil_complete;'
        'printf "%s" "${COMPREPLY[*]}"'
    )
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=repository,
        env={**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout == "info"


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


def test_a_file_that_is_too_large_to_read_whole_is_not_written(repository: Path, tmp_path: Path) -> None:
    path = file_of("codex", repository, tmp_path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("# a remark\n" * 500_000)
    refused = run("postil", "setup", "codex", "--write", cwd=repository, **home(tmp_path))
    assert refused.returncode == 6
    assert "larger than 4 MiB" in refused.stderr
    assert path.read_text() == "# a remark\n" * 500_000


def test_checking_the_hooks_takes_no_message(repository: Path, tmp_path: Path) -> None:
    run("postil", "setup", "claude-hooks", "--write", cwd=repository, **home(tmp_path))
    run("postil", "inbox", "send", "-f", "a.py", "-c", "why?", cwd=repository, **home(tmp_path))
    assert run("postil", "setup", "claude-hooks", "--check", cwd=repository, **home(tmp_path)).returncode == 0
    listed = json.loads(run("postil", "inbox", "list", "--json", cwd=repository, **home(tmp_path)).stdout)
    assert [message["state"] for message in listed["messages"]] == ["queued"]


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
