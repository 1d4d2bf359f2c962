"""`postil setup`: an entry is printed, written and removed again."""

import json
import os
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

from postil.surfaces.setup.clients import CLIENTS
from tests.surfaces.programs import BIN, run
from tests.surfaces.setup.homes import file_of, home

POSTIL = str(BIN / "postil")


@pytest.mark.parametrize("name", CLIENTS)
def test_the_printed_entry_is_what_writing_writes_answers_and_can_be_removed(
    name: str, repository: Path, tmp_path: Path
) -> None:
    printed = run("postil", "setup", name, "--print", cwd=repository, **home(tmp_path))
    assert (POSTIL in printed.stdout) is not CLIENTS[name].is_committed, "a team commits no path of one person"
    assert os.path.isabs(POSTIL)
    assert printed.stderr == ""
    done = run("postil", "setup", name, "--write", cwd=repository, **home(tmp_path))
    assert done.returncode == 0, done.stderr
    written = file_of(name, repository, tmp_path).read_text()
    read = tomllib.loads if CLIENTS[name].is_toml else yaml.safe_load  # JSON is YAML
    assert read(written) == read(printed.stdout)
    checked = run("postil", "setup", name, "--check", "--json", cwd=repository, **home(tmp_path))
    assert json.loads(checked.stdout)["server"] == "postil", checked.stderr
    run("postil", "setup", name, "--remove", cwd=repository, **home(tmp_path))
    assert not file_of(name, repository, tmp_path).exists(), "what was made for it goes with it"
    status = subprocess.run(["git", "status", "--short"], cwd=repository, capture_output=True, check=True)
    assert status.stdout == b""


@pytest.mark.parametrize("name", ["gemini", "qwen"])
def test_who_sets_up_a_client_with_trusted_folders_is_told_of_them(name: str, repository: Path, tmp_path: Path) -> None:
    said = run("postil", "setup", name, "--write", cwd=repository, **home(tmp_path))
    assert "only in folders that you trust" in said.stdout


def test_checking_what_is_not_there_says_how_to_set_it_up(repository: Path, tmp_path: Path) -> None:
    done = run("postil", "setup", "cursor", "--check", cwd=repository, **home(tmp_path))
    assert done.returncode == 5
    assert "postil setup cursor --write" in done.stderr


@pytest.mark.parametrize("program", ["lazygit", "git"])
def test_checking_a_program_that_is_not_set_up_ends_as_for_an_assistant(
    program: str, repository: Path, tmp_path: Path
) -> None:
    done = run("postil", "setup", program, "--check", cwd=repository, **home(tmp_path))
    assert (done.returncode, done.stdout) == (5, f"Not set up: run `postil setup {program}`\n")
    assert run("postil", "setup", program, "--write", cwd=repository, **home(tmp_path)).returncode == 0
    assert run("postil", "setup", program, "--check", cwd=repository, **home(tmp_path)).returncode == 0
    assert run("postil", "setup", program, "--remove", cwd=repository, **home(tmp_path)).returncode == 0


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


def test_outside_a_repository_a_repositorys_client_is_refused(tmp_path: Path) -> None:
    done = run("postil", "setup", "claude", "--write", cwd=tmp_path, **home(tmp_path))
    assert done.returncode == 5
    assert "-C" in done.stderr


@pytest.mark.parametrize("words", [["init"], ["setup", "claude", "--write"], ["setup", "claude", "--remove"]])
def test_read_only_writes_nothing(words: list[str], repository: Path, tmp_path: Path) -> None:
    done = run("postil", "--read-only", *words, cwd=repository, **home(tmp_path))
    assert done.returncode == 3
    assert not (repository / ".mcp.json").exists()


def test_an_entry_of_our_name_that_is_somebody_elses_is_named_when_it_is_replaced(
    repository: Path, tmp_path: Path
) -> None:
    path = file_of("claude", repository, tmp_path)
    theirs = json.dumps({"mcpServers": {"postil": {"command": "npx", "args": ["other", "x y"]}}})
    path.write_text(theirs)
    said = run("postil", "setup", "claude", "--write", cwd=repository, **home(tmp_path)).stdout
    assert "An entry named postil stood there and was replaced: npx other 'x y'" in said
    again = run("postil", "setup", "claude", "--write", cwd=repository, **home(tmp_path)).stdout
    assert "replaced" not in again
    run("postil", "setup", "claude", "--remove", cwd=repository, **home(tmp_path))
    assert path.read_text() == theirs


def test_choices_of_an_entry_of_ours_are_kept_when_it_is_mended(repository: Path, tmp_path: Path) -> None:
    """A file that hid tools offered them again after `setup --write` or `init`, and nothing was said."""
    path = file_of("claude", repository, tmp_path)
    env = {"POSTIL_PARTS": "inbox", "PATH": "/evil"}
    args = ["serve", "--read-only", "--deny-tool", "x", "--toolset", "extra"]
    theirs = json.dumps({"mcpServers": {"postil": {"command": "/old/postil", "args": args, "env": env}}})
    for words in (["setup", "claude", "--write"], ["init"]):
        path.write_text(theirs)
        said = run("postil", *words, cwd=repository, **home(tmp_path)).stdout
        written = json.loads(path.read_text())["mcpServers"]["postil"]
        assert written == {"command": "postil", "args": args, "env": {"POSTIL_PARTS": "inbox"}}
        assert "Not kept of the entry that stood there: PATH" in said
        run("postil", "setup", "claude", "--remove", cwd=repository, **home(tmp_path))
        assert path.read_text() == theirs


