"""Trying a client's entry: our own program is run, and never another, whatever a file says."""

import json
import os
import subprocess
import tomllib
from pathlib import Path

import pytest

from postil.core.failure import Unreachable
from postil.surfaces.setup import probe
from postil.surfaces.setup.clients import CLIENTS
from postil.surfaces.setup.probe import NotOurs, try_entry
from tests.surfaces.programs import BIN, run
from tests.surfaces.setup.homes import home

POSTIL = str(BIN / "postil")


def put_evil(path: Path, marker: Path) -> None:
    """A program that shows that it was run."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\ntouch {marker}\n")
    path.chmod(0o755)


def connect(repository: Path, command: str, *args: str) -> None:
    entry = {"command": command, "args": list(args)}
    (repository / ".mcp.json").write_text(json.dumps({"mcpServers": {"postil": entry}}))


@pytest.mark.parametrize(
    "entry",
    [
        {"command": "touch", "args": ["{marker}"]},
        {"command": POSTIL, "args": ["setup", "cursor", "--write"]},
        {"command": POSTIL, "args": ["serve", "--config", "evil.toml"]},
        {"command": POSTIL, "args": ["-C", "/", "serve"]},
        {"command": POSTIL, "args": ["--config", "evil.toml", "serve"]},
        {"command": POSTIL, "args": ["serve", "--http", "0.0.0.0:1"]},
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


@pytest.mark.parametrize("args", [["serve", "--toolset", "extra"], ["serve", "--structured"], ["--read-only", "serve"]])
def test_documented_ways_to_start_us_are_ours(args: list[str], repository: Path, tmp_path: Path) -> None:
    connect(repository, "postil", *args)
    done = run("postil", "setup", "claude", "--check", cwd=repository, **home(tmp_path))
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("words", [["doctor"], ["setup", "claude", "--check"]])
def test_a_relative_command_is_not_run_from_a_subfolder(words: list[str], repository: Path, tmp_path: Path) -> None:
    """Seen from the subfolder it is ours; started at the root it would be the repository's own."""
    marker = tmp_path / "marker"
    put_evil(repository / "bin" / "postil", marker)
    (repository / "sub" / "bin").mkdir(parents=True)
    (repository / "sub" / "bin" / "postil").symlink_to(POSTIL)
    connect(repository, "bin/postil", "serve")
    done = run("postil", *words, cwd=repository / "sub", **home(tmp_path))
    assert done.returncode != 0
    assert not marker.exists()


