"""The executables, run as users run them."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from postil import __version__
from postil.app import PARTS
from postil.contracts import CONTRACTS
from tests.surfaces.programs import BIN, hello, imported_by, run, talk


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
    packages = {module.split(".")[1] for module in modules if module.startswith("postil.")}
    assert packages & {"wire", "flows", "inbox", "comments", "tracker", "gitlab"} <= {words[0]}


@pytest.mark.parametrize("words", [["comments", "list"], ["comments", "search", "why"], ["status"]], ids=" ".join)
def test_comments_of_files_that_did_not_change_are_read_without_what_anchors_them(
    repository: Path, words: list[str]
) -> None:
    assert run("postil", "comments", "add", "a.py", "1", "why?", cwd=repository).returncode == 0
    imported_by(repository, ["comments", "list"])  # reads what changed
    anchoring = {"rapidfuzz", "tree_sitter", "postil.comments.anchoring.locate", "postil.anchor.syntax.symbols"}
    assert imported_by(repository, words) & (anchoring | {"pathlib", "subprocess"}) == set()


def test_the_version_imports_nothing_at_all(repository: Path) -> None:
    assert imported_by(repository, ["--version"]) & (HEAVY | {"msgspec", "argparse", "typing", "re"}) == set()


def test_a_second_remark_does_not_load_what_notes_where_the_repository_is(repository: Path) -> None:
    words = ["inbox", "send", "--file", "a.py", "--line", "1", "--comment"]
    assert "postil.inbox.homes" in imported_by(repository, [*words, "first"])
    assert "postil.inbox.homes" not in imported_by(repository, [*words, "second"])


def test_a_command_that_ended_leaves_nothing_for_the_collector_to_look_at(repository: Path) -> None:
    code = (
        "import gc, sys; from postil.surfaces.shell.main import main; main();"
        "sys.stderr.write(f'{len(gc.get_objects())} {gc.get_freeze_count()}')"
    )
    done = subprocess.run(
        [BIN / "python", "-c", code, "inbox", "list"], cwd=repository, capture_output=True, timeout=60
    )
    looked_at, frozen = map(int, done.stderr.split())
    assert looked_at < frozen / 100


SERVERS = {
    "inbox": ("lazygit-mcp-bridge", "server"),
    "comments": ("paired-comments-mcp-server",),
    "tracker": ("git-mile", "mcp-server"),
}


@pytest.mark.parametrize("part", [part for part in SERVERS if part in PARTS])
@pytest.mark.parametrize("asked", ["2024-11-05", "2025-11-25"])
def test_an_old_server_is_exactly_its_contract(part: str, asked: str, repository: Path) -> None:
    contract = CONTRACTS[part]
    frames = [hello(asked), {"id": 2, "method": "tools/list"}]
    alone = [("postil", "serve", "--parts", part)] if part != "tracker" else []  # that one can write as well
    for command in (SERVERS[part], *alone):
        answers = {answer["id"]: answer for answer in talk(*command, frames=frames, cwd=repository)}
        result = answers[1]["result"]
        assert result["protocolVersion"] == "2024-11-05"
        assert result["serverInfo"] == contract.face.info()
        assert result["capabilities"] == contract.face.capabilities
        assert {tool["name"] for tool in answers[2]["result"]["tools"]} == contract.tools


def test_the_tracker_alone_can_write_and_its_contract_takes_the_published_entry(
    repository: Path, tmp_path: Path
) -> None:
    frames = [hello(), {"id": 2, "method": "tools/list"}]
    for command, where, wanted in (
        (("postil", "serve", "--parts", "tracker"), repository, True),
        (("git-mile", "mcp-server", "--repo", str(repository)), tmp_path, False),
    ):
        answers = {answer["id"]: answer for answer in talk(*command, frames=frames, cwd=where)}
        names = {tool["name"] for tool in answers[2]["result"]["tools"]}
        assert ("git_mile_create" in names) is wanted


def test_the_bridge_without_words_and_with_piped_input_is_a_server(repository: Path) -> None:
    answers = talk("lazygit-mcp-bridge", frames=[hello()], cwd=repository)
    assert answers[0]["result"]["serverInfo"]["name"] == "lazygit-mcp-bridge"


def test_the_bridge_sends_and_says_so(repository: Path) -> None:
    done = run("lazygit-mcp-bridge", "send", "-f", "a.py", "-c", "-1 is `wrong` $(here)", cwd=repository)
    assert (done.returncode, done.stdout) == (0, "Message sent successfully for a.py\n")
    listed = json.loads(run("postil", "inbox", "list", "--json", cwd=repository).stdout)
    assert [message["comment"] for message in listed["messages"]] == ["-1 is `wrong` $(here)"]


@pytest.mark.parametrize("words", [["send"], ["send", "-f", "../x", "-c", "y"], ["sned"], ["inbox", "list"]])
def test_every_failure_of_the_bridge_has_status_one(words: list[str], repository: Path) -> None:
    done = run("lazygit-mcp-bridge", *words, cwd=repository)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error: ")


def test_git_mile_knows_the_trackers_commands_alone(repository: Path) -> None:
    shown = run("git-mile", "--help", cwd=repository).stdout
    assert "ready" in shown
    assert "inbox" not in shown
    assert run("git-mile", "ready", "--json", cwd=repository).returncode == 0
    assert "identity create" in shown
    assert "create identity" not in shown  # the same in other words: understood, not listed a second time
    assert "Give a claimed issue back" in shown
    assert "issue, mile, milestone" in run("git-mile", "create", "--help", cwd=repository).stdout


def test_a_retry_with_the_same_key_sends_one_message(repository: Path) -> None:
    words = ["inbox", "send", "-f", "a.py", "-c", "once", "--idempotency-key", f"k-{repository}", "--json"]
    first, second = (run("postil", *words, cwd=repository) for _ in range(2))
    assert first.returncode == second.returncode == 0, second.stderr
    assert first.stdout == second.stdout
    listed = json.loads(run("postil", "inbox", "list", "--json", cwd=repository).stdout)
    assert [message["comment"] for message in listed["messages"]] == ["once"]
    other = run("postil", *words[:4], "-c", "other", *words[6:], cwd=repository)
    assert other.returncode == 6


def test_words_that_name_no_kind_are_looked_for_in_the_issues(repository: Path) -> None:
    for title in ("Crash on start", "Another"):
        assert run("git-mile", "create", "issue", title, cwd=repository).returncode == 0
    run("git-mile", "create", "milestone", "Crash of 1929", cwd=repository)
    for words in (["crash", "on", "start"], ["--all", "crash"], ["issue", "crash"]):
        listed = run("git-mile", "list", *words, "--format", "raw", cwd=repository)
        assert [line.split("\t")[1] for line in listed.stdout.splitlines()] == ["Crash on start"], listed.stderr
    assert "1929" in run("git-mile", "list", "milestone", "crash", cwd=repository).stdout
    unknown = run("git-mile", "list", "-n", "2", cwd=repository)
    assert (unknown.returncode, "There is no flag -n" in unknown.stderr) == (2, True)
