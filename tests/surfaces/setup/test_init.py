"""`postil init`: sets a repository up, and asks before it writes."""

import fcntl
import json
import os
import pty
import struct
import subprocess
import termios
from pathlib import Path

import pytest

from tests.surfaces.programs import BIN, run
from tests.surfaces.setup.homes import home

POSTIL = str(BIN / "postil")


def test_init_writes_checks_and_says_how_to_undo_in_a_few_lines(repository: Path, tmp_path: Path) -> None:
    done = run("postil", "init", "--with", "cursor", cwd=repository, **home(tmp_path))
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) <= 12
    assert "postil setup claude --remove" in lines[0]
    assert json.loads((repository / ".mcp.json").read_text())["mcpServers"]["postil"]["command"] == POSTIL
    assert (repository / ".cursor" / "mcp.json").exists()
    assert "+++ .mcp.json" in done.stderr


def test_init_with_dry_run_writes_nothing(repository: Path, tmp_path: Path) -> None:
    done = run("postil", "init", "--dry-run", cwd=repository, **home(tmp_path))
    assert done.returncode == 0
    assert '+  "mcpServers"' in done.stderr
    assert not (repository / ".mcp.json").exists()


class Terminal:
    """A pseudo-terminal of a few rows, and what was shown on it."""

    def __init__(self, rows: int = 24) -> None:
        self.master, self.slave = pty.openpty()
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, 80, 0, 0))

    def shown(self) -> str:
        """Everything written so far; call it when the program has ended."""
        os.close(self.slave)
        parts: list[bytes] = []
        while True:
            try:
                part = os.read(self.master, 65536)
            except OSError:  # how Linux says that the other side is closed
                part = b""
            if not part:
                os.close(self.master)
                return b"".join(parts).decode()
            parts.append(part)


def postil(*words: str, cwd: Path, **streams: int) -> subprocess.CompletedProcess[bytes]:
    environ = {**os.environ, "TERM": "xterm", "PAGER": "sed s/^/PAGED:/"}
    return subprocess.run([BIN / "postil", *words], cwd=cwd, env=environ, timeout=60, check=False, **streams)  # type: ignore[call-overload]


@pytest.mark.parametrize(("answer", "written"), [(b"n\n", False), (b"\n", True)])
def test_init_asks_a_person_before_it_writes(repository: Path, tmp_path: Path, answer: bytes, written: bool) -> None:
    terminal = Terminal()
    os.write(terminal.master, answer)
    environ = {**os.environ, "HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "state")}
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
    environ = {**os.environ, "HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "state")}
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
