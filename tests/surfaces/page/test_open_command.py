"""`postil open`: one server a workspace, found again, ended."""

from __future__ import annotations

import os
import re
import subprocess
import urllib.request
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.surfaces.programs import BIN, run
from tests.workspace.repositories import git, new_repository


@pytest.fixture
def folder(tmp_path: Path) -> Generator[Path]:
    """A repository whose server ends with the test."""
    repo = new_repository(tmp_path / "repo", a__txt="x\n")
    yield repo
    run("postil", "open", "--stop", cwd=repo, **environment(repo))


def environment(repo: Path) -> dict[str, str]:
    return {"XDG_STATE_HOME": str(repo.parent / "state"), "SSH_CONNECTION": "a b", "BROWSER": "/nowhere"}


def open_page(repo: Path, *words: str, below: str = "") -> str:
    done = run("postil", "open", *words, cwd=repo / below, **environment(repo))
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_second_open_finds_the_server_of_the_first_and_stop_ends_it(folder: Path) -> None:
    first, second = open_page(folder), open_page(folder, "--no-browser")
    (folder / "below").mkdir()
    third = open_page(folder, "--no-browser", below="below")
    bases = {address.partition("/open?token=")[0] for address in (first, second, third)}
    assert len(bases) == 1
    assert len({first, second, third}) == 3
    with urllib.request.urlopen(second, timeout=60) as answer:
        assert "Go on to Postil" in answer.read().decode()
    notes = [*(folder.parent / "state" / "postil" / "pages").glob("*.json")]
    assert [oct(note.stat().st_mode & 0o777) for note in notes] == ["0o600"]
    assert open_page(folder, "--stop") == "Stopped"
    assert open_page(folder, "--stop") == "No server was running"
    assert [*(folder.parent / "state" / "postil" / "pages").glob("*.json")] == []


def test_two_that_open_at_once_start_one_server(folder: Path) -> None:
    words = [BIN / "postil", "open", "--no-browser"]
    started = [
        subprocess.Popen(
            words, cwd=folder, env={**os.environ, **environment(folder)}, stdout=subprocess.PIPE, text=True
        )
        for _ in range(3)
    ]
    said = [process.communicate(timeout=100)[0] for process in started]
    assert len({re.sub(r"/open.*", "", text.strip()) for text in said}) == 1


def test_a_note_of_a_server_that_is_gone_starts_another(folder: Path) -> None:
    address = open_page(folder)
    note = next((folder.parent / "state" / "postil" / "pages").glob("*.json"))
    number = re.search(r'"process":(\d+)', note.read_text())
    assert number is not None
    os.kill(int(number[1]), 9)
    again = open_page(folder)
    assert again
    assert again != address


def test_another_repository_has_another_server(folder: Path) -> None:
    other = folder.parent / "other"
    git(folder.parent, "clone", "-q", str(folder), str(other))
    try:
        assert open_page(folder).partition("/open")[0] != open_page(other).partition("/open")[0]
    finally:
        open_page(other, "--stop")


def test_the_server_of_a_terminal_is_found_too(folder: Path) -> None:
    words = [BIN / "postil", "serve", "--http", "127.0.0.1:0"]
    with subprocess.Popen(
        words, cwd=folder, env={**os.environ, **environment(folder)}, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        base = ""
        for line in process.stderr:
            base = base or (found[1] if (found := re.search(r"serving (\S+)/mcp", line)) else "")
            if "page http" in line:
                break
        try:
            assert open_page(folder).startswith(base)
        finally:
            process.terminate()
            process.wait(30)


def test_a_server_ends_when_nobody_asks_for_anything(folder: Path) -> None:
    words = [BIN / "postil", "serve", "--http", "127.0.0.1:0", "--idle-shutdown", "0.5"]
    done = subprocess.run(
        words,
        cwd=folder,
        env={**os.environ, **environment(folder)},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0
    assert "serving" in done.stderr