def test_a_program_of_the_repository_is_not_run_although_path_finds_it(repository: Path, tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    put_evil(repository / "bin" / "postil", marker)
    connect(repository, str(repository / "bin" / "postil"), "serve")
    path = f"{repository / 'bin'}:{os.environ['PATH']}"
    done = run("postil", "setup", "claude", "--check", cwd=repository, **{**home(tmp_path), "PATH": path})
    assert done.returncode == 6, done.stderr
    assert not marker.exists()


def test_an_entry_at_home_starts_no_other_program_either(repository: Path, tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    put_evil(tmp_path / "other" / "postil", marker)
    file = tmp_path / "home" / ".codex" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text(f'[mcp_servers.postil]\ncommand = "{tmp_path}/other/postil"\nargs = ["serve"]\n')
    done = run("postil", "setup", "codex", "--check", cwd=repository, **home(tmp_path))
    assert done.returncode == 6, done.stderr
    assert not marker.exists()


def test_the_postil_that_path_finds_outside_of_the_repository_is_ours(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = tmp_path / "installed" / "postil"
    installed.parent.mkdir()
    installed.write_text(f'#!/bin/sh\nexec {POSTIL} "$@"\n')  # another file than the one of this interpreter
    installed.chmod(0o755)
    entry = {"command": str(installed), "args": ["serve"]}
    monkeypatch.setenv("PATH", f"/usr/bin:/bin:{installed.parent}")
    assert try_entry(CLIENTS["claude"], entry, str(repository)).name == "postil"
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    with pytest.raises(NotOurs):
        try_entry(CLIENTS["claude"], entry, str(repository))


def test_a_relative_folder_of_path_makes_nothing_ours(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_evil(tmp_path / "here" / "postil", tmp_path / "marker")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", "here:/usr/bin:/bin")
    with pytest.raises(NotOurs):
        try_entry(CLIENTS["claude"], {"command": str(tmp_path / "here/postil"), "args": ["serve"]}, str(repository))
    assert not (tmp_path / "marker").exists()


def test_our_own_name_counts_from_where_we_were_started(repository: Path, tmp_path: Path) -> None:
    """`-C` changes the folder, and must not make another program ours that has the same name there."""
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "postil").symlink_to(POSTIL)
    put_evil(repository / "tools" / "postil", tmp_path / "marker")
    connect(repository, str(repository / "tools" / "postil"), "serve")
    environ = {**os.environ, **home(tmp_path)}
    for words in (["setup", "claude", "--check"], ["doctor"]):
        command = ["tools/postil", "-C", str(repository), *words]
        subprocess.run(command, cwd=tmp_path, env=environ, check=False, capture_output=True, timeout=60)
    assert not (tmp_path / "marker").exists()
    shown = subprocess.run(
        ["tools/postil", "-C", str(repository), "setup", "codex", "--print"],
        cwd=tmp_path,
        env=environ,
        check=True,
        capture_output=True,
        timeout=60,
    )
    assert tomllib.loads(shown.stdout.decode())["mcp_servers"]["postil"]["command"] == str(
        tmp_path / "tools" / "postil"
    )


def test_the_plain_name_is_the_postil_of_path_and_never_the_repositorys(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = {"command": "postil", "args": ["serve"]}
    monkeypatch.setenv("PATH", f"{Path(POSTIL).parent}:/usr/bin:/bin")
    assert try_entry(CLIENTS["claude"], entry, str(repository)).name == "postil"
    put_evil(repository / "bin" / "postil", tmp_path / "marker")
    monkeypatch.setenv("PATH", f"{repository / 'bin'}:/usr/bin:/bin")
    with pytest.raises(Unreachable):
        try_entry(CLIENTS["claude"], entry, str(repository))
    monkeypatch.setenv("PATH", f"bin:{Path(POSTIL).parent}:/usr/bin:/bin")  # another file in every folder
    with pytest.raises(NotOurs):
        try_entry(CLIENTS["claude"], entry, str(repository))
    assert not (tmp_path / "marker").exists()


@pytest.mark.parametrize("said", [r'{"result":{"serverInfo":{"name":"\377"}}}', "[" * 9_999])
def test_a_server_whose_answer_cannot_be_read_did_not_answer(
    said: str, repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = tmp_path / "installed" / "postil"
    installed.parent.mkdir()
    installed.write_text(f"#!/bin/sh\nprintf '{said}\\n'\n")
    installed.chmod(0o755)
    monkeypatch.setenv("PATH", f"/usr/bin:/bin:{installed.parent}")
    with pytest.raises(Unreachable, match="did not answer the handshake"):
        try_entry(CLIENTS["claude"], {"command": str(installed), "args": ["serve"]}, str(repository))


def test_a_command_line_of_thousands_of_words_is_not_run(repository: Path, tmp_path: Path) -> None:
    """Ten files with five thousand flags each kept the doctor busy for seconds, and one refusal was 40 kB."""
    for words in (["--read-only"] * 500, ["--parts", ",".join(["x"] * 3000)], ["--parts", ",".join(["x"] * 1500)]):
        connect(repository, "postil", "serve", *words)
        rows = json.loads(run("postil", "doctor", "--json", cwd=repository, **home(tmp_path)).stdout)
        (row,) = [row for row in rows if row["name"] == "claude"]
        assert row["status"] == "error"
        assert len(row["seen"]) < 1000, row


def test_who_tries_many_entries_waits_for_none_as_long_as_for_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = tmp_path / "postil"
    slow.write_text("#!/bin/sh\nsleep 60\n")
    slow.chmod(0o755)

    def find_slow(named: str, root: str) -> str:
        return str(slow)

    monkeypatch.setattr(probe, "find_own", find_slow)
    with pytest.raises(Unreachable, match="within 1 s"):
        try_entry(CLIENTS["codex"], {"command": str(slow), "args": ["serve"]}, str(tmp_path), 1.0)
