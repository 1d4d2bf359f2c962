"""FIFOs and devices where files are expected, as an unpacked archive may hold them: no command waits for them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.workspace.repositories import git, new_repository

BIN = Path(sys.executable).parent
NAMES = (
    ".mcp.json", ".vscode/mcp.json", ".cursor/mcp.json", ".cursor/hooks.json", ".gemini/settings.json", "opencode.json",
    ".junie/mcp/mcp.json", ".qwen/settings.json", ".claude/settings.local.json", ".github/hooks/postil.json",
    "postil.toml", "postil.yaml", ".gitattributes", ".lazygit.yml", "b.txt.comments", "b.txt",
    ".git/lazygit.yml", ".git/info/exclude", ".git/info/attributes", ".git/postil/replica",
)  # fmt: skip
COMMANDS = (
    "status", "doctor", "setup", "init --yes", "setup lazygit", "setup gemini-hooks --write", "setup claude --write",
    "setup git", "comments text b.txt.comments", "comments list", "comments check", "inbox list", "issue list",
    "workspace check",
)  # fmt: skip


def run(root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    home = root.parent / "home"
    home.mkdir(exist_ok=True)
    environ = {**os.environ, "HOME": str(home), "PYTHONPATH": ""}
    environ |= {f"XDG_{name}_HOME": str(home / name.lower()) for name in ("STATE", "CACHE", "CONFIG")}
    return subprocess.run(
        [BIN / "postil", *words],
        cwd=root,
        env=environ,
        capture_output=True,
        text=True,
        timeout=100,
        stdin=subprocess.DEVNULL,
    )


@pytest.mark.parametrize("kind", ["fifo", "zero"])
def test_no_command_waits_for_what_is_not_a_file(tmp_path: Path, kind: str) -> None:
    root = new_repository(tmp_path / "work", a__txt="one\n")
    git(root, "config", "user.name", "A")
    git(root, "config", "user.email", "a@example.org")
    run(root, "comments", "add", "a.txt", "1", "why?")
    run(root, "issue", "create", "a title")
    made = [path for path in (root / ".git/postil").rglob("*") if path.is_file()] + [root / "a.txt.comments"]
    assert len(made) > 2
    for path in [*(root / name for name in NAMES), *made]:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        if kind == "fifo":
            os.mkfifo(path)
        else:
            path.symlink_to("/dev/zero")
    for command in COMMANDS if kind == "fifo" else COMMANDS[1::4]:
        done = run(root, *command.split())  # a command that hangs runs into the timeout
        assert "unexpected" not in done.stderr, (command, done.stderr)
        assert "Traceback" not in done.stderr, (command, done.stderr)


SUFFIXES = ("", "-journal", "-wal", "-shm")
WRITING = (
    "comments add a.txt 1 more", "comments list", "issue create another", "issue list", "status", "issue verify --fix",
    "doctor --fix", "workspace clean", "inbox send -f a.txt -l 1 -c hi",
)  # fmt: skip


@pytest.mark.parametrize("kind", ["a copy", "nothing"])
def test_no_command_writes_where_a_link_among_our_own_files_leads(tmp_path: Path, kind: str) -> None:
    """SQLite opens, makes and changes the file that a link names."""
    root, outside = new_repository(tmp_path / "work", a__txt="one\n"), tmp_path / "outside"
    for command in WRITING:
        run(root, *command.split())
    outside.mkdir()
    for path in [path for path in (root / ".git/postil").rglob("*") if path.is_file()]:
        for suffix in SUFFIXES if path.suffix == ".db" else SUFFIXES[:1]:
            link = path.with_name(path.name + suffix)
            if kind == "a copy":
                (outside / link.name).write_bytes(link.read_bytes() if link.exists() else b"of the person\n")
            link.unlink(missing_ok=True)
            link.symlink_to(outside / link.name)
    before = {path.name: path.read_bytes() for path in outside.iterdir()}
    for command in WRITING:
        done = run(root, *command.split())
        assert "Traceback" not in done.stderr, (command, done.stderr)
    assert {path.name: path.read_bytes() for path in outside.iterdir()} == before


def test_a_fifo_among_the_refs_is_named(tmp_path: Path) -> None:
    root = new_repository(tmp_path / "work", a__txt="one\n")
    os.mkfifo(root / ".git/refs/heads/zz")
    done = run(root, "issue", "create", "a title")
    assert done.returncode != 0
    assert "zz is not a regular file" in done.stderr
