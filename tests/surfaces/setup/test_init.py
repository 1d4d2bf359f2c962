"""`postil init`: sets a repository up, and asks before it writes."""

import json
import os
import subprocess
from pathlib import Path
from shutil import which

import pytest

from tests.surfaces.programs import BIN, run
from tests.surfaces.setup.homes import home
from tests.surfaces.terminals import Terminal


def test_init_writes_checks_and_says_how_to_undo_in_a_few_lines(repository: Path, tmp_path: Path) -> None:
    done = run("postil", "init", "--with", "cursor", cwd=repository, **home(tmp_path))
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) <= 12
    assert "postil setup claude --remove" in lines[0]
    assert json.loads((repository / ".mcp.json").read_text())["mcpServers"]["postil"]["command"] == "postil"
    assert (repository / ".cursor" / "mcp.json").exists()
    assert "+++ .mcp.json" in done.stderr


def test_init_with_dry_run_writes_nothing(repository: Path, tmp_path: Path) -> None:
    done = run("postil", "init", "--dry-run", cwd=repository, **home(tmp_path))
    assert done.returncode == 0
    assert '+  "mcpServers"' in done.stderr
    assert not (repository / ".mcp.json").exists()


@pytest.mark.parametrize(("answer", "written"), [(b"n\n", False), (b"\n", True)])
def test_init_asks_a_person_before_it_writes(repository: Path, tmp_path: Path, answer: bytes, written: bool) -> None:
    terminal = Terminal()
    os.write(terminal.master, answer)
    environ = {**os.environ, **home(tmp_path)}
    subprocess.run(
        [BIN / "postil", "init"],
        cwd=repository,
        env=environ,
        stdin=terminal.slave,
        stderr=terminal.slave,
        stdout=subprocess.DEVNULL,
        timeout=60,
        check=True,
    )
    assert "Write this? [Y/n]" in terminal.shown()
    assert (repository / ".mcp.json").exists() is written


def test_no_input_asks_nothing(repository: Path, tmp_path: Path) -> None:
    terminal = Terminal()
    environ = {**os.environ, **home(tmp_path)}
    command = [BIN / "postil", "--no-input", "init"]
    subprocess.run(
        command,
        cwd=repository,
        env=environ,
        stdin=terminal.slave,
        stderr=terminal.slave,
        stdout=subprocess.DEVNULL,
        timeout=60,
        check=True,
    )
    assert "Write this?" not in terminal.shown()
    assert (repository / ".mcp.json").exists()


def test_yes_connects_every_assistant_that_is_found(repository: Path, tmp_path: Path) -> None:
    (repository / ".cursor").mkdir()
    (tmp_path / "home" / ".codex").mkdir(parents=True)
    (tmp_path / "home" / ".config" / "goose").mkdir(parents=True)
    done = run("postil", "init", "--yes", cwd=repository, **home(tmp_path))
    assert done.returncode == 0, done.stderr
    listed = json.loads(run("postil", "setup", "--json", cwd=repository, **home(tmp_path)).stdout)
    assert {row["client"] for row in listed if row["connected"]} == {"claude", "cursor", "codex", "goose"}


def test_client_names_the_only_ones_that_are_written(repository: Path, tmp_path: Path) -> None:
    done = run("postil", "init", "--client", "qwen,copilot", cwd=repository, **home(tmp_path))
    assert done.returncode == 0, done.stderr
    assert (repository / ".qwen" / "settings.json").exists()
    assert (tmp_path / "home" / ".copilot" / "mcp-config.json").exists()
    assert not (repository / ".mcp.json").exists()


def test_a_person_is_offered_what_is_found(repository: Path, tmp_path: Path) -> None:
    (repository / ".cursor").mkdir()
    terminal = Terminal()
    os.write(terminal.master, b"y\ny\n")
    subprocess.run(
        [BIN / "postil", "init"], cwd=repository, env={**os.environ, **home(tmp_path)}, stdin=terminal.slave,
        stderr=terminal.slave, stdout=subprocess.DEVNULL, timeout=60, check=True,
    )  # fmt: skip
    assert "Also found: Cursor. Connect them too?" in terminal.shown()
    assert (repository / ".cursor" / "mcp.json").exists()


def test_a_file_that_a_team_commits_holds_no_path_even_where_path_does_not_find_us(
    repository: Path, tmp_path: Path
) -> None:
    alone = {**home(tmp_path), "PATH": "/usr/bin:/bin"}
    done = run("postil", "init", cwd=repository, **alone)
    assert done.returncode == 0, done.stderr
    assert "not reached" in done.stdout
    assert "`pipx install .` in a checkout of Postil" in done.stdout
    assert str(BIN) not in (repository / ".mcp.json").read_text()


def test_only_programs_that_are_there_are_suggested(repository: Path, tmp_path: Path) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    git = which("git")
    assert git is not None
    for name, target in (("git", git), ("postil", str(BIN / "postil"))):
        (folder / name).symlink_to(target)
    given = {**home(tmp_path), "PATH": str(folder)}
    said = run("postil", "init", "--client", "claude", cwd=repository, **given).stdout
    assert "lazygit" not in said
    (folder / "lazygit").write_text("#!/bin/sh\n")
    (folder / "lazygit").chmod(0o755)
    said = run("postil", "init", "--client", "claude", cwd=repository, **given).stdout
    assert "lazygit" in said


def test_clients_are_named_one_by_one_too_and_none_is_dropped(repository: Path, tmp_path: Path) -> None:
    done = run("postil", "init", "--client", "codex", "--client", "vscode,cursor", cwd=repository, **home(tmp_path))
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "home" / ".codex" / "config.toml").exists()
    assert (repository / ".vscode" / "mcp.json").exists()
    assert (repository / ".cursor" / "mcp.json").exists()
    assert "Codex: ~/.codex/config.toml, " in done.stdout
    assert "+++ ~/.codex/config.toml" in done.stderr


def test_what_is_connected_is_neither_offered_nor_shown_as_a_change(repository: Path, tmp_path: Path) -> None:
    run("postil", "init", "--client", "codex", "--client", "cursor", cwd=repository, **home(tmp_path))
    again = run("postil", "init", "--client", "cursor", cwd=repository, **home(tmp_path))
    assert again.stderr == ""
    offered = next((line for line in again.stdout.splitlines() if line.startswith("Also here: ")), "")
    assert "codex," not in offered
    assert "codex-hooks" in offered


def test_a_person_is_asked_nothing_about_what_stands_there_already(repository: Path, tmp_path: Path) -> None:
    run("postil", "init", "--with", "cursor", cwd=repository, **home(tmp_path))
    terminal = Terminal()
    subprocess.run(
        [BIN / "postil", "init"], cwd=repository, env={**os.environ, **home(tmp_path)}, stdin=terminal.slave,
        stderr=terminal.slave, stdout=subprocess.DEVNULL, timeout=60, check=True,
    )  # fmt: skip
    assert terminal.shown() == ""


def test_servers_of_others_that_stand_in_the_file_are_named(repository: Path, tmp_path: Path) -> None:
    servers = {f"evil\n{number}\x1b": {"command": "x"} for number in range(10)}
    (repository / ".mcp.json").write_text(json.dumps({"mcpServers": servers}))
    said = run("postil", "init", cwd=repository, **home(tmp_path)).stdout
    [row] = [line for line in said.splitlines() if "also in it" in line]
    assert row.startswith("  also in it, and started by Claude Code too: evil 0\\x1b, evil 1")
    assert row.endswith("2 more")
    (repository / ".mcp.json").unlink()
    assert "also in it" not in run("postil", "init", cwd=repository, **home(tmp_path)).stdout
