"""Whether lazygit starts with its configuration: the one proof that a file suits the installed version.

lazygit rewrites the files it migrates, so it is given copies, in a repository of their own and a terminal that nobody
sees. It has started when it draws its first screen.
"""

from __future__ import annotations

import os
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence

from postil.core import limits
from postil.workspace.disk import read_whole

PATIENCE = 15.0
_DRAWN = re.compile(rb"\x1b\[\?1049h[\s\S]*\x1b\[[0-9;]*H")
_QUIET = "disableStartupPopups: true\ngit: {autoFetch: false}\nupdate: {method: never}\n"
_ESCAPE = re.compile(rb"\x1b\[[0-9;?]*[A-Za-z]|\x1b[()][A-Z0-9]|\x1b[=>78]")
_IN_TERMINAL = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
program, *pairs = sys.argv[1:]
os.environ.update(pair.split("=", 1) for pair in pairs)
os.execvp(program, [program])
"""
"""Makes the terminal the program's own: lazygit draws to it, wherever its output goes."""


def find_fault(program: str, configs: Sequence[str]) -> str:
    """Returns why lazygit does not start with these files, in its own words; empty when it starts."""
    folder = tempfile.mkdtemp(prefix="postil-lazygit-")
    try:
        copies = [os.path.join(folder, "quiet.yml")]
        with open(copies[0], "w", encoding="utf-8") as file:
            file.write(_QUIET)
        for number, path in enumerate(configs):
            copies.append(os.path.join(folder, f"{number}.yml"))
            with open(copies[-1], "wb") as copy:
                copy.write(read_whole(path, limits.SMALL_FILE))
        root = os.path.join(folder, "repository")
        _make_repository(root)
        pairs = [f"{name}={folder}" for name in ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME")]
        pairs += ["TERM=xterm-256color", f"LG_CONFIG_FILE={','.join(copies)}"]
        drawn, said, status = _watch([sys.executable, "-c", _IN_TERMINAL, program, *pairs], root)
        return "" if drawn else _describe(said, status, dict(zip(copies[1:], configs, strict=True)))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _make_repository(root: str) -> None:
    """Make an empty repository: git itself would read templates and settings of the person."""
    for folder in ("objects", "refs/heads"):
        os.makedirs(os.path.join(root, ".git", folder))
    for name, text in (("HEAD", "ref: refs/heads/main\n"), ("config", "[core]\n\trepositoryformatversion = 0\n")):
        with open(os.path.join(root, ".git", name), "w", encoding="utf-8") as file:
            file.write(text)


def _describe(said: bytes, status: int, names: dict[str, str]) -> str:
    text = _ESCAPE.sub(b"", said).decode("utf-8", "replace")
    for copy, path in names.items():
        text = text.replace(copy, path)
    lines = [line.strip() for line in text.splitlines() if line.strip() and "successfully" not in line]
    return " ".join(lines[-4:])[:600] or f"it ended with status {status}"


def _watch(command: list[str], root: str) -> tuple[bool, bytes, int]:
    """Run it in a terminal of its own until it draws or ends. Returns whether it drew, what it said, its status."""
    ours, theirs = os.openpty()
    process = subprocess.Popen(command, cwd=root, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True)
    os.close(theirs)
    said, deadline = b"", time.monotonic() + PATIENCE
    drawn = False
    try:
        while not drawn and time.monotonic() < deadline:
            ready, _, _ = select.select([ours], [], [], 0.5)
            chunk = _read(ours) if ready else b""
            if ready and not chunk:
                break
            said += chunk
            drawn = _DRAWN.search(said) is not None
    finally:
        if process.poll() is None and (drawn or time.monotonic() >= deadline):
            os.killpg(process.pid, signal.SIGKILL)
        status = process.wait()
        os.close(ours)
    return drawn, said, status


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # the other end is closed
        return b""