def test_what_the_user_chose_at_home_is_kept(repository: Path, tmp_path: Path) -> None:
    path = file_of("codex", repository, tmp_path)
    path.parent.mkdir(parents=True)
    path.write_text('[mcp_servers.postil]\ncommand = "/old/postil"\nargs = ["serve", "--read-only"]\nstartup = 9\n')
    run("postil", "setup", "codex", "--write", cwd=repository, **home(tmp_path))
    kept = tomllib.loads(path.read_text())["mcp_servers"]["postil"]
    assert kept == {"command": POSTIL, "args": ["serve", "--read-only"], "startup": 9}


def test_an_entry_that_was_edited_between_two_writes_comes_back(repository: Path, tmp_path: Path) -> None:
    path = file_of("claude", repository, tmp_path)
    run("postil", "setup", "claude", "--write", cwd=repository, **home(tmp_path))
    edited = path.read_text().replace('"postil",', '"/old/postil",').replace('"serve"', '"serve", "--deny-tool", "x"')
    path.write_text(edited)
    run("postil", "setup", "claude", "--write", cwd=repository, **home(tmp_path))
    assert path.read_text() != edited
    run("postil", "setup", "claude", "--remove", cwd=repository, **home(tmp_path))
    assert path.read_text() == edited


def test_an_entry_that_stood_there_comes_back_although_others_wrote_meanwhile(repository: Path, tmp_path: Path) -> None:
    path = file_of("claude", repository, tmp_path)
    theirs = {"command": "/old/postil", "args": ["serve", "--deny-tool", "x"]}
    path.write_text(json.dumps({"mcpServers": {"postil": theirs}}))
    run("postil", "setup", "claude", "--write", cwd=repository, **home(tmp_path))
    path.write_text(json.dumps({**json.loads(path.read_text()), "theme": "dark"}))
    run("postil", "setup", "claude", "--remove", cwd=repository, **home(tmp_path))
    assert json.loads(path.read_text()) == {"mcpServers": {"postil": theirs}, "theme": "dark"}


@pytest.mark.parametrize("named", ["touch", "./postil", "", 7])
def test_an_entry_of_our_name_that_starts_something_else_is_not_called_connected(
    named: object, repository: Path, tmp_path: Path
) -> None:
    (repository / ".mcp.json").write_text(json.dumps({"mcpServers": {"postil": {"command": named, "args": ["x"]}}}))
    shown = run("postil", "setup", cwd=repository, **home(tmp_path)).stdout
    assert shown.split()[:3] == ["claude", "another", "program"]
    listed = json.loads(run("postil", "setup", "--json", cwd=repository, **home(tmp_path)).stdout)
    assert [row["client"] for row in listed if row["connected"]] == []
    assert [row["client"] for row in listed if row.get("other")] == ["claude"]


@pytest.mark.parametrize(
    ("client", "file", "given"),
    [
        ("claude", ".mcp.json", {"mcpServers": {"postil": {"type": "http", "url": "http://127.0.0.1:3000/mcp"}}}),
        ("gemini", ".gemini/settings.json", {"mcpServers": {"postil": {"httpUrl": "http://127.0.0.1:3000/mcp"}}}),
    ],
)
def test_an_entry_that_names_a_server_over_http_is_connected_to_its_address(
    client: str, file: str, given: object, repository: Path, tmp_path: Path
) -> None:
    """`serve --http` tells to write it, and the list called it another program."""
    (repository / file).parent.mkdir(exist_ok=True)
    (repository / file).write_text(json.dumps(given))
    shown = run("postil", "setup", cwd=repository, **home(tmp_path)).stdout
    (line,) = [line for line in shown.splitlines() if line.split()[0] == client]
    assert line.split()[1:4] == ["connected", "to", "http://127.0.0.1:3000/mcp"]
    listed = json.loads(run("postil", "setup", "--json", cwd=repository, **home(tmp_path)).stdout)
    assert [row["client"] for row in listed if row["connected"]] == [client]
    looked = run("postil", "doctor", cwd=repository, **home(tmp_path)).stdout
    assert "a server at http://127.0.0.1:3000/mcp, which is not asked from here" in looked
    said = run("postil", "setup", client, "--write", cwd=repository, **home(tmp_path)).stdout
    assert "stood there and was replaced: http://127.0.0.1:3000/mcp" in said


def test_an_address_beside_a_program_makes_it_no_server_of_ours(repository: Path, tmp_path: Path) -> None:
    both = {"command": "touch", "args": ["x"], "url": "http://127.0.0.1:3000/mcp"}
    (repository / ".mcp.json").write_text(json.dumps({"mcpServers": {"postil": both}}))
    shown = run("postil", "setup", cwd=repository, **home(tmp_path)).stdout
    assert shown.split()[:3] == ["claude", "another", "program"]


def test_setup_lists_programs_beside_assistants_and_all_take_write(repository: Path, tmp_path: Path) -> None:
    listed = run("postil", "setup", cwd=repository, **home(tmp_path)).stdout
    assert {line.split()[0] for line in listed.splitlines()} == {*CLIENTS, "lazygit", "git"}
    told = run("postil", "setup", "--help", cwd=repository, **home(tmp_path)).stdout
    assert "lazygit, git" in " ".join(told.split())
    for name in ("lazygit", "git"):
        done = run("postil", "setup", name, "--write", cwd=repository, **home(tmp_path))
        assert done.returncode == 0, done.stderr
    after = run("postil", "setup", cwd=repository, **home(tmp_path)).stdout
    for name in ("lazygit", "git"):
        rows = [next(row.split()[1] for row in text.splitlines() if row.split()[0] == name) for text in (listed, after)]
        assert rows == ["-", "connected"]
    refused = run("postil", "setup", "lazygti", cwd=repository, **home(tmp_path))
    assert "lazygit" in refused.stderr
    refused = run("postil", "init", "--client", "foo", cwd=repository, **home(tmp_path))
    assert "Postil knows claude, " in refused.stderr
