"""The installed programs, as users and clients start them."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from postil import __version__
from tests.surfaces.programs import BIN, hello, run, talk


def test_the_version_is_answered_by_every_program(tmp_path: Path) -> None:
    for program in ("postil", "lazygit-mcp-bridge", "git-mile", "paired-comments-mcp-server"):
        assert run(program, "--version", cwd=tmp_path).stdout == f"{program} {__version__}\n"


def test_a_command_prints_data_on_stdout_and_nothing_else(repository: Path) -> None:
    done = run("postil", "workspace", "info", "--json", cwd=repository)
    answer = json.loads(done.stdout)
    assert (answer["root"], answer["branch"]) == (str(repository.resolve()), "main")
    assert done.stderr == ""


def test_outside_a_repository_status_still_works(tmp_path: Path) -> None:
    done = run("postil", "status", cwd=tmp_path)
    assert done.returncode == 0
    assert "not inside a git repository" in done.stdout


def test_minus_c_works_in_another_folder(repository: Path, tmp_path: Path) -> None:
    done = run("postil", "-C", str(repository), "workspace", "info", "--json", cwd=tmp_path)
    assert json.loads(done.stdout)["branch"] == "main"


def test_conflict_markers_left_in_a_file_are_found(repository: Path) -> None:
    (repository / "a.py").write_text("x = 1\n<<<<<<< ours\nx = 2\n=======\nx = 3\n>>>>>>> theirs\n")
    done = run("postil", "workspace", "check", "--json", cwd=repository)
    assert done.returncode == 1
    assert json.loads(done.stdout) == {"files": 1, "faults": [{"path": "a.py", "kind": "conflict-markers", "line": 2}]}


def test_a_word_that_is_not_utf8_is_refused(repository: Path) -> None:
    done = run("postil", "workspace", "check", b"caf\xe9", cwd=repository)
    assert done.returncode == 2
    assert "not valid UTF-8" in done.stderr


def test_a_reader_that_closes_the_pipe_is_no_crash(repository: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [BIN / "postil", "tools"], cwd=repository, stdout=writing, stderr=subprocess.PIPE, timeout=60, check=False
    )
    os.close(writing)
    assert done.returncode == 141
    assert done.stderr == b""


def test_output_is_utf8_whatever_the_locale_says(repository: Path) -> None:
    environ = {**os.environ, "LC_ALL": "en_US.ISO-8859-1", "PYTHONIOENCODING": "latin-1"}
    done = subprocess.run(
        [BIN / "postil", "schöne✅"], cwd=repository, env=environ, capture_output=True, timeout=60, check=False
    )
    assert "schöne✅".encode() in done.stderr


def test_a_warning_about_the_repositorys_file_cannot_steer_the_terminal(repository: Path) -> None:
    (repository / "postil.toml").write_text('"evil\\u001b]0;owned\\u0007" = 1\n')
    done = run("postil", "status", cwd=repository)
    assert done.returncode == 0
    assert "unknown key `evil\\x1b]0;owned\\x07`" in done.stderr


def test_colour_is_forced_and_refused_by_the_environment(repository: Path) -> None:
    assert "\x1b[31m" in run("postil", "nope", cwd=repository, FORCE_COLOR="1").stderr
    assert "\x1b" not in run("postil", "nope", cwd=repository, NO_COLOR="1").stderr


def test_the_united_server_introduces_itself(repository: Path) -> None:
    answers = talk("postil", "serve", frames=[hello(), {"id": 2, "method": "tools/list"}], cwd=repository)
    result = answers[0]["result"]
    assert result["serverInfo"] == {"name": "postil", "version": __version__}
    assert result["capabilities"]["resources"] == {"subscribe": True, "listChanged": True}
    assert result["capabilities"]["prompts"] == {"listChanged": False}
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
    _, progress, answer = talk("postil", "serve", frames=frames, cwd=repository)
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


PLAIN = [
    ["workspace", "info"],
    ["workspace", "check"],
    ["tools"],
    ["inbox", "send", "--file", "a.py", "--line", "1", "--comment", "why?"],
    ["inbox", "list"],
]


@pytest.mark.parametrize("words", PLAIN, ids=lambda words: " ".join(words[:2]))
def test_a_plain_command_imports_nothing_of_the_server_and_no_other_part(repository: Path, words: list[str]) -> None:
    modules = imported_by(repository, words)
    assert modules & HEAVY == set()
    modules -= {"postil.gitlab", "postil.gitlab.toolsets"}  # a table of names: what is hidden without a token
    packages = {module.split(".")[1] for module in modules if module.startswith("postil.")}
    assert packages & {"wire", "flows", "inbox", "comments", "tracker", "gitlab"} <= {words[0]}


def test_the_version_imports_nothing_at_all(repository: Path) -> None:
    assert imported_by(repository, ["--version"]) & (HEAVY | {"msgspec", "argparse", "typing", "re"}) == set()


def test_the_server_imports_no_http_and_no_part(repository: Path) -> None:
    heavy = HEAVY - {"asyncio", "ssl", "socket", "inspect"}
    parts = {"postil.inbox.part", "postil.comments.operations.contract", "postil.tracker.part", "postil.gitlab.part"}
    assert imported_by(repository, ["serve"]) & (heavy | parts | {"argparse"}) == set()


def imported_by(folder: Path, words: list[str]) -> set[str]:
    """Every module that was imported by the time the command had ended."""
    code = (
        "import sys; before = set(sys.modules); from postil.surfaces.shell.main import main; status = main();"
        "sys.stderr.write(chr(10).join(set(sys.modules) - before)); sys.exit(status)"
    )
    done = subprocess.run(
        [BIN / "python", "-c", code, *words],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return set(done.stderr.split())
